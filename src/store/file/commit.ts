import { discard, ensureDirectory, listIfThere, readIfThere, sync, unlinkIfThere, writeAllNew } from '../../durable.ts';
import { asEpisodeError, diskError, EpisodeError, isErrno, ledgerDamaged } from '../../errors.ts';
import { sha256 } from '../../fingerprint.ts';
import { readBytes } from '../../json/record.ts';
import { format } from '../../json/strict-json.ts';
import type { Ledger } from '../../model/ledger.ts';
import type { Disk, Port } from '../../port.ts';
import { decode, encode } from '../codec.ts';
import { ref } from '../store.ts';
import { whyNoLedger } from './absent.ts';
import { type Change, type Commit, commitNumbers, findHead, readCommit, stagedFile } from './commits.ts';
import { COMMITS, commitPath, directoryOf, STAGING, stagedNumber, stagedPath } from './paths.ts';

/** Commits that stay for late readers and writers. */
const KEPT = 64;

/**
 * Steps 4 to 7: makes `written` (target -> bytes, `null` removes) the transaction after `head`.
 * `lost`: somebody else took that number, nothing happened. `in doubt`: the number was taken and `head` is gone from
 * the list, so it may be a void commit of a late owner; the newest state tells.
 * Throws with "may have been recorded" once the number may exist, with "it is recorded" once it does.
 */
export async function publish(
  port: Port,
  root: string,
  head: Commit,
  written: ReadonlyMap<string, Buffer | null>,
): Promise<'done' | 'lost' | 'in doubt'> {
  const staged = await stage(port, root, head, written);
  const file = commitPath(staged.commit.number);
  try {
    await port.disk.link(`${root}/${staged.file}`, `${root}/${file}`);
  } catch (error) {
    // EEXIST: the number is taken. ENOENT: our staging was tidied away by a newer commit. Both mean it did not happen.
    if (!isErrno(error, 'EEXIST', 'ENOENT')) throw diskError(error, file, 'maybe');
    await discard(port.disk, staged.files);
    return 'lost';
  }
  try {
    if ((await readCommit(port, root, head.number))?.tx !== head.tx) return 'in doubt';
    await sync(port.disk, `${root}/${COMMITS}`);
  } catch (error) {
    throw asEpisodeError(error, file, 'maybe');
  }
  try {
    await rollForward(port.disk, root, staged.commit);
  } catch (error) {
    throw asEpisodeError(error, file, 'yes');
  }
  await tidy(port, root, staged.commit.number);
  return 'done';
}

interface Staged {
  commit: Commit;
  /** The commit itself, from the show's directory. */
  file: string;
  /** All that was written, absolute. */
  files: string[];
}

/** Step 4: every content and the commit itself, durable under names that are nobody's yet. */
async function stage(
  port: Port,
  root: string,
  head: Pick<Commit, 'number'> & { tx: string | null },
  written: ReadonlyMap<string, Buffer | null>,
): Promise<Staged> {
  const { disk } = port;
  const number = head.number + 1;
  const staged = new Map<string, Buffer>();
  const put = (bytes: Buffer): string => {
    const file = stagedPath(number, port.random(8));
    staged.set(`${root}/${file}`, bytes);
    return file;
  };
  const changes = [...written].map(([target, bytes]): Change => {
    const file = bytes && put(bytes).slice(STAGING.length + 1);
    return { target, staged: file, sha256: bytes && sha256(bytes) };
  });
  const at = new Date(port.now()).toISOString();
  const commit: Commit = { format: 1, number, tx: port.random(16), at, prev: head.tx, changes };
  const file = put(Buffer.from(format(commit)));
  const files = [...staged.keys()];
  try {
    await writeAllNew(disk, staged);
    // Before the commit, so that whoever finds it can rely on the directories it needs.
    const directories = new Set(changes.map(({ target }) => directoryOf(target)));
    for (const directory of directories) await directoryInPlace(disk, root, directory);
    const parents = new Set([...directories].map((directory) => parentOf(root, directory)));
    await sync(disk, ...parents, `${root}/${STAGING}`);
    return { commit, file, files };
  } catch (error) {
    await discard(disk, files);
    throw asEpisodeError(error, STAGING);
  }
}

/** The directory that holds the name of one of the show's. */
const parentOf = (root: string, directory: string): string =>
  directory.includes('/') ? `${root}/${directoryOf(directory)}` : root;

/** A link in the place of one of our directories would lead writes out of the show. */
export async function directoryInPlace(disk: Disk, root: string, directory: string): Promise<boolean> {
  const type = (await disk.lstat(`${root}/${directory}`))?.type;
  if (type === 'directory') return false;
  if (type !== undefined) throw ledgerDamaged(directory, `it is a ${type} and must be a directory`);
  return (await ensureDirectory(disk, `${root}/${directory}`)) || (await directoryInPlace(disk, root, directory));
}

/**
 * Puts the changes of a commit in place, whoever made it and however often. `null` when all are; else the first target
 * that is something else: the head moved on, or it is damage.
 */
export async function rollForward(disk: Disk, root: string, commit: Commit): Promise<string | null> {
  const directories = new Set<string>();
  for (const change of commit.changes) {
    const directory = directoryOf(change.target);
    if (!directories.has(directory) && (await directoryInPlace(disk, root, directory))) {
      await sync(disk, parentOf(root, directory));
    }
    directories.add(directory);
    if (!(await place(disk, root, change))) return change.target;
  }
  // Also when all was in place: whoever placed it may have died before this.
  await sync(disk, ...[...directories, STAGING].map((directory) => `${root}/${directory}`));
  return null;
}

async function place(disk: Disk, root: string, change: Change): Promise<boolean> {
  const target = `${root}/${change.target}`;
  const staged = stagedFile(change);
  if (staged === null) {
    await unlinkIfThere(disk, target);
    return true;
  }
  try {
    await disk.rename(`${root}/${staged}`, target);
    // A power loss may leave both names of one file, and rename(2) then does nothing: a late owner must not find the
    // staged one and put it over something newer.
    await unlinkIfThere(disk, `${root}/${staged}`);
    return true;
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
    const bytes = await readIfThere(disk, target);
    return bytes !== undefined && sha256(bytes) === change.sha256;
  }
}

/** Step 7. In ascending order and stopping at the first failure: a gap below the head would look like damage. */
async function tidy(port: Port, root: string, number: number): Promise<void> {
  const { disk } = port;
  try {
    const old = (await commitNumbers(port, root)).filter((other) => other <= number - KEPT).sort((a, b) => a - b);
    for (const other of old) await unlinkIfThere(disk, `${root}/${commitPath(other)}`);
    for (const name of await listIfThere(disk, `${root}/${STAGING}`)) {
      const stagedFor = stagedNumber(name);
      if (stagedFor !== null && stagedFor <= number) await unlinkIfThere(disk, `${root}/${STAGING}/${name}`);
    }
  } catch (error) {
    if (!isErrno(error) && !(error instanceof EpisodeError)) throw error;
  }
}

/** Why no ledger may be made here: `ALREADY_INITIALISED` (73), or what lies there without one (65); else `null`. */
export async function whyNoNewLedger(port: Port, root: string): Promise<EpisodeError | null> {
  if (await findHead(port, root)) return alreadyInitialised(root);
  const why = await whyNoLedger(port.disk, root);
  if (why.code === 'NOT_INITIALISED') return null;
  // Records without a commit a moment ago: another `init` may have been at work between the two looks.
  return (await findHead(port, root)) ? alreadyInitialised(root) : why;
}

/**
 * Makes the ledger of a show that has none: commit 0 with `state/ledger.json`. Of several at once exactly one makes it.
 * Throws `ALREADY_INITIALISED` (73) when there is one; what an earlier, cut off `init` left is used.
 */
export async function initialiseFileStore(port: Port, root: string, ledger: Ledger): Promise<void> {
  const { disk } = port;
  let staged: Staged;
  if (await findHead(port, root)) throw alreadyInitialised(root);
  try {
    for (const directory of ['state', COMMITS, STAGING, 'state/keys', 'history', 'episodes']) {
      await directoryInPlace(disk, root, directory);
    }
    // Each name made above lasts only after its own directory is synced: a power loss could keep commits/ and lose staging/.
    await sync(disk, root, `${root}/state`);
    staged = await stage(port, root, { number: -1, tx: null }, new Map([['state/ledger.json', encode(ledger)]]));
  } catch (error) {
    throw asEpisodeError(error, 'state');
  }
  try {
    await disk.link(`${root}/${staged.file}`, `${root}/${commitPath(0)}`);
  } catch (error) {
    if (!isErrno(error, 'EEXIST', 'ENOENT')) throw diskError(error, commitPath(0), 'maybe');
    await discard(disk, staged.files);
    throw alreadyInitialised(root);
  }
  try {
    await sync(disk, `${root}/${COMMITS}`);
    // Number 0 of a ledger that has grown is long tidied, so its name was free for a late `init`: that one is void.
    const head = await findHead(port, root);
    if (head?.number === 0 && head.tx === staged.commit.tx) await rollForward(disk, root, staged.commit);
    else if (!(await isRecorded(disk, root, ledger))) throw alreadyInitialised(root);
    await tidy(port, root, 0);
  } catch (error) {
    throw asEpisodeError(error, commitPath(0), 'yes');
  }
}

async function isRecorded(disk: Disk, root: string, { ledger_id }: Ledger): Promise<boolean> {
  const file = 'state/ledger.json';
  const bytes = await readBytes(disk, `${root}/${file}`, file);
  return bytes !== undefined && (await decode(ref('ledger', ''), bytes, file)).ledger_id === ledger_id;
}

const alreadyInitialised = (root: string): EpisodeError =>
  new EpisodeError('ALREADY_INITIALISED', `${root} already has a ledger`, {
    subject: 'state/ledger.json',
    hints: ['episode list'],
  });
