import { type Child, type Exit, NotStarted, startChild } from './child.ts';

/**
 * Reads `{"pid":7}`, then waits for the end of its input, which comes when the other end is closed by whoever held it or
 * by the kernel after a SIGKILL, and then ends that process group. POSIX sh; nothing is looked for on PATH.
 */
const GUARDIAN = `IFS=':}' read -r _ pid _ || exit
while read -r _; do :; done
kill -s KILL -- "-$pid"`;

/** Becomes the tool when it is told to, and ends when nobody is left to tell it: there is no moment in which it is alone. */
const GATE = `read -r _ || exit
exec "$@" </dev/null`;

/** What POSIX sh exits with when `exec` cannot: the command was found and cannot be run, or was not found. */
const NOT_RUN = new Map([
  [126, 'EACCES'],
  [127, 'ENOENT'],
]);

/**
 * As `startChild`, for a tool that nobody could end any more after this program is killed with SIGKILL: ffmpeg reads no
 * pipe whose end would tell it. A shell beside it waits for that. Where there is no shell, the tool goes unguarded.
 * A tool that cannot be run may also say so late: `exited` then rejects with `NotStarted`.
 */
export async function startGuarded(
  command: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<Child> {
  const guardian = await startGuardian();
  if (guardian === null) return startChild(command, cwd, env);
  try {
    const child = await startChild(['/bin/sh', '-c', GATE, 'sh', ...command], cwd, env);
    guardian.say({ pid: child.pid });
    child.say({ go: true });
    // Before the number can belong to others: a guardian that is killed sees no end of its input.
    const exited = child.exited.then((exit) => {
      guardian.kill();
      return whatRan(exit, command[0]!);
    });
    exited.catch(() => {});
    return { ...child, exited };
  } catch (error) {
    guardian.kill();
    throw error;
  }
}

function whatRan(exit: Exit, tool: string): Exit {
  const code = NOT_RUN.get(exit.code ?? 0);
  if (code !== undefined) throw new NotStarted(tool, code);
  return exit;
}

async function startGuardian(): Promise<Child | null> {
  try {
    return await startChild(['/bin/sh', '-c', GUARDIAN], '/', {});
  } catch (error) {
    if (error instanceof NotStarted) return null;
    throw error;
  }
}
