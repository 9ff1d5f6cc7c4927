import { randomBytes } from 'node:crypto';
import { userInfo } from 'node:os';
import type { Port, ProcessIdentity } from './port.ts';
import { identify, liveness } from './process-identity.ts';
import { acquireLock } from './store/file/lock.ts';
import { createNodeDisk } from './store/file/node-disk.ts';

interface NodePortOptions {
  /** What others are told when they wait for our lock, e.g. `episode allocate`. */
  command: string;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

/** The real world: this machine's disk, clock, chance and processes. */
export function createNodePort({ command, now = Date.now }: NodePortOptions): Port {
  let self: ProcessIdentity | undefined;
  let user: string | undefined;
  const random = (bytes: number): string => randomBytes(bytes).toString('hex');
  return {
    disk: createNodeDisk(),
    lock(state, waitMs) {
      return acquireLock(state, waitMs, { self: this.self, liveness, command });
    },
    now,
    random,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        signal?.addEventListener('abort', wake);
        if (signal?.aborted) wake();
      }),
    get self() {
      self ??= identify(process.pid);
      return self;
    },
    liveness,
    get user() {
      user ??= loginName();
      return user;
    },
  };
}

/** A uid without an entry in the password file (common in containers) has a number and no name. */
function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
