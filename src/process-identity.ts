import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isErrno } from './errors.ts';
import type { ProcessIdentity } from './port.ts';

/**
 * Who a process is, so that a later one with the same pid is not taken for it. Linux tells all of it in /proc; elsewhere
 * start time and boot are `''`, and a reused pid counts as alive, which errs on the side of waiting.
 */
export function identify(pid: number): ProcessIdentity {
  return { host: hostname(), boot: boot(), pid, started: startTime(pid) ?? '' };
}

/**
 * `gone` is a proof; `elsewhere` means that nothing can be seen from here. A negative pid is a process group, as in
 * kill(2): it is there while any member runs, whoever its leader was.
 */
export function liveness(process: ProcessIdentity): 'alive' | 'gone' | 'elsewhere' {
  if (process.host !== hostname()) return 'elsewhere';
  const [bootId, namespace] = boot().split(' ');
  const [thenBootId, thenNamespace] = process.boot.split(' ');
  if (thenBootId !== bootId) return 'gone';
  // Another container on the same kernel: its pids are not ours.
  if (thenNamespace !== namespace) return 'elsewhere';
  if (!exists(process.pid)) return 'gone';
  return process.started === '' || startTime(process.pid) === process.started ? 'alive' : 'gone';
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
  return pid > 0 || hasMembers(-pid);
}

/** IDs of this process and of those that started it, nearest first; of the nearest two only where there is no /proc. */
export function ancestors(): number[] {
  const pids = [process.pid, process.ppid];
  // A chain that grows while it is read must end too.
  while (pids.length < 64 && pids.at(-1)! > 1) {
    const stat = readIfThere(`/proc/${pids.at(-1)}/stat`);
    if (stat === null) break;
    pids.push(Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  return pids.filter((pid) => pid > 0);
}

/** kill(2) also finds a group of zombies, which stay where nobody reaps orphans (a container's first process). */
function hasMembers(group: number): boolean {
  const stats = processes().map((pid) => readIfThere(`/proc/${pid}/stat`));
  if (stats.length === 0) return true;
  return stats.some((stat) => {
    if (stat === null) return false;
    // state, parent, process group: fields 3 to 5 of proc(5).
    const [state, , member] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(member) === group && state !== 'Z' && state !== 'X';
  });
}

function processes(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch (error) {
    if (isErrno(error)) return [];
    throw error;
  }
}

/** Field 22 of /proc/<pid>/stat (proc(5)), in clock ticks since boot; a zombie is no living process. */
function startTime(pid: number): string | null {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name in parentheses may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
}

let bootAndNamespace: string | undefined;
function boot(): string {
  if (bootAndNamespace === undefined) {
    const bootId = readIfThere('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
    bootAndNamespace = `${bootId} ${bootId === '' ? '' : readlinkSync('/proc/self/ns/pid')}`.trim();
  }
  return bootAndNamespace;
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH', 'EACCES')) return null;
    throw error;
  }
}
