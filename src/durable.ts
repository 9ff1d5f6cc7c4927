import { isErrno } from './errors.ts';
import type { Disk } from './port.ts';

/** The building blocks of a durable change. Each resolves only when a power loss can no longer undo it. */

/** Creates `path` exclusively with exactly these bytes. A name in a directory lasts only after `syncDirectory` of it. */
export async function writeNew(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const file = await disk.open(path, 'create');
  try {
    // A write may take less than it was given without an error (POSIX write(2)); a full disk often shows that way first.
    for (let written = 0; written < bytes.length; ) {
      const count = await disk.write(file, bytes.subarray(written));
      if (count === 0) throw Object.assign(new Error('short write'), { code: 'EIO' });
      written += count;
    }
    await disk.fsync(file);
  } finally {
    await disk.close(file);
  }
  const stat = await disk.lstat(path);
  if (stat && stat.size !== bytes.length) throw Object.assign(new Error('short write'), { code: 'EIO' });
}

export async function syncFile(disk: Disk, path: string): Promise<void> {
  const file = await disk.open(path, 'read');
  try {
    await disk.fsync(file);
  } finally {
    await disk.close(file);
  }
}

/** Makes the names in a directory durable: creation, rename and removal are changes of the directory, not of the file. */
export const syncDirectory = syncFile;

/** `true` if it was not there before. The new name lasts only after `syncDirectory` of the parent. */
export async function ensureDirectory(disk: Disk, path: string): Promise<boolean> {
  try {
    await disk.mkdir(path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

export async function unlinkIfThere(disk: Disk, path: string): Promise<void> {
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
