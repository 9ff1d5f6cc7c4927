import { type Child, NotStarted, startChild } from './child.ts';

/**
 * Reads `{"pid":7}`, then waits for the end of its input, which comes when the other end is closed by whoever held it or
 * by the kernel after a SIGKILL, and then ends that process group. POSIX sh; nothing is looked for on PATH.
 */
const GUARDIAN = `IFS=':}' read -r _ pid _ || exit
while read -r _; do :; done
kill -s KILL -- "-$pid"`;

/**
 * As `startChild`, for a tool that nobody could end any more after this program is killed with SIGKILL: ffmpeg reads no
 * pipe whose end would tell it. A shell beside it waits for that. Where there is no shell, the tool goes unguarded.
 */
export async function startGuarded(
  command: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<Child> {
  // Before the tool, so that there is no moment in which it runs alone.
  const guardian = await startGuardian();
  try {
    const child = await startChild(command, cwd, env);
    guardian?.say({ pid: child.pid });
    // Before the number can belong to others: a guardian that is killed sees no end of its input.
    void child.exited.then(() => guardian?.kill());
    return child;
  } catch (error) {
    guardian?.kill();
    throw error;
  }
}

async function startGuardian(): Promise<Child | null> {
  try {
    return await startChild(['/bin/sh', '-c', GUARDIAN], '/', {});
  } catch (error) {
    if (error instanceof NotStarted) return null;
    throw error;
  }
}
