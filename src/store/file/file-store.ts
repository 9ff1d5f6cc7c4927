import { statIn, sync } from '../../durable.ts';
import {
  afterTheLink,
  asEpisodeError,
  diskError,
  EpisodeError,
  isErrno,
  ledgerBusy,
  ledgerDamaged,
  lockLost,
} from '../../errors.ts';
import type { HeldLock, Port } from '../../port.ts';
import type { Store, Transaction, View } from '../store.ts';
import { whyNoLedger } from './absent.ts';
import { Changes } from './changes.ts';
import { directoryInPlace, publish, rollForward } from './commit.ts';
import { type Commit, commitNumbers, findHead, readCommit } from './commits.ts';
import { COMMITS, commitPath, STAGING } from './paths.ts';
import { Snapshot, Torn } from './snapshot.ts';

const LOCK_WAIT_MS = 30_000;
/** A writer without the lock can get in between; a hundred times in a row is no accident. */
const ROUNDS = 100;

/** The ledger of a show as files under `root`/state and `root`/history, by the protocol of docs/ledger.md. */
export function createFileStore(port: Port, root: string): Store {
  let queue: Promise<unknown> = Promise.resolve();

  return {
    transact<T>(decide: (transaction: Transaction) => Promise<T>): Promise<T> {
      const run = queue.then(() => underLock(port, root, decide));
      queue = run.catch(() => {});
      return run;
    },
    view: (read) => look(port, root, read, 'one instant'),
    browse: (read) => look(port, root, read, 'each document'),
    async salvage(read) {
      const damage = await damageOf(() => soundHead(port, root));
      if (damage) return read(new Snapshot(port, root, NO_HEAD), damage);
      return look(port, root, (view) => read(view, null), 'each document');
    },
    inspect: () => inspectCommits(port, root),
  };
}

async function underLock<T>(port: Port, root: string, decide: (transaction: Transaction) => Promise<T>): Promise<T> {
  await refuseToLeave(port, root);
  const lock = await port.lock(`${root}/state`, LOCK_WAIT_MS);
  const doubt = { since: null as number | null };
  try {
    return await rounds(port, root, lock, decide, doubt);
  } catch (error) {
    throw doubt.since !== null && error instanceof EpisodeError ? afterTheLink(error, 'maybe') : error;
  } finally {
    await lock.release();
  }
}

/** A link in the place of one of our directories would lead writes, and the tidying of old files, out of the show. */
async function refuseToLeave({ disk }: Port, root: string): Promise<void> {
  const commits = await statIn(disk, root, COMMITS);
  if (!commits) throw await whyNoLedger(disk, root);
  if (commits.type !== 'directory') throw ledgerDamaged(COMMITS, `it is a ${commits.type} and must be a directory`);
  try {
    // Empty, it is in no backup that keeps only files.
    if (await directoryInPlace(disk, root, STAGING)) await sync(disk, `${root}/state`);
  } catch (error) {
    throw asEpisodeError(error, STAGING);
  }
}

/** The head, or why there is none. */
async function presentHead(port: Port, root: string): Promise<Commit> {
  const head = await findHead(port, root);
  if (head) return head;
  const why = await whyNoLedger(port.disk, root);
  // An `init` may have ended between the two looks.
  const made = await findHead(port, root);
  if (made) return made;
  throw why;
}

/** Loaded when something is wrong: what allocates reads none of it. */
const whyTorn = async (port: Port, root: string, head: Commit, file: string): Promise<EpisodeError> =>
  (await import('./torn.ts')).whyTorn(port, root, head, file);

/** The head, if every document that it names is as it says. Throws `LEDGER_DAMAGED` (65) about the first that is not. */
async function soundHead(port: Port, root: string): Promise<Commit> {
  for (let attempt = 0; attempt < LOOKS; attempt += 1) {
    const head = await presentHead(port, root);
    const [torn] = await new Snapshot(port, root, head).torn();
    if (torn === undefined) return head;
    if (await isStill(port, root, head)) throw await whyTorn(port, root, head, torn);
  }
  throw ledgerBusy();
}

/** Steps 2 to 7, again from 2 whenever another writer got in between. */
async function rounds<T>(
  port: Port,
  root: string,
  lock: HeldLock,
  decide: (transaction: Transaction) => Promise<T>,
  doubt: { since: number | null },
): Promise<T> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const head = await headInPlace(port, root);
    if (!head) continue;
    const changes = new Changes(port, root, head);
    const decided = await settle(() => decide(changes));
    const written = changes.written;
    if ('error' in decided || written.size === 0) {
      if (!(await isStill(port, root, head))) continue;
      // True of the newest state, so no doubt is left: an earlier commit of ours would have been found in it.
      doubt.since = null;
      return await answerOf(port, root, head, decided);
    }
    if (lock.lost.aborted) throw lockLost();
    const published = await publish(port, root, head, written);
    if (published === 'done') return decided.value;
    if (published === 'in doubt') doubt.since = head.number;
  }
  throw ledgerBusy();
}

/** Step 2: the head, durable before anything is built on it, and its changes in place. `null`: it moved meanwhile. */
async function headInPlace(port: Port, root: string): Promise<Commit | null> {
  const head = await presentHead(port, root);
  const file = commitPath(head.number);
  try {
    await sync(port.disk, `${root}/${file}`, `${root}/${COMMITS}`);
    const torn = await rollForward(port.disk, root, head);
    if (torn === null) return head;
    if (await isStill(port, root, head)) throw await whyTorn(port, root, head, torn);
    return null;
  } catch (error) {
    // Tidied away between the listing and the fsync: there is a newer head.
    if (isErrno(error, 'ENOENT') && !(await isStill(port, root, head))) return null;
    throw asEpisodeError(error, file);
  }
}

const isStill = async (port: Port, root: string, head: Commit): Promise<boolean> => {
  const now = await findHead(port, root);
  return now?.number === head.number && now.tx === head.tx;
};

type Settled<T> = { value: T } | { error: unknown };

async function settle<T>(work: () => Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

async function answerOf<T>(port: Port, root: string, head: Commit, settled: Settled<T>): Promise<T> {
  if ('value' in settled) return settled.value;
  throw settled.error instanceof Torn ? await whyTorn(port, root, head, settled.error.file) : settled.error;
}

const LOOKS = 50;

async function look<T>(
  port: Port,
  root: string,
  read: (view: View) => Promise<T>,
  consistent: 'one instant' | 'each document',
): Promise<T> {
  for (let attempt = 0; attempt < LOOKS; attempt += 1) {
    const head = await presentHead(port, root);
    await syncWherePossible(port, `${root}/${COMMITS}`);
    const seen = await settle(() => read(new Snapshot(port, root, head)));
    const whole = consistent === 'each document' && !('error' in seen && seen.error instanceof Torn);
    if (whole || (await isStill(port, root, head))) return answerOf(port, root, head, seen);
  }
  throw ledgerBusy();
}

/** What a reader answers must not be undone by a power loss; on a read-only file system nothing can be undone. */
async function syncWherePossible(port: Port, directory: string): Promise<void> {
  try {
    await sync(port.disk, directory);
  } catch (error) {
    if (isErrno(error, 'EIO')) throw diskError(error, COMMITS);
    if (!isErrno(error)) throw error;
  }
}

/** Of a show whose newest transaction cannot be read: every document is where it was last put. */
const NO_HEAD: Commit = { format: 1, number: 0, tx: '', at: '1970-01-01T00:00:00.000Z', prev: null, changes: [] };

async function damageOf(look: () => Promise<unknown>): Promise<EpisodeError | null> {
  try {
    await look();
    return null;
  } catch (error) {
    if (error instanceof EpisodeError && error.exit === 65) return error;
    throw error;
  }
}

async function inspectCommits(port: Port, root: string): Promise<EpisodeError[]> {
  const numbers = (await commitNumbers(port, root)).sort((a, b) => a - b);
  const looks = [...numbers.map((number) => () => readCommit(port, root, number)), () => soundHead(port, root)];
  const found = new Map<string, EpisodeError>();
  for (const look of looks) {
    const damage = await damageOf(look);
    if (damage) found.set(damage.message, damage);
  }
  return [...found.values()];
}
