import { EpisodeError } from '../errors.ts';
import type { GlobalOptions } from './context.ts';
import { print } from './print.ts';
import { printable } from './printable.ts';
import { runCommandLine } from './program.ts';
import { errorDocument, errorText, errorTexts } from './render.ts';
import { listenToSignals } from './signals.ts';
import { say } from './streams.ts';
import { createTalk, type Talk } from './talk.ts';
import type { Answer } from './verbs.ts';

// Node would end a program that never settles with 0, and a scheduler would take that for success.
process.exitCode = 70;
// Node would say 1, which is in no table.
process.on('uncaughtException', (error) => {
  say(bugText(error));
  process.exit(70);
});

/** Node's stream for stderr is asked only when there is progress to draw. */
const TERMINAL = {
  get isTTY() {
    return process.stderr.isTTY;
  },
  get columns() {
    return process.stderr.columns;
  },
  write: say,
};

/** The whole program: the only place that knows the process. */
async function main(argv: readonly string[]): Promise<void> {
  const signals = listenToSignals();
  let options: GlobalOptions = { root: null, json: argv.includes('--json'), quiet: false, now: null };
  let talk = createTalk(TERMINAL, options.quiet, () => performance.now());
  try {
    const informed = await runCommandLine(argv, async (name, verb, parameters) => {
      // Loaded here, so that a help text waits for no ledger.
      const { createContext } = await import('./context.ts');
      const { readGlobalOptions } = await import('./global-options.ts');
      options = readGlobalOptions(parameters.options, process.env);
      talk = createTalk(TERMINAL, options.quiet, () => performance.now());
      if (verb.endsItself) signals.letEnd();
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
          signals,
          ...(wrapPort && { wrapPort }),
        }),
        parameters,
      );
      conclude(answer, options, talk);
    });
    if (informed) conclude(informed, options, talk);
  } catch (error) {
    talk.clear();
    fail(error, options);
  }
  if (signals.dieIfInterrupted()) return;
  // All is written. Waiting for the event loop to run dry and for the heap to be taken apart costs milliseconds.
  process.exit();
}

function conclude(answer: Answer, options: GlobalOptions, talk: Talk): void {
  talk.clear();
  const { error = null } = answer;
  for (const line of answer.notes ?? []) talk.note(line);
  for (const text of errorTexts(answer)) say(`${text}\n`);
  const document = error ? { ...answer.document, error: errorDocument(error) } : answer.document;
  print(options.json ? asJson(document) : printable(answer.text), answer.committed === true);
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
function fail(error: unknown, options: GlobalOptions): void {
  const known = error instanceof EpisodeError ? error : bug(error);
  process.exitCode = known.exit;
  say(error === known ? `${errorText(known)}\n` : bugText(error));
  // Whoever could not be given the answer cannot be given the error either.
  if (!options.json || known.subject === 'stdout') return;
  try {
    print(asJson({ error: errorDocument(known) }), false);
  } catch (unprintable) {
    if (!(unprintable instanceof EpisodeError)) throw unprintable;
  }
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
