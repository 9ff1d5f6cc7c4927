import { asEpisodeError, isErrno } from './errors.ts';
import type { Disk, FileHandle, FileStat } from './port.ts';

/** The building blocks of a durable change. Each resolves only when a power loss can no longer undo it. */

/** Creates `path` exclusively with exactly these bytes. A name in a directory lasts only after `sync` of it. */
export const writeNew = (disk: Disk, path: string, bytes: Uint8Array): Promise<void> =>
  writeAllNew(disk, new Map([[path, bytes]]));

/** The same for several files, path by path; of an error some may be there. */
export async function writeAllNew(disk: Disk, contents: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const files: FileHandle[] = [];
  try {
    for (const [path, bytes] of contents) {
      const file = await disk.open(path, 'create');
      files.push(file);
      await writeWhole(disk, file, bytes);
    }
    await disk.fsync(...files);
  } finally {
    for (const file of files) await disk.close(file);
  }
  for (const [path, bytes] of contents) {
    const stat = await disk.lstat(path);
    if (stat && stat.size !== bytes.length) throw Object.assign(new Error('short write'), { code: 'EIO' });
  }
}

/** A write may take less than it was given without an error (POSIX write(2)); a full disk often shows that way first. */
async function writeWhole(disk: Disk, file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const count = await disk.write(file, bytes.subarray(written));
    if (count === 0) throw Object.assign(new Error('short write'), { code: 'EIO' });
    written += count;
  }
}

/**
 * The same for a name that others look for by itself: it is never seen half written, whatever is killed when. A link at
 * `path` is left alone, to wherever it leads. `temporary` is a name that nobody uses.
 */
export async function writeNewWhole(disk: Disk, path: string, temporary: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeNew(disk, temporary, bytes);
    await disk.link(temporary, path);
  } finally {
    await discard(disk, [temporary]);
  }
}

/** Makes what was written to these files durable, and the names in these directories. */
export async function sync(disk: Disk, ...paths: readonly string[]): Promise<void> {
  const files: FileHandle[] = [];
  try {
    for (const path of paths) files.push(await disk.open(path, 'read'));
    await disk.fsync(...files);
  } finally {
    for (const file of files) await disk.close(file);
  }
}

/** `true` if it was not there before. The new name lasts only after `sync` of the parent. */
export async function ensureDirectory(disk: Disk, path: string): Promise<boolean> {
  try {
    await disk.mkdir(path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Looks first: an error that is made and caught costs ten times as much, and most names are not there. */
export async function unlinkIfThere(disk: Disk, path: string): Promise<void> {
  if (!(await disk.lstat(path))) return;
  try {
    await disk.unlink(path);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}

export async function readIfThere(disk: Disk, path: string): Promise<Buffer | undefined> {
  try {
    return await disk.readFile(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

export async function listIfThere(disk: Disk, path: string): Promise<string[]> {
  try {
    return await disk.readdir(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

/** Names in a directory of the show, none if it is absent. Throws what stopped the listing as an error about `directory`. */
export async function namesIn(disk: Disk, root: string, directory: string): Promise<string[]> {
  try {
    return await listIfThere(disk, `${root}/${directory}`);
  } catch (error) {
    throw asEpisodeError(error, directory);
  }
}

/** What `path` of the show is, links not followed. Throws what stopped the look as an error about `path`. */
export async function statIn(disk: Disk, root: string, path: string): Promise<FileStat | undefined> {
  try {
    return await disk.lstat(`${root}/${path}`);
  } catch (error) {
    throw asEpisodeError(error, path);
  }
}

/** Removes files that nobody refers to. Never fails: what stays behind is inert. */
export async function discard(disk: Disk, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    try {
      await unlinkIfThere(disk, path);
    } catch (error) {
      if (!isErrno(error)) throw error;
    }
  }
}
