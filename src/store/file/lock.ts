import * as fs from 'node:fs';
import { asEpisodeError, isErrno, ledgerDamaged, lockBusy } from '../../errors.ts';
import type { HeldLock, ProcessIdentity } from '../../port.ts';

/**
 * The pipeline lock: proper-lockfile on `state/lock`. It keeps order; that two writers never both commit is proved by
 * the numbered commit, because a stale takeover can leave two holders and a clock step can steal a living lock.
 */
export const LOCK_STALE_MS = 10_000;
const REFRESH_MS = 2_500;
const RETRY_MS = { least: 5, most: 200 };

interface LockContext {
  self: ProcessIdentity;
  liveness(process: ProcessIdentity): 'alive' | 'gone' | 'elsewhere';
  /** What waiting commands are told, e.g. `episode allocate`. */
  command: string;
}

interface Holder extends ProcessIdentity {
  format: 1;
  command: string;
  at: string;
  /** Of the lock directory: a note about an earlier holder says nothing about this one. */
  lock: string;
}

/** Waits at most `waitMs` with jitter, then throws `LOCK_BUSY` (75) naming the holder. */
export async function acquireLock(state: string, waitMs: number, context: LockContext): Promise<HeldLock> {
  const path = `${state}/lock`;
  const note = `${state}/lock.json`;
  const lost = { aborted: false };
  const own = { identity: null as string | null };
  const { lockSync } = await import('proper-lockfile');
  const started = performance.now();
  for (let pause = RETRY_MS.least; ; pause = Math.min(pause * 1.5, RETRY_MS.most)) {
    try {
      const release = lockSync(state, {
        lockfilePath: path,
        realpath: false,
        stale: LOCK_STALE_MS,
        update: REFRESH_MS,
        retries: 0,
        onCompromised: () => {
          lost.aborted = true;
        },
        fs: fsThatRemovesOnlyOurs(path, own),
      });
      own.identity = identityOf(path);
      writeNote(note, {
        format: 1,
        ...context.self,
        command: context.command,
        at: new Date().toISOString(),
        lock: own.identity ?? '',
      });
      return { lost, release: () => releaseQuietly(release, note, path, own) };
    } catch (error) {
      if (!isErrno(error, 'ELOCKED', 'ENOENT', 'ENOTEMPTY', 'ENOTDIR')) throw asEpisodeError(error, 'state/lock');
      if (isErrno(error, 'ENOENT') && !fs.existsSync(state)) throw asEpisodeError(error, 'state/lock');
      refuseWhatIsNoLock(path);
    }
    if (removeLockOfDead(path, note, context)) continue;
    const waited = performance.now() - started;
    if (waited >= waitMs) throw lockBusy(describe(noteOf(path, note)), waited);
    await sleep(Math.min(pause * (0.5 + Math.random()), waitMs - waited));
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Inode and birth time: an inode number alone is used again. `null` when there is no lock. */
function identityOf(path: string): string | null {
  const stat = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.ino}-${stat.birthtimeNs}` : null;
}

/** All that proper-lockfile calls when it works synchronously. It removes by path, at release and again when the process exits; a lock that was taken over must stay. */
function fsThatRemovesOnlyOurs(path: string, own: { identity: string | null }) {
  return {
    realpathSync: fs.realpathSync,
    statSync: fs.statSync,
    utimesSync: fs.utimesSync,
    // Under umask 000 a lock left behind would let anybody in.
    mkdirSync: (target: fs.PathLike) => fs.mkdirSync(target, 0o700),
    rmdirSync(target: fs.PathLike) {
      if (own.identity === null || identityOf(path) === own.identity) fs.rmdirSync(target);
    },
  };
}

/** Never fails: a lock that stays behind is stale in ten seconds. */
function releaseQuietly(release: () => void, note: string, path: string, own: { identity: string | null }): void {
  try {
    if (identityOf(path) === own.identity) fs.rmSync(note, { force: true });
    release();
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}

/**
 * A new file and a rename: a link planted at either name is replaced, not followed. Always the same name, so that what a
 * killed command leaves there goes with the next lock.
 */
function writeNote(note: string, holder: Holder): void {
  const temporary = `${note}.new`;
  try {
    removeQuietly(temporary);
    fs.writeFileSync(temporary, `${JSON.stringify(holder, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
    fs.renameSync(temporary, note);
  } catch (error) {
    // The note is a courtesy to those who wait; a disk that is full says so when the records are written.
    removeQuietly(temporary);
    if (!isErrno(error)) throw error;
  }
}

function removeQuietly(path: string): void {
  try {
    fs.rmSync(path, { force: true });
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}

/** A file or a link in the lock's place is never stale and never released. */
function refuseWhatIsNoLock(path: string): void {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (!stat || stat.isDirectory()) return;
  throw ledgerDamaged('state/lock', 'it is no directory, so no command of ours made it', 'mv state/lock ELSEWHERE');
}

/** What the holder of this very lock says of itself; what an earlier one left is about that one. */
function noteOf(path: string, note: string): Holder | null {
  const holder = readNote(note);
  return holder !== null && holder.lock !== '' && holder.lock === identityOf(path) ? holder : null;
}

function readNote(note: string): Holder | null {
  try {
    const holder = JSON.parse(fs.readFileSync(note, 'utf8')) as Partial<Holder>;
    const whole = typeof holder.pid === 'number' && typeof holder.host === 'string' && typeof holder.at === 'string';
    return whole ? (holder as Holder) : null;
  } catch (error) {
    if (error instanceof SyntaxError || isErrno(error)) return null;
    throw error;
  }
}

const describe = (holder: Holder | null) =>
  holder && {
    pid: holder.pid,
    host: holder.host,
    command: holder.command,
    ageSeconds: Math.max(0, Math.round((Date.now() - Date.parse(holder.at)) / 1000)),
  };

/** A command killed inside its transaction need not cost the next one ten seconds: its lock goes when it surely is dead. */
function removeLockOfDead(path: string, note: string, context: LockContext): boolean {
  const holder = noteOf(path, note);
  if (!holder || context.liveness(holder) !== 'gone') return false;
  try {
    fs.rmdirSync(path);
    return true;
  } catch (error) {
    if (isErrno(error)) return false;
    throw error;
  }
}
