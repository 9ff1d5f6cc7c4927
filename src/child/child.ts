import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { isErrno } from '../errors.ts';

const INHERITED = ['PATH', 'HOME', 'LANG', 'TZ'];

/** How long output is read after the leader's end, in case a process that left the group holds a pipe open. */
const DRAIN_MS = 1_000;

export interface Exit {
  code: number | null;
  signal: string | null;
}

/** A running adapter: leader of its own process group, which never outlives it. */
export interface Child {
  /** Also the ID of its process group. */
  readonly pid: number;
  readonly stdout: AsyncIterable<Buffer>;
  readonly stderr: AsyncIterable<Buffer>;
  readonly exited: Promise<Exit>;
  /** Writes one JSON line; `false` when the adapter has ended or is being ended and nothing was written. */
  say(message: object): boolean;
  /** Ends the whole group at once, with SIGKILL: an adapter that is told to stop must not have time to send. */
  kill(): void;
  /** Closes stdin and gives the adapter `graceMs` to leave by itself, then kills the group. */
  end(graceMs: number): Promise<Exit>;
}

const WHY: Record<string, string> = {
  ENOENT: 'it or its interpreter does not exist',
  EACCES: 'it is not executable',
  ERR_INVALID_ARG_VALUE: 'there is a NUL character in its command or its environment',
};

/** The command never ran. The system's own words are left out: they may quote the environment. */
export class NotStarted extends Error {
  /** The system's, e.g. `ENOENT`. */
  readonly code: string;

  constructor(file: string, code: string) {
    super(`${file}: ${WHY[code] ?? code}`);
    this.code = code;
  }
}

/** What ends each child that runs. One listener for all of them: of more than ten node warns on stderr. */
const atOurEnd = new Set<() => void>();

function endWithUs(kill: () => void): void {
  if (!process.listeners('exit').includes(endAll)) process.on('exit', endAll);
  atOurEnd.add(kill);
}

function endAll(): void {
  for (const kill of atOurEnd) kill();
}

/** A stream that was closed under its reader has ended; one that is left early goes on flowing, so nobody gets SIGPIPE. */
async function* chunks(stream: Readable): AsyncGenerator<Buffer> {
  try {
    yield* stream.iterator({ destroyOnReturn: false });
  } catch (error) {
    if (!isErrno(error, 'ERR_STREAM_PREMATURE_CLOSE')) throw error;
  } finally {
    stream.resume();
  }
}

/**
 * Starts `command` in `cwd` without a shell, in a process group of its own, with PATH, HOME, LANG, TZ and `env` and
 * nothing else. A command with a slash is resolved against `cwd`. Throws `NotStarted` if the system refuses.
 * The group ends with its leader, and with this program.
 */
export async function startChild(command: readonly string[], cwd: string, env: Record<string, string>): Promise<Child> {
  const { execa } = await import('execa');
  const [name = '', ...args] = command;
  const file = name.includes('/') ? resolve(cwd, name) : name;
  const inherited = Object.fromEntries(INHERITED.map((variable) => [variable, process.env[variable]]));
  const running = execa(file, args, {
    cwd,
    env: { ...inherited, ...env },
    extendEnv: false,
    detached: true,
    buffer: false,
    reject: false,
    stdio: 'pipe',
  });
  const { pid, stdin, stdout, stderr } = running;
  if (pid === undefined) {
    const { code } = await running;
    throw new NotStarted(file, code ?? 'unknown error');
  }

  let ended: Exit | undefined;
  let ending = false;
  const killGroup = (): void => {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // ESRCH: nobody is left in the group.
    }
  };
  const kill = (): void => {
    ending = true;
    // Once the leader was reaped, its number may belong to others.
    if (ended === undefined) killGroup();
  };
  endWithUs(kill);
  stdin.on('error', () => {}); // EPIPE of an adapter that died is seen as its exit
  const exited = new Promise<Exit>((settle) => {
    running.once('exit', (code, signal) => {
      ended = { code, signal };
      killGroup();
      atOurEnd.delete(kill);
      const drained = setTimeout(() => {
        stdout.destroy();
        stderr.destroy();
      }, DRAIN_MS);
      running.once('close', () => clearTimeout(drained));
      settle(ended);
    });
  });

  return {
    pid,
    stdout: chunks(stdout),
    stderr: chunks(stderr),
    exited,
    kill,
    say(message) {
      if (ending || ended !== undefined) return false;
      stdin.write(`${JSON.stringify(message)}\n`);
      return true;
    },
    async end(graceMs) {
      stdin.end();
      const grace = setTimeout(kill, graceMs);
      try {
        return await exited;
      } finally {
        clearTimeout(grace);
      }
    },
  };
}
