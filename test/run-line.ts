import { createContext } from '../src/cli/context.ts';
import { readGlobalOptions } from '../src/cli/global-options.ts';
import { printable } from '../src/cli/printable.ts';
import { runCommandLine } from '../src/cli/program.ts';
import { errorDocument, errorText, errorTexts } from '../src/cli/render.ts';
import { createTalk } from '../src/cli/talk.ts';
import type { Answer } from '../src/cli/verbs.ts';
import { EpisodeError } from '../src/errors.ts';
import { type Ran, type RunOptions, withJson } from './rig.ts';

export type LineOptions = Pick<RunOptions, 'env' | 'now' | 'cwd'>;

/**
 * A command line answered in this process, with what the program would print and exit with: for the many tests that ask
 * what a verb says, where 0.15 s of processor a start is too much. What depends on a process (kills, locks between
 * processes, signals, streams, the environment at large) is shown with `episode` of `rig.ts`, which starts the program.
 */
export async function runLine(
  root: string,
  args: readonly string[],
  { env = {}, now, cwd = root }: LineOptions = {},
): Promise<Ran> {
  if (env.EPISODE_FAULT !== undefined) throw new Error('a fault strikes a process: start one');
  // As it reaches a process: half a character is none.
  const argv = [...args, ...(now === undefined ? [] : ['--now', now])].map((word) => Buffer.from(word).toString());
  const clean = { PATH: process.env.PATH, HOME: '/nonexistent', EPISODE_TEST: '1', ...env };
  const signals = { interrupted: new AbortController().signal };
  const printed = { stdout: '', stderr: '' };
  const say = (text: string): void => {
    printed.stderr += text;
  };
  let json = argv.includes('--json');
  let talk = createTalk({ write: say }, false, () => performance.now());

  const conclude = (answer: Answer): number => {
    const { error = null, notes = [], document, text } = answer;
    for (const line of notes) talk.note(line);
    for (const failure of errorTexts(answer)) say(`${failure}\n`);
    const whole = error ? { ...document, error: errorDocument(error) } : document;
    printed.stdout = printable(json ? `${JSON.stringify(whole, null, 2)}\n` : text);
    return error ? error.exit : 0;
  };

  let code = 0;
  try {
    const informed = await runCommandLine(argv, async (verb, { run }, parameters) => {
      const options = readGlobalOptions(parameters.options, clean);
      json = options.json;
      talk = createTalk({ write: say }, options.quiet, () => performance.now());
      const commandLine = `episode ${args.join(' ')}`;
      code = conclude(
        await run(createContext({ options, env: clean, cwd, verb, commandLine, talk, signals }), parameters),
      );
    });
    if (informed) code = conclude(informed);
  } catch (error) {
    // What is no error of ours would be a bug, which no test of an answer expects.
    if (!(error instanceof EpisodeError)) throw error;
    code = error.exit;
    say(`${errorText(error)}\n`);
    if (json) printed.stdout = printable(`${JSON.stringify({ error: errorDocument(error) }, null, 2)}\n`);
  }
  return withJson({ code, signal: null, ...printed }, () => JSON.parse(printed.stdout));
}
