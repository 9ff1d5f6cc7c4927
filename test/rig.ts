import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { mkdtemp, readFile, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { runLine } from './run-line.ts';

/** Real shows in temporary directories, and the built program run in them as a user or a scheduler runs it. */

/** The one JSON document of `--json`; the fields that tests look at most are named. */
export interface Answer {
  [field: string]: unknown;
  verdict?: string;
  episode_id?: string;
  status?: string;
  error?: { code: string; message: string; subject: string | null; hints: string[]; details: Record<string, unknown> };
}

export interface Ran {
  /** `null` when a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Parsed stdout; throws with all that was printed when it is not exactly one document. */
  readonly json: Answer;
}

/** Not enumerable: a comparison that fails shows what was printed, and does not read a document that is none. */
export const withJson = (ran: Omit<Ran, 'json'>, get: () => Answer): Ran =>
  Object.defineProperty(ran, 'json', { get }) as Ran;

export interface RunOptions {
  /** On top of the clean environment; `undefined` takes a variable away. */
  env?: Record<string, string | undefined>;
  /** The machine's zone, which must never matter. */
  tz?: string;
  /** What the program takes for now, e.g. `2026-08-07T00:00:00Z`. */
  now?: string;
  /** Where it is started; else in the show. */
  cwd?: string;
  /** Words before the program, e.g. `['setpriv', '--reuid=1234']`. */
  prefix?: string[];
  stdio?: SpawnOptions['stdio'];
  input?: string;
}

/** A directory of this run of the tests, removed at its end. */
export const temporaryDirectory = (): Promise<string> => makeTemporary(tmpdir());

/**
 * The same in memory where there is such a file system: loops over every operation spend most of their time in fsync,
 * and killing a process loses nothing that was not synced.
 */
export const memoryDirectory = (): Promise<string> => makeTemporary(inject('memory'));

const makeTemporary = async (parent: string): Promise<string> => realpath(await mkdtemp(join(parent, 'episode-test-')));

/**
 * The root of a show made by `episode init`, with `config` merged over the least `pipeline.json`. It was made on Saturday
 * 1 August 2026, so that tests can say `now` for the weeks after.
 */
export async function makeShow({
  timeZone = 'UTC',
  config = {} as Record<string, unknown>,
  madeAt = '2026-08-01T00:00:00Z',
} = {}): Promise<string> {
  const root = await temporaryDirectory();
  await writePipeline(root, { time_zone: timeZone, ...config });
  const made = await runLine(root, ['init', '--time-zone', timeZone], { now: madeAt });
  if (made.code !== 0) throw new Error(`init exited ${made.code}: ${made.stderr}`);
  return root;
}

export async function writePipeline(root: string, config: Record<string, unknown>): Promise<void> {
  const whole = { format: 1, show: 'brief', time_zone: 'UTC', currency: 'USD', ...config };
  await writeFile(join(root, 'pipeline.json'), `${JSON.stringify(whole, null, 2)}\n`);
}

/** Runs the program in the show `root` to its end. */
export const episode = (root: string, args: string[], options: RunOptions = {}): Promise<Ran> =>
  start(root, args, options).done;

/** Starts it; `done` resolves when it has ended and all it printed has been read. */
export function start(
  root: string,
  args: string[],
  { env = {}, tz = 'UTC', now, cwd = root, prefix = [], stdio = 'pipe', input = '' }: RunOptions = {},
): { child: ChildProcess; done: Promise<Ran> } {
  const words = [...prefix, process.execPath, inject('program'), ...args, ...(now === undefined ? [] : ['--now', now])];
  const clean = { PATH: process.env.PATH, HOME: '/nonexistent', TZ: tz, EPISODE_TEST: '1' };
  const child = spawn(words[0]!, words.slice(1), { cwd, env: { ...clean, ...env } as NodeJS.ProcessEnv, stdio });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  // A program that ended without reading is not the test's failure.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  const done = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const document = () => parse(stdout, `${args.join(' ')} exited ${code ?? signal}`, stderr);
      resolve(withJson({ code, signal, stdout, stderr }, document));
    });
  });
  return { child, done };
}

/** Resolves when a started program has stopped itself (SIGSTOP), `true`, or has ended, `false`. Linux only. */
export async function hasStopped(child: ChildProcess): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8').catch(() => '');
    if (/^T /.test(stat.slice(stat.lastIndexOf(')') + 2))) return true;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return false;
}

function parse(stdout: string, what: string, stderr: string): Answer {
  try {
    return JSON.parse(stdout) as Answer;
  } catch {
    throw new Error(`${what} without one JSON document on stdout\n--- stdout\n${stdout}\n--- stderr\n${stderr}`);
  }
}
