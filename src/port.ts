/**
 * The one door to the outside for everything that decides about records and money: disk, lock, clock, chance,
 * and who is asking. The shipped program goes through it to Node, the simulator to a disk that can lose power.
 * Methods may answer at once (Node's synchronous calls cost half of its asynchronous ones in a short command)
 * or later (the simulator schedules each call), hence `Awaitable`.
 */
export type Awaitable<T> = T | Promise<T>;

export interface FileStat {
  type: 'file' | 'directory' | 'link' | 'other';
  size: number;
  /** Permission bits only, e.g. 0o600. */
  mode: number;
  uid: number;
  /** Together they name one inode for its whole life (`ino` alone is reused after removal). */
  ino: string;
  birthtimeNs: string;
  mtimeMs: number;
}

/** An open file. Opaque: only the disk that gave it may read it. */
export type FileHandle = number;

/** File operations with POSIX meaning and Node's error codes (`error.code === 'ENOENT'`, …). Paths are absolute. */
export interface Disk {
  /** Whole content. ENOENT if absent. */
  readFile(path: string): Awaitable<Buffer>;
  /** Names without `.` and `..`, in no order. ENOENT if absent. */
  readdir(path: string): Awaitable<string[]>;
  /** Of the name itself, links not followed; `undefined` if absent. */
  lstat(path: string): Awaitable<FileStat | undefined>;
  /** `create` is exclusive (EEXIST) with mode 0600; `read` opens what is there, a directory included. */
  open(path: string, how: 'create' | 'read'): Awaitable<FileHandle>;
  /** Appends; may write less than asked and says how much. */
  write(file: FileHandle, bytes: Uint8Array): Awaitable<number>;
  /**
   * What was written to these files, or the names in these directories, survive a power loss after this returns. Several at
   * once, in no order: a journal makes one write of them. It returns when none of them is left at work.
   */
  fsync(...files: readonly FileHandle[]): Awaitable<void>;
  close(file: FileHandle): Awaitable<void>;
  rename(from: string, to: string): Awaitable<void>;
  /** Hard link; EEXIST when `to` exists: the one atomic "only if nobody else did". */
  link(from: string, to: string): Awaitable<void>;
  unlink(path: string): Awaitable<void>;
  /** One level, mode 0700; EEXIST if present. */
  mkdir(path: string): Awaitable<void>;
  rmdir(path: string): Awaitable<void>;
}

/** A process that can be told from a later one with the same pid. */
export interface ProcessIdentity {
  host: string;
  /** Changes at every boot of the host. */
  boot: string;
  pid: number;
  /** Start time of the process in the kernel's own unit; with pid and boot it is unique. */
  started: string;
}

export interface HeldLock {
  /** `aborted` once the lock is known to be lost; the commit protocol stays right all the same. */
  readonly lost: { readonly aborted: boolean };
  /** Gives the lock back if it is still ours; never fails. */
  release(): Awaitable<void>;
}

export interface Port {
  disk: Disk;
  /** Waits at most `waitMs`, then throws `LOCK_BUSY` (75) naming the holder. */
  lock(stateDirectory: string, waitMs: number): Promise<HeldLock>;
  /** Milliseconds since the epoch. */
  now(): number;
  /** `bytes` random bytes in lower-case hex. */
  random(bytes: number): string;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  self: ProcessIdentity;
  /** `alive`, `gone`, or `elsewhere` when another host or container owns the process and nothing can be seen. */
  liveness(process: ProcessIdentity): 'alive' | 'gone' | 'elsewhere';
  /** Login name for `by` fields. */
  user: string;
}
