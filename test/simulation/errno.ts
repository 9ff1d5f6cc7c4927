const MEANING = {
  EBADF: 'bad file descriptor',
  EEXIST: 'file already exists',
  EINVAL: 'invalid argument',
  EIO: 'i/o error',
  EISDIR: 'illegal operation on a directory',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  EPERM: 'operation not permitted',
  EROFS: 'read-only file system',
} as const;

export type Errno = keyof typeof MEANING;

/**
 * An error as Node's `fs` throws it, so that the code under test can tell no difference. Without a stack: it would
 * show the scheduler only, and costs more than all the rest of a call.
 */
export function errno(code: Errno, call: string): NodeJS.ErrnoException {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  const error = Object.assign(new Error(`${code}: ${MEANING[code]}, ${call}`), { code });
  Error.stackTraceLimit = limit;
  return error;
}
