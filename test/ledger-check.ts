import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Episode, History } from '../src/model/episode.ts';
import type { Key, Ledger, Week } from '../src/model/ledger.ts';
import { deriveStatus } from '../src/model/status.ts';

/**
 * Looks at a whole ledger as a stranger would, with no code of the store: every file parses and is what the newest commit
 * says; index, episodes and keys are one bijection without a gap; history names only what is complete; what is stored as
 * derived is what follows; nobody else can read it, and nothing else lies there. Returns what is wrong, one line each.
 */
export function checkLedger(root: string, { interrupted = false } = {}): string[] {
  const wrong: string[] = [];
  const files = walk(root, wrong);
  const staged = [...files.keys()].filter((file) => /^state\/staging\/\d+-[0-9a-f]+\.json$/.test(file));
  const commit = newestCommit(files, wrong);
  if (!interrupted) wrong.push(...staged.map((file) => `${file} was left behind`));
  if (!interrupted && existsSync(join(root, 'state/lock'))) wrong.push('state/lock was left behind');

  // What readers see: a document that the newest commit names is in staging until somebody puts it in place.
  const documents = new Map(files);
  for (const { target, staged, sha256 } of commit.changes) {
    const waiting = interrupted && staged !== null ? files.get(`state/staging/${staged}`) : undefined;
    const text = waiting ?? files.get(target);
    if (text === undefined) wrong.push(`${target} is in the newest commit and not there`);
    else if (hash(text) !== sha256) wrong.push(`${target} is not what the newest commit says`);
    else documents.set(target, text);
  }
  const read = <T>(file: string): T | undefined => {
    const text = documents.get(file);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  };
  const ledger = read<Ledger>('state/ledger.json');
  if (!ledger) return [...wrong, 'state/ledger.json is missing'];

  const named = (pattern: RegExp): string[] => [...documents.keys()].flatMap((file) => pattern.exec(file)?.[1] ?? []);
  const weeks = named(/^state\/(\d{4}-W\d\d)\/week\.json$/);
  wrong.push(...difference('the weeks of the ledger', ledger.weeks, 'state/', weeks));
  const indexed = new Map<string, string>();
  for (const week of weeks) {
    const { highest, episodes } = read<Week>(`state/${week}/week.json`)!;
    const sequences = Object.keys(episodes).map((id) => id.slice(week.length + 1));
    const expected = Array.from({ length: highest + 1 }, (_, sequence) => `${sequence}`);
    if (sequences.sort(byNumber).join() !== expected.join())
      wrong.push(`${week} has the sequences ${sequences.join()} and calls ${highest} its highest`);
    for (const [id, key] of Object.entries(episodes)) indexed.set(id, key);
  }
  const episodes = named(/^state\/\d{4}-W\d\d\/(\d{4}-W\d\d-\d+)\.json$/);
  const keys = named(/^state\/keys\/([0-9a-f]{64})\.json$/);
  wrong.push(...difference('episode files', episodes, 'the indexes', [...indexed.keys()]));
  wrong.push(...difference('key files', keys, 'the keys of the indexes', [...indexed.values()]));
  if (new Set(indexed.values()).size < indexed.size) wrong.push('one key made several episodes');

  for (const key of keys) {
    const { show, source, key: name, episode_id } = read<Key>(`state/keys/${key}.json`)!;
    if (hash(JSON.stringify({ key: name, show, source })) !== key)
      wrong.push(`state/keys/${key}.json is not of its key`);
    if (show !== ledger.show) wrong.push(`state/keys/${key}.json is of another show`);
    if (indexed.get(episode_id) !== key) wrong.push(`key ${name} says ${episode_id}, and the index does not`);
  }
  for (const id of episodes) {
    const episode = read<Episode>(`state/${id.slice(0, 8)}/${id}.json`)!;
    const key = read<Key>(`state/keys/${indexed.get(id)}.json`);
    if (episode.episode_id !== id || `${episode.week_id}-${episode.sequence}` !== id)
      wrong.push(`${id} says it is ${episode.episode_id}`);
    if (episode.allocation_key !== key?.key) wrong.push(`${id} says it is of ${episode.allocation_key}`);
    if (episode.status !== deriveStatus(episode)) wrong.push(`${id} is stored as ${episode.status}`);
  }
  for (const week of named(/^history\/(\d{4}-W\d\d)\.json$/)) {
    for (const { episode_id } of read<History>(`history/${week}.json`)!.episodes) {
      const episode = read<Episode>(`state/${week}/${episode_id}.json`);
      // A take may be rejected afterwards: that it was complete stays true.
      if (!episode?.completed_at) wrong.push(`history/${week}.json holds ${episode_id}, which never was complete`);
    }
  }
  return wrong;
}

interface Commit {
  number: number;
  tx: string;
  prev: string | null;
  changes: { target: string; staged: string | null; sha256: string }[];
}

function newestCommit(files: Map<string, string>, wrong: string[]): Commit {
  const numbers = [...files.keys()].flatMap((file) => /^state\/commits\/(\d{9})\.json$/.exec(file)?.[1] ?? []).sort();
  const read = (number: string | undefined): Commit | undefined => {
    const text = number === undefined ? undefined : files.get(`state/commits/${number}.json`);
    return text === undefined ? undefined : JSON.parse(text);
  };
  const newest = read(numbers.at(-1));
  if (!newest) throw new Error('there is no commit');
  if (newest.number !== Number(numbers.at(-1))) wrong.push(`commit ${numbers.at(-1)} says it is ${newest.number}`);
  if (newest.number > 0 && read(numbers.at(-2))?.tx !== newest.prev) wrong.push('the newest commit follows no commit');
  return newest;
}

const OURS =
  /^(state\/(ledger|lock|commits\/\d{9}|staging\/\d+-[0-9a-f]+|keys\/[0-9a-f]{64}|\d{4}-W\d\d\/(week|\d{4}-W\d\d-\d+))|history\/\d{4}-W\d\d)\.json$/;

/** Every record below `state/` and `history/`, as text by its path; a lock that is held is no record. */
function walk(root: string, wrong: string[]): Map<string, string> {
  const files = new Map<string, string>();
  const visit = (directory: string): void => {
    if ((lstatSync(directory).mode & 0o777) !== 0o700) wrong.push(`${relative(root, directory)} is not ours alone`);
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      const file = relative(root, path);
      const stat = lstatSync(path);
      if (stat.isDirectory()) {
        visit(path);
        continue;
      }
      if (!stat.isFile() || !OURS.test(file)) wrong.push(`${file} is nobody's`);
      if ((stat.mode & 0o777) !== 0o600) wrong.push(`${file} is not ours alone`);
      const text = readFileSync(path, 'utf8');
      // What was being staged when its writer died is nobody's record.
      if (!parses(text) && !file.startsWith('state/staging/')) wrong.push(`${file} is not JSON as we write it`);
      else if (file !== 'state/lock.json') files.set(file, text);
    }
  };
  visit(join(root, 'state'));
  visit(join(root, 'history'));
  return files;
}

function parses(text: string): boolean {
  try {
    return `${JSON.stringify(JSON.parse(text), null, 2)}\n` === text;
  } catch {
    return false;
  }
}

function difference(what: string, some: string[], other: string, others: string[]): string[] {
  const missing = (from: string[], those: string[]) => those.filter((one) => !from.includes(one));
  return [
    ...missing(others, some).map((one) => `${one} is among ${what} and not in ${other}`),
    ...missing(some, others).map((one) => `${one} is in ${other} and not among ${what}`),
  ];
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

const byNumber = (a: string, b: string): number => Number(a) - Number(b);
