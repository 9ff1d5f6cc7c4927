import { asEpisodeError, formatNewer, isErrno, recordDamaged } from '../errors.ts';
import type { Disk } from '../port.ts';
import { parseStrict } from './strict-json.ts';

/**
 * The bytes of a record's file, `undefined` if there is none. A directory or a link to nothing in its place is damage and
 * no absence: who takes it for one gives a number or a key again.
 */
export async function readBytes(disk: Disk, path: string, file: string): Promise<Buffer | undefined> {
  try {
    return await disk.readFile(path);
  } catch (error) {
    if (isErrno(error, 'EISDIR')) throw recordDamaged(file, 'it is a directory');
    if (isErrno(error, 'ELOOP')) throw recordDamaged(file, 'it is a link to itself');
    if (!isErrno(error, 'ENOENT', 'ENOTDIR')) throw asEpisodeError(error, file);
  }
  if ((await typeOf(disk, path, file)) === 'link') throw recordDamaged(file, 'it is a link to nothing');
  return undefined;
}

async function typeOf(disk: Disk, path: string, file: string): Promise<string | undefined> {
  try {
    return (await disk.lstat(path))?.type;
  } catch (error) {
    throw asEpisodeError(error, file);
  }
}

/** Any JSON file of a show with a `format`: strict JSON, an object, and not newer than this program. */
export async function readRecord(bytes: Uint8Array, file: string): Promise<object> {
  let value: unknown;
  try {
    value = await parseStrict(bytes);
  } catch (cause) {
    throw recordDamaged(file, (cause as Error).message, cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw recordDamaged(file, 'it is not a JSON object');
  const version: unknown = 'format' in value ? value.format : undefined;
  if (typeof version === 'number' && version > 1) throw formatNewer(file, version);
  return value;
}
