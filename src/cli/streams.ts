import { fstatSync, writeSync } from 'node:fs';
import { isErrno } from '../errors.ts';

const RETRY_MS = 5;

/**
 * Writes all of `text` before it returns. Node's own streams for stdout and stderr cost more to set up than the rest of a
 * replayed `allocate`. A pipe whose reader is slow is waited for. Throws errno errors: EPIPE, ENOSPC, …
 */
export function writeAll(descriptor: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      // A pipe that somebody else made non-blocking, and that is full.
      if (!isErrno(error, 'EAGAIN')) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** Talk on stderr. Whoever listens to it may leave; that must not end a command in the middle of its work. */
export function say(text: string): void {
  try {
    writeAll(2, text);
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}

const NARROW = 80;

/** Width of the terminal on stdout; 80 for a file or a pipe. */
export const columns = (): number => (fstatSync(1).isCharacterDevice() ? (process.stdout.columns ?? NARROW) : NARROW);
