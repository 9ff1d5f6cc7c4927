import { createHash } from 'node:crypto';
import { isErrno } from '../../src/errors.ts';
import type { Port } from '../../src/port.ts';

/**
 * The commit protocol of the ledger in its smallest form, with one rule at a time left out on request. It is here
 * to prove the simulator: each missing rule must be found, and nothing must be found when none is missing.
 */
export const BUGS = [
  'staged files are not fsynced',
  'the staging directory is not fsynced',
  'a commit is not fsynced before it is acknowledged',
  'a head is not fsynced before it is built upon',
  'target directories are not fsynced',
  'the parent of a new directory is not fsynced',
  'the commit is a rename',
  'the predecessor is not compared after the link',
  'a commit in doubt is withdrawn',
  'staging is cleaned up after a failed link',
  'staging of others is tidied away',
  'commits are tidied in descending order',
  'an answer is given without looking at the head again',
  'a short write goes unnoticed',
] as const;
export type Bug = (typeof BUGS)[number];

interface Commit {
  number: number;
  tx: string;
  prev: string | null;
  changes: { target: string; staged: string; sha256: string }[];
}

type Documents = Map<string, unknown>;

/** A record that contradicts another one. No history leads there when every rule is kept. */
export class Damaged extends Error {}

/** Nothing was recorded, or maybe it was: the same call later is safe. */
export class TryAgain extends Error {}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const numberOf = (name: string): number => Number(name.split(/[.-]/)[0]);

export class ToyLedger {
  readonly #disk: Port['disk'];
  readonly #commits: string;
  readonly #staging: string;

  constructor(
    private readonly port: Port,
    private readonly root: string,
    private readonly kept: number,
    private readonly bug?: Bug,
  ) {
    this.#disk = port.disk;
    this.#commits = `${root}/commits`;
    this.#staging = `${root}/staging`;
  }

  async init(): Promise<void> {
    for (const path of [this.root, this.#commits, this.#staging]) await this.#disk.mkdir(path);
    const commit: Commit = { number: 0, tx: this.port.random(8), prev: null, changes: [] };
    await this.#write(this.#commit(0), JSON.stringify(commit));
    for (const path of [this.#commits, this.root, '/']) await this.#fsync(path);
  }

  /** The number of `key`: the same for ever, and no other key's. */
  async allocate(key: string): Promise<number> {
    const lock = await this.port.lock(this.root, 30_000);
    try {
      for (let round = 0; round < 30; round++) {
        const answer = await this.#attempt(key);
        if (answer !== undefined) return answer;
      }
    } catch (error) {
      if (isErrno(error)) throw new TryAgain('disk trouble', { cause: error });
      throw error;
    } finally {
      await lock.release();
    }
    throw new TryAgain('the head kept moving');
  }

  /** One try; `undefined` when somebody else was first, or may have been. */
  async #attempt(key: string): Promise<number | undefined> {
    const head = await this.#head();
    if (!head || !(await this.#apply(head, 'a head is not fsynced before it is built upon'))) return undefined;
    const decided = await this.#decide(key).catch((error) => {
      if (error instanceof Damaged) return error;
      throw error;
    });
    if (decided instanceof Damaged || !decided.documents) {
      const looksAgain = this.bug !== 'an answer is given without looking at the head again';
      if (looksAgain && (await this.#head())?.tx !== head.tx) return undefined;
      if (decided instanceof Damaged) throw decided;
      return decided.number;
    }
    const commit = await this.#commitOn(head, decided.documents);
    if (!commit) return undefined;
    await this.#apply(commit, 'a commit is not fsynced before it is acknowledged');
    await this.#tidy(commit.number).catch(() => undefined);
    return decided.number;
  }

  async #decide(key: string): Promise<{ number: number; documents?: Documents }> {
    const found = await this.#read<{ number: number }>(`keys/${key}`);
    const week = (await this.#read<{ keys: string[] }>('weeks/w')) ?? { keys: [] };
    if ((found?.number ?? -1) !== week.keys.indexOf(key)) throw new Damaged(`${key} has two numbers`);
    if (found) return { number: found.number };
    const documents: Documents = new Map<string, unknown>([
      [`keys/${key}`, { number: week.keys.length }],
      ['weeks/w', { keys: [...week.keys, key] }],
    ]);
    return { number: week.keys.length, documents };
  }

  async #head(): Promise<Commit | undefined> {
    for (let round = 0; round < 20; round++) {
      const number = Math.max(...(await this.#disk.readdir(this.#commits)).map(numberOf));
      const head = await this.#readCommit(number);
      if (head && (number === 0 || head.prev === (await this.#readCommit(number - 1))?.tx)) return head;
    }
    return undefined;
  }

  /** Makes a commit durable, then carries it out; false when a later one has overtaken it. */
  async #apply(commit: Commit, withoutFsync: Bug): Promise<boolean> {
    if (this.bug !== withoutFsync) {
      await this.#fsync(this.#commit(commit.number));
      await this.#fsync(this.#commits);
    }
    const directories = new Set<string>();
    for (const change of commit.changes) {
      const target = `${this.root}/${change.target}`;
      directories.add(await this.#makeDirectoryOf(target));
      try {
        await this.#disk.rename(`${this.#staging}/${change.staged}`, target);
      } catch (error) {
        if (!isErrno(error, 'ENOENT')) throw error;
        const bytes = await this.#readBytes(target);
        if (bytes && sha256(bytes) === change.sha256) continue;
        if ((await this.#head())?.tx !== commit.tx) return false;
        throw new Damaged(`${change.target} of commit ${commit.number} is lost`);
      }
    }
    if (this.bug !== 'target directories are not fsynced') {
      for (const directory of directories) await this.#fsync(directory);
      await this.#fsync(this.#staging);
    }
    return true;
  }

  /** `undefined` when somebody else has that number, or when it is in doubt whose it is. */
  async #commitOn(head: Commit, documents: Documents): Promise<Commit | undefined> {
    const number = head.number + 1;
    const name = () => `${number}-${this.port.random(8)}`;
    const commit: Commit = { number, tx: this.port.random(8), prev: head.tx, changes: [] };
    const staged: string[] = [];
    const stage = async (text: string): Promise<string> => {
      staged.push(name());
      await this.#write(`${this.#staging}/${staged.at(-1)}`, text);
      return staged.at(-1)!;
    };
    let own: string;
    try {
      for (const [target, value] of documents) {
        const text = JSON.stringify(value);
        await this.#makeDirectoryOf(`${this.root}/${target}`);
        commit.changes.push({ target, staged: await stage(text), sha256: sha256(Buffer.from(text)) });
      }
      own = await stage(JSON.stringify(commit));
      if (this.bug !== 'the staging directory is not fsynced') await this.#fsync(this.#staging);
    } catch (error) {
      await this.#discard(staged).catch(() => undefined);
      throw error;
    }
    try {
      if (this.bug === 'the commit is a rename')
        await this.#disk.rename(`${this.#staging}/${own}`, this.#commit(number));
      else await this.#disk.link(`${this.#staging}/${own}`, this.#commit(number));
    } catch (error) {
      const didNotHappen = isErrno(error, 'EEXIST', 'ENOENT');
      if (didNotHappen || this.bug === 'staging is cleaned up after a failed link') await this.#discard(staged);
      if (didNotHappen) return undefined;
      throw error;
    }
    const inDoubt = (await this.#readCommit(head.number))?.tx !== head.tx;
    if (inDoubt && this.bug !== 'the predecessor is not compared after the link') {
      if (this.bug === 'a commit in doubt is withdrawn') await this.#disk.unlink(this.#commit(number));
      return undefined;
    }
    return commit;
  }

  async #tidy(own: number): Promise<void> {
    const old = (await this.#disk.readdir(this.#commits)).map(numberOf).filter((number) => number <= own - this.kept);
    old.sort((a, b) => a - b);
    if (this.bug === 'commits are tidied in descending order') old.reverse();
    for (const number of old) await this.#unlink(this.#commit(number));
    const isMine = (name: string) => numberOf(name) <= own || this.bug === 'staging of others is tidied away';
    await this.#discard((await this.#disk.readdir(this.#staging)).filter(isMine));
  }

  async #discard(staged: readonly string[]): Promise<void> {
    for (const name of staged) await this.#unlink(`${this.#staging}/${name}`);
  }

  #commit(number: number): string {
    return `${this.#commits}/${number}`;
  }

  async #readCommit(number: number): Promise<Commit | undefined> {
    const bytes = await this.#readBytes(this.#commit(number));
    return bytes && parse<Commit>(bytes, `commit ${number}`);
  }

  async #read<T>(target: string): Promise<T | undefined> {
    const bytes = await this.#readBytes(`${this.root}/${target}`);
    return bytes && parse<T>(bytes, target);
  }

  async #readBytes(path: string): Promise<Buffer | undefined> {
    try {
      return await this.#disk.readFile(path);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  async #write(path: string, text: string): Promise<void> {
    const file = await this.#disk.open(path, 'create');
    try {
      const written = await this.#disk.write(file, Buffer.from(text));
      if (written < Buffer.byteLength(text) && this.bug !== 'a short write goes unnoticed') {
        throw Object.assign(new Error(`short write to ${path}`), { code: 'EIO' });
      }
      if (this.bug !== 'staged files are not fsynced') await this.#disk.fsync(file);
    } finally {
      await this.#disk.close(file);
    }
  }

  async #fsync(path: string): Promise<void> {
    const file = await this.#disk.open(path, 'read');
    try {
      await this.#disk.fsync(file);
    } finally {
      await this.#disk.close(file);
    }
  }

  /** The directory of `target`, there for good. */
  async #makeDirectoryOf(target: string): Promise<string> {
    const directory = target.slice(0, target.lastIndexOf('/'));
    try {
      await this.#disk.mkdir(directory);
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
    }
    if (this.bug !== 'the parent of a new directory is not fsynced') await this.#fsync(this.root);
    return directory;
  }

  async #unlink(path: string): Promise<void> {
    try {
      await this.#disk.unlink(path);
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
    }
  }
}

function parse<T>(bytes: Buffer, name: string): T {
  try {
    return JSON.parse(bytes.toString());
  } catch (cause) {
    throw new Damaged(`${name} does not parse`, { cause });
  }
}
