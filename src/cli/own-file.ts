import { constants, statSync } from 'node:fs';
import { chmod, copyFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { diskError, EpisodeError, inputUnreadable, isErrno } from '../errors.ts';
import type { OwnFile } from '../spend/own-output.ts';

/** Errors of the disk that is copied to; all others are of the file that is read. */
const OF_THE_COPY = ['ENOSPC', 'EDQUOT', 'EROFS', 'EFBIG', 'EEXIST'];

/** A file that a person names as the output of a step. Throws `FILE_NOT_FOUND` (66), `NOT_PERMITTED` (77). */
export function ownFile(name: string, cwd: string): OwnFile {
  const path = resolve(cwd, name);
  // A pipe would be waited for, and is gone once it was read.
  if (!isFile(name, path)) {
    throw new EpisodeError('FILE_NOT_FOUND', `${name} is no regular file`, {
      subject: name,
      hints: ['save the result as a file of its own, and name that'],
    });
  }
  return {
    name,
    path,
    async copyTo(copy) {
      try {
        await copyFile(path, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
        await chmod(copy, 0o600);
      } catch (error) {
        throw isErrno(error, ...OF_THE_COPY) ? diskError(error, copy) : inputUnreadable(name, error);
      }
    },
  };
}

function isFile(name: string, path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (error) {
    throw inputUnreadable(name, error);
  }
}
