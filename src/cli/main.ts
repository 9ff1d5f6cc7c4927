import { EpisodeError } from '../errors.ts';
import { createContext, type GlobalOptions } from './context.ts';
import { print } from './print.ts';
import { createProgram, readGlobalOptions } from './program.ts';
import { errorDocument, errorText } from './render.ts';
import { listenToSignals } from './signals.ts';
import { createTalk, printable, type Talk } from './talk.ts';
import type { Answer } from './verbs.ts';

// Node would end a program that never settles with 0, and a scheduler would take that for success.
process.exitCode = 70;

/** The whole program: the only place that knows the process. */
async function main(argv: readonly string[]): Promise<void> {
  const signals = listenToSignals();
  let options: GlobalOptions = { root: null, json: argv.includes('--json'), quiet: false, now: null };
  let talk = createTalk(process.stderr, options.quiet, () => performance.now());
  try {
    const program = await createProgram(argv, async (name, verb, parameters) => {
      options = readGlobalOptions(parameters.options, process.env);
      talk = createTalk(process.stderr, options.quiet, () => performance.now());
      signals.endsItself = verb.endsItself === true;
      const faults = process.env.EPISODE_TEST === '1' ? process.env.EPISODE_FAULT : undefined;
      const wrapPort = faults ? (await import('./faults.ts')).faultyPort(faults) : undefined;
      const answer = await verb.run(
        createContext({
          options,
          env: process.env,
          cwd: process.cwd(),
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
    await program.parseAsync([...argv], { from: 'user' });
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
  for (const failure of [error, ...further]) if (failure) process.stderr.write(`${printable(errorText(failure))}\n`);
  const document = error ? { ...answer.document, error: errorDocument(error) } : answer.document;
  await print(options.json ? `${JSON.stringify(document, null, 2)}\n` : answer.text, answer.committed === true);
  process.exitCode = error ? error.exit : 0;
}

/** What stopped before there was an answer. A bug says where; anything else what to do. */
async function fail(error: unknown, options: GlobalOptions): Promise<void> {
  const known = error instanceof EpisodeError ? error : bug(error);
  process.exitCode = known.exit;
  process.stderr.write(`${printable(errorText(known))}\n`);
  if (options.json && known.code !== 'COMMITTED_NOT_PRINTED') {
    await print(`${JSON.stringify({ error: errorDocument(known) }, null, 2)}\n`, false);
  }
}

function bug(error: unknown): EpisodeError {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new EpisodeError('BUG', `this is a bug in episode: ${stack}`, {
    hints: [
      'records are only ever changed as a whole; the same command is safe',
      'please report it with the lines above',
    ],
    cause: error,
  });
}

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

void main(process.argv.slice(2));
