import type { Disk, FileHandle, FileStat } from '../../src/port.ts';
import { errno } from './errno.ts';
import { type Change, DirectoryInode, FileInode, type Inode, losePower, type Order } from './inode.ts';
import type { Random } from './random.ts';

/** A name in an existing directory, and what is there now. */
interface Place {
  directory: DirectoryInode;
  name: string;
  inode: Inode | undefined;
}

interface Opened {
  inode: Inode;
  writable: boolean;
}

/**
 * One local file system in memory, shared by all processes of a simulated host, with the answers of Linux.
 * It can lose its power: then only what was fsynced is certain, the rest is as `random` will have it.
 * Like a kernel it does each call at once; who calls when is the scheduler's business.
 */
export class SimulatedDisk implements Disk {
  readonly #root: DirectoryInode;
  readonly #opened = new Map<FileHandle, Opened>();
  #lastHandle = 2;
  #lastIno = 1;

  constructor(
    private readonly random: Random,
    private readonly order: Order = 'reordered',
    private readonly now: () => number = () => 0,
  ) {
    this.#root = new DirectoryInode(this.#lastIno, now(), order);
  }

  readFile(path: string): Buffer {
    const inode = this.#existing(path, `open '${path}'`);
    if (inode.type === 'directory') throw errno('EISDIR', 'read');
    return Buffer.from(inode.bytes);
  }

  readdir(path: string): string[] {
    const call = `scandir '${path}'`;
    return [...directory(this.#existing(path, call), call).names.keys()];
  }

  lstat(path: string): FileStat | undefined {
    const place = this.#walk(path);
    const inode = typeof place === 'string' ? undefined : place.inode;
    return (
      inode && {
        type: inode.type,
        size: inode.type === 'file' ? inode.bytes.length : 4096,
        mode: inode.type === 'file' ? 0o600 : 0o700,
        uid: 1000,
        ino: String(inode.ino),
        birthtimeNs: `${inode.bornMs}000000`,
        mtimeMs: inode.mtimeMs,
      }
    );
  }

  open(path: string, how: 'create' | 'read'): FileHandle {
    const call = `open '${path}'`;
    if (how === 'read') return this.#handle({ inode: this.#existing(path, call), writable: false });
    const inode = new FileInode(++this.#lastIno, this.now());
    this.#set(this.#vacant(path, call), inode);
    return this.#handle({ inode, writable: true });
  }

  write(file: FileHandle, bytes: Uint8Array): number {
    const { inode, writable } = this.#use(file, 'write');
    if (!writable || inode.type === 'directory') throw errno('EBADF', 'write');
    inode.append(bytes, this.now());
    return bytes.length;
  }

  fsync(file: FileHandle): void {
    this.#use(file, 'fsync').inode.fsync();
  }

  /** What an fsync that ends in EIO leaves behind. */
  failFsync(file: FileHandle): void {
    const { inode } = this.#use(file, 'fsync');
    if (inode.type === 'file') inode.failFsync();
  }

  close(file: FileHandle): void {
    this.#use(file, 'close');
    this.#opened.delete(file);
  }

  rename(from: string, to: string): void {
    const call = `rename '${from}' -> '${to}'`;
    const source = this.#place(from, call);
    const target = this.#place(to, call);
    const { inode } = source;
    if (!inode) throw errno('ENOENT', call);
    if (inode === target.inode) return; // POSIX: two links of one file both stay
    if (inode.type === 'directory' && to.startsWith(`${from}/`)) throw errno('EINVAL', call);
    const needs = target.inode ? replaceable(target.inode, inode, call) : [];
    if (source.directory === target.directory) {
      const names = [[source.name, undefined] as const, [target.name, inode] as const];
      source.directory.change(names, this.now(), needs);
    } else {
      const arrival = target.directory.change([[target.name, inode]], this.now(), needs);
      // The promise of every journal: the old name is gone only where the new one is there.
      source.directory.change([[source.name, undefined]], this.now(), [arrival]);
    }
  }

  link(from: string, to: string): void {
    const call = `link '${from}' -> '${to}'`;
    const inode = this.#existing(from, call);
    const place = this.#vacant(to, call);
    if (inode.type === 'directory') throw errno('EPERM', call);
    this.#set(place, inode);
  }

  unlink(path: string): void {
    const call = `unlink '${path}'`;
    const place = this.#place(path, call);
    if (!place.inode) throw errno('ENOENT', call);
    if (place.inode.type === 'directory') throw errno('EISDIR', call);
    this.#set(place, undefined);
  }

  mkdir(path: string): void {
    const place = this.#vacant(path, `mkdir '${path}'`);
    this.#set(place, new DirectoryInode(++this.#lastIno, this.now(), this.order));
  }

  rmdir(path: string): void {
    const call = `rmdir '${path}'`;
    const place = this.#place(path, call);
    if (!place.inode) throw errno('ENOENT', call);
    place.directory.change([[place.name, undefined]], this.now(), emptied(directory(place.inode, call), call));
  }

  /** Power goes and comes back: every handle is dead, and what is visible afterwards is durable. */
  losePower(): void {
    this.#opened.clear();
    losePower(this.#root, this.random);
  }

  #set({ directory, name }: Place, inode: Inode | undefined): void {
    directory.change([[name, inode]], this.now());
  }

  #existing(path: string, call: string): Inode {
    if (path === '/') return this.#root;
    const { inode } = this.#place(path, call);
    if (!inode) throw errno('ENOENT', call);
    return inode;
  }

  #vacant(path: string, call: string): Place {
    const place = this.#place(path, call);
    if (place.inode) throw errno('EEXIST', call);
    return place;
  }

  #place(path: string, call: string): Place {
    const place = this.#walk(path);
    if (typeof place === 'string') throw errno(place, call);
    return place;
  }

  #walk(path: string): Place | 'ENOENT' | 'ENOTDIR' {
    const names = path.split('/').slice(1);
    const last = names.pop() ?? '';
    let inode: Inode | undefined = this.#root;
    for (const name of names) {
      if (inode.type === 'file') return 'ENOTDIR';
      inode = inode.names.get(name);
      if (!inode) return 'ENOENT';
    }
    return inode.type === 'file' ? 'ENOTDIR' : { directory: inode, name: last, inode: inode.names.get(last) };
  }

  #handle(opened: Opened): FileHandle {
    this.#opened.set(++this.#lastHandle, opened);
    return this.#lastHandle;
  }

  #use(file: FileHandle, call: string): Opened {
    const opened = this.#opened.get(file);
    if (!opened) throw errno('EBADF', call);
    return opened;
  }
}

function directory(inode: Inode, call: string): DirectoryInode {
  if (inode.type === 'file') throw errno('ENOTDIR', call);
  return inode;
}

/** Changes without which an emptied directory must not vanish: what was renamed out of it would be lost with it. */
function emptied(inode: DirectoryInode, call: string): readonly Change[] {
  if (inode.names.size > 0) throw errno('ENOTEMPTY', call);
  return [...inode.pending];
}

/** What replacing `old` by `replacement` needs; throws where a rename may not. */
function replaceable(old: Inode, replacement: Inode, call: string): readonly Change[] {
  if (old.type === 'file') {
    if (replacement.type === 'directory') throw errno('ENOTDIR', call);
    return [];
  }
  if (replacement.type === 'file') throw errno('EISDIR', call);
  return emptied(old, call);
}
