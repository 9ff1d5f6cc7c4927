import type { Allocation } from '../../src/allocate.ts';
import { verb } from '../../src/cli/commands/allocate.ts';
import { createContext } from '../../src/cli/context.ts';
import type { EpisodeError } from '../../src/errors.ts';

/** `allocate` as the command line does it, in this process: its options, its clock, its environment; the records are real. */
export interface Asked {
  now: string;
  key?: string;
  schedule?: string;
  week?: string;
  slot?: string;
  plan?: string;
  issuedAt?: string;
  keyIsStable?: string;
  env?: NodeJS.ProcessEnv;
}

const silent = { note() {}, progress() {}, clear() {} };

/** The answer, and what is said on stderr beside it. */
export async function allocate(root: string, asked: Asked): Promise<Allocation & { notes: readonly string[] }> {
  const { now, env = {}, ...options } = asked;
  const context = createContext({
    options: { root, json: true, quiet: false, now: Date.parse(now) },
    env,
    cwd: root,
    verb: 'allocate',
    commandLine: 'episode allocate',
    talk: silent,
    signals: { interrupted: new AbortController().signal },
  });
  const answer = await verb.run(context, { args: [], options });
  return { ...(answer.document as Allocation), notes: answer.notes ?? [] };
}

/** The refusal as scripts and people see it. Fails when there is none. */
export async function refusal(
  root: string,
  asked: Asked,
): Promise<Pick<EpisodeError, 'code' | 'exit' | 'message' | 'hints'>> {
  try {
    const made = await allocate(root, asked);
    throw new Error(`expected a refusal, got ${made.verdict} ${made.episode_id}`);
  } catch (error) {
    const { code, exit, message, hints } = error as EpisodeError;
    if (code === undefined) throw error;
    return { code, exit, message, hints };
  }
}
