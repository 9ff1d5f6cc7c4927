import { EpisodeError } from '../errors.ts';
import { createContext, type GlobalOptions } from './context.ts';
import { print } from './print.ts';
import { printable } from './printable.ts';
import { readGlobalOptions, runCommandLine } from './program.ts';
import { errorDocument, errorText } from './render.ts';
import { listenToSignals } from './signals.ts';
import { createTalk, type Talk } from './talk.ts';
import type { Answer } from './verbs.ts';

// Node would end a program that never settles with 0, and a scheduler would take that for success.
process.exitCode = 70;
// Whoever listens to the talk may leave; that must not end a command in the middle of its work.
process.stderr.on('error', () => {});
// Node would say 1, which is in no table.
process.on('uncaughtException', (error) => {
  process.stderr.write(bugText(error));
  process.exit(70);
});

/** The whole program: the only place that knows the process. */
async function main(argv: readonly string[]): Promise<void> {
  const signals = listenToSignals();
  let options: GlobalOptions = { root: null, json: argv.includes('--json'), quiet: false, now: null };
  let talk = createTalk(process.stderr, options.quiet, () => performance.now());
  try {
    const informed = await runCommandLine(argv, async (name, verb, parameters) => {
      options = readGlobalOptions(parameters.options, process.env);
      talk = createTalk(process.stderr, options.quiet, () => performance.now());
      signals.endsItself = verb.endsItself === true;
      const faults = process.env.EPISODE_TEST === '1' ? process.env.EPISODE_FAULT : undefined;
      const wrapPort = faults ? (await import('./faults.ts')).faultyPort(faults) : undefined;
      const answer = await verb.run(
        createContext({
          options,
          env: process.env,
          cwd: workingDirectory(),
          verb: name,
          commandLine: ['episode', ...argv].map(shellWord).join(' '),
          talk,
          interrupted: signals.interrupted,
          ...(wrapPort && { wrapPort }),
        }),
        parameters,
      );
      await conclude(answer, options, talk);
    });
    if (informed) await conclude(informed, options, talk);
  } catch (error) {
    talk.clear();
    await fail(error, options);
  }
  signals.dieIfInterrupted();
}

async function conclude(answer: Answer, options: GlobalOptions, talk: Talk): Promise<void> {
  talk.clear();
  const { error = null, further = [] } = answer;
  for (const line of answer.notes ?? []) talk.note(line);
  for (const failure of [error, ...further]) if (failure) process.stderr.write(`${errorText(failure)}\n`);
  const document = error ? { ...answer.document, error: errorDocument(error) } : answer.document;
  await print(options.json ? asJson(document) : printable(answer.text), answer.committed === true);
  process.exitCode = error ? error.exit : 0;
}

function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (cause) {
    const hints = ['cd to one that is there'];
    throw new EpisodeError('NOT_A_SHOW', 'the directory in which this was started is gone', {
      subject: '.',
      hints,
      cause,
    });
  }
}

/** What stopped before there was an answer. A bug says where; anything else what to do. */
async function fail(error: unknown, options: GlobalOptions): Promise<void> {
  const known = error instanceof EpisodeError ? error : bug(error);
  process.exitCode = known.exit;
  process.stderr.write(error === known ? `${errorText(known)}\n` : bugText(error));
  // Whoever could not be given the answer cannot be given the error either.
  if (options.json && known.subject !== 'stdout')
    await print(asJson({ error: errorDocument(known) }), false).catch(() => {});
}

/** What is escaped stands inside strings, where `\uXXXX` means the same character. */
const asJson = (document: object): string => `${printable(JSON.stringify(document, null, 2))}\n`;

const bug = (error: unknown): EpisodeError =>
  new EpisodeError('BUG', `this is a bug in episode: ${error instanceof Error ? error.message : String(error)}`, {
    hints: [
      'records are only ever changed as a whole; the same command is safe',
      'please report it with the lines below',
    ],
    cause: error,
  });

const bugText = (error: unknown): string =>
  printable(`${errorText(bug(error))}\n${error instanceof Error ? (error.stack ?? '') : ''}\n`);

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

void main(process.argv.slice(2));
