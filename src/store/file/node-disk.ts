import * as fs from 'node:fs';
import { isErrno } from '../../errors.ts';
import type { Disk, FileHandle, FileStat } from '../../port.ts';

/**
 * The real disk, synchronous: a short command spends half the time of the asynchronous calls. Only an `fsync` of several
 * files is one, because it waits for the disk and not for us.
 */
export function createNodeDisk(): Disk {
  return {
    readFile: (path) => fs.readFileSync(path),
    readdir: (path) => fs.readdirSync(path),
    lstat: (path) => {
      const stat = lstatOrAbsent(path);
      return stat && describeStat(stat);
    },
    open: (path, how) => fs.openSync(path, how === 'create' ? 'wx' : 'r', 0o600),
    write: (file, bytes) => fs.writeSync(file, bytes),
    fsync: (...files) => (files.length === 1 ? fs.fsyncSync(files[0]!) : fsyncTogether(files)),
    close: (file) => fs.closeSync(file),
    rename: (from, to) => fs.renameSync(from, to),
    link: (from, to) => fs.linkSync(from, to),
    unlink: (path) => fs.unlinkSync(path),
    mkdir: (path) => fs.mkdirSync(path, 0o700),
    rmdir: (path) => fs.rmdirSync(path),
  };
}

async function fsyncTogether(files: readonly FileHandle[]): Promise<void> {
  const syncs = files.map(
    (file) =>
      new Promise<void>((resolve, reject) => fs.fsync(file, (error) => (error === null ? resolve() : reject(error)))),
  );
  await Promise.allSettled(syncs);
  await Promise.all(syncs);
}

/** `throwIfNoEntry` spares an exception for ENOENT only; a file in the middle of the path is an absence too. */
function lstatOrAbsent(path: string): fs.BigIntStats | undefined {
  try {
    return fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (isErrno(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

function describeStat(stat: fs.BigIntStats): FileStat {
  return {
    type: stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : stat.isSymbolicLink() ? 'link' : 'other',
    size: Number(stat.size),
    mode: Number(stat.mode) & 0o7777,
    uid: Number(stat.uid),
    ino: String(stat.ino),
    birthtimeNs: String(stat.birthtimeNs),
    mtimeMs: Number(stat.mtimeMs),
  };
}
