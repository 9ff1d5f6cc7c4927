import type { Random } from './random.ts';

/**
 * What a disk holds, in two states at once: what every process sees, and what a power loss cannot take.
 *
 * A file keeps the bytes it had at its last fsync. A directory keeps the names it had at its last fsync; each
 * operation since then is one pending `Change` that survives whole or not at all, and never without what it `needs`.
 */
export type Inode = FileInode | DirectoryInode;

/** `reordered`: any pending changes may survive (POSIX). `ordered`: per directory the oldest ones (a journal). */
export type Order = 'ordered' | 'reordered';

export interface Change {
  names: readonly (readonly [name: string, inode: Inode | undefined])[];
  needs: readonly Change[];
  durable: boolean;
}

abstract class Born {
  mtimeMs: number;

  constructor(
    readonly ino: number,
    readonly bornMs: number,
  ) {
    this.mtimeMs = bornMs;
  }
}

export class FileInode extends Born {
  readonly type = 'file';
  bytes: Buffer = Buffer.alloc(0);
  #durableLength = 0;
  #spoiled = false;

  append(bytes: Uint8Array, nowMs: number): void {
    this.bytes = Buffer.concat([this.bytes, bytes]);
    this.mtimeMs = nowMs;
  }

  fsync(): void {
    if (!this.#spoiled) this.#durableLength = this.bytes.length;
  }

  /** A failed fsync: Linux then calls the pages clean, so that a later fsync answers "fine" and saves nothing. */
  failFsync(): void {
    if (this.#durableLength < this.bytes.length) this.#spoiled = true;
  }

  powerLoss(random: Random): void {
    const safe = this.#durableLength;
    const unsafe = this.bytes.length - safe;
    if (unsafe > 0) {
      const written = this.bytes.subarray(0, safe + random.pick([0, random.int(unsafe), unsafe]));
      // A longer size can reach the disk before the bytes do: the rest then reads as NUL.
      const size = random.chance(0.3) ? this.bytes.length : written.length;
      this.bytes = Buffer.concat([written], size);
    }
    this.#durableLength = this.bytes.length;
    this.#spoiled = false;
  }
}

export class DirectoryInode extends Born {
  readonly type = 'directory';
  names = new Map<string, Inode>();
  #durable = new Map<string, Inode>();
  #pending: Change[] = [];

  constructor(
    ino: number,
    bornMs: number,
    readonly order: Order,
  ) {
    super(ino, bornMs);
  }

  change(names: Change['names'], nowMs: number, needs: readonly Change[] = []): Change {
    const previous = this.#pending.at(-1);
    const change = {
      names,
      needs: this.order === 'ordered' && previous ? [...needs, previous] : needs,
      durable: false,
    };
    apply(change, this.names);
    this.#pending.push(change);
    this.mtimeMs = nowMs;
    return change;
  }

  get pending(): readonly Change[] {
    return this.#pending;
  }

  fsync(): void {
    this.#pending.forEach(makeDurable);
    this.#pending = [];
    this.#durable = new Map(this.names);
  }

  /** Every inode that a name may lead to after a power loss. */
  *candidates(): Iterable<Inode> {
    yield* this.#durable.values();
    for (const change of this.#pending) for (const [, inode] of change.names) if (inode) yield inode;
  }

  powerLoss(survives: (change: Change) => boolean): void {
    for (const change of this.#pending) if (survives(change)) apply(change, this.#durable);
    this.#pending = [];
    this.names = new Map(this.#durable);
  }
}

function apply(change: Change, names: Map<string, Inode>): void {
  for (const [name, inode] of change.names) {
    if (inode) names.set(name, inode);
    else names.delete(name);
  }
}

function makeDurable(change: Change): void {
  if (change.durable) return;
  change.durable = true;
  change.needs.forEach(makeDurable);
  change.needs = [];
}

/** Turns everything under `root` into what one power loss, chosen by `random`, left of it. */
export function losePower(root: DirectoryInode, random: Random): void {
  const wanted = new Set<Change>();
  const survives = (change: Change): boolean => {
    if (!change.durable && wanted.has(change) && change.needs.every(survives)) change.durable = true;
    return change.durable;
  };
  const inodes = new Set<Inode>([root]);
  // A set is walked in order of insertion, what is added on the way included.
  for (const inode of inodes) {
    if (inode.type === 'file') continue;
    for (const change of chooseSome(inode, random)) wanted.add(change);
    for (const below of inode.candidates()) inodes.add(below);
  }
  for (const inode of inodes) {
    if (inode.type === 'file') inode.powerLoss(random);
    else inode.powerLoss(survives);
  }
}

function chooseSome({ pending, order }: DirectoryInode, random: Random): readonly Change[] {
  if (order === 'ordered') return pending.slice(0, random.int(pending.length + 1));
  const share = random.pick([0, 0.5, 1]);
  return pending.filter(() => random.chance(share));
}
