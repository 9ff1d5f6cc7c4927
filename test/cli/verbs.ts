import { Command } from 'commander';
import { VERBS, type Verb } from '../../src/cli/verbs.ts';

/** Every verb with its options and arguments, asked of the verbs themselves: a new one is tested without being listed here. */
export interface KnownVerb {
  name: string;
  verb: Verb;
  /** Long flags of the options that take a value. */
  valued: string[];
  arguments: { name: string; required: boolean }[];
}

export const allVerbs = (): Promise<KnownVerb[]> =>
  Promise.all(
    Object.entries(VERBS).map(async ([name, { load }]) => {
      const { verb } = await load();
      const command = new Command(name);
      verb.define(command);
      return {
        name,
        verb,
        valued: command.options.filter(({ required }) => required).map(({ long }) => long!),
        arguments: command.registeredArguments.map((argument) => ({
          name: argument.name(),
          required: argument.required,
        })),
      };
    }),
  );

/** Runs `work` for each, a few at a time: processes in parallel, but not a hundred on two cores. */
export async function inTurns<T, R>(all: readonly T[], work: (one: T) => Promise<R>, atOnce = 4): Promise<R[]> {
  const results: R[] = [];
  const next = all.entries();
  const turn = async (): Promise<void> => {
    for (const [index, one] of next) results[index] = await work(one);
  };
  await Promise.all(Array.from({ length: atOnce }, turn));
  return results;
}
