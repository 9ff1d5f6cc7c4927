import { EpisodeError, isErrno } from '../errors.ts';
import { writeAll } from './streams.ts';

/**
 * Writes the answer to stdout. Throws `COMMITTED_NOT_PRINTED` (74) when something was recorded and the answer cannot be
 * delivered; a reader that only went away early (`| head`) is nobody's failure otherwise.
 */
export function print(text: string, committed: boolean): void {
  if (text === '') return;
  try {
    writeAll(1, text);
  } catch (cause) {
    if (committed) {
      throw new EpisodeError('COMMITTED_NOT_PRINTED', 'it is recorded, and the answer could not be printed', {
        subject: 'stdout',
        hints: ['run the same command again: it prints the answer and changes nothing'],
        cause,
      });
    }
    if (!isErrno(cause, 'EPIPE'))
      throw new EpisodeError('IO_ERROR', 'the answer could not be printed', {
        subject: 'stdout',
        hints: ['free the disk that stdout goes to, then run the same command again: nothing was changed'],
        cause,
      });
  }
}
