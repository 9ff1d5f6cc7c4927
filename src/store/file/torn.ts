import { EpisodeError, ledgerDamaged, restoring } from '../../errors.ts';
import { sha256 } from '../../fingerprint.ts';
import { readBytes } from '../../json/record.ts';
import type { Port } from '../../port.ts';
import { decode } from '../codec.ts';
import { type Ref, ref } from '../store.ts';
import { type Commit, commitNumbers, readCommit } from './commits.ts';
import { commitPath, pathOf, refOf } from './paths.ts';

/**
 * What is really wrong when the document at `file` is not as the head left it: the document, or the head, because a
 * newer commit is missing. Which of the two is known by the hashes of older commits and by the times in the records.
 */
export async function whyTorn(port: Port, root: string, head: Commit, file: string): Promise<EpisodeError> {
  const bytes = await readBytes(port.disk, `${root}/${file}`, file);
  const wrong = (fault: string): EpisodeError => ledgerDamaged(file, fault, restoring(file));
  const headFile = commitPath(head.number);
  if (!bytes) return wrong(`it is missing, and ${headFile} wrote it`);
  const older = await whoLeft(port, root, head, { file, hash: sha256(bytes) });
  if (older !== null) return wrong(`it is as ${commitPath(older)} left it, and ${headFile} changed it`);
  const next = commitPath(head.number + 1);
  const changedAt = await lastChange(port, root, refOf(file));
  if (changedAt === null) return wrong('it is not what the newest commit says');
  if (Date.parse(changedAt) <= Date.parse(head.at))
    return wrong(`it is not as ${headFile} left it: it was changed by hand, or ${next} is missing`);
  const newest = `the newest commit that is there, ${headFile}, is of ${head.at}`;
  return ledgerDamaged(next, `it is missing: ${file} was changed at ${changedAt}, and ${newest}`, restoring(next));
}

/** Number of the transaction before `head` that left these bytes, as far back as commits are kept. */
async function whoLeft(
  port: Port,
  root: string,
  head: Commit,
  { file, hash }: { file: string; hash: string },
): Promise<number | null> {
  const numbers = (await commitNumbers(port, root)).filter((number) => number < head.number).sort((a, b) => b - a);
  for (const number of numbers) {
    const commit = await orNull(() => readCommit(port, root, number));
    if (commit?.changes.some((change) => change.target === file && change.sha256 === hash)) return number;
  }
  return null;
}

/** The last time that a document tells of itself or of what it lists; `null` when it is no document any more. */
async function lastChange(port: Port, root: string, name: Ref | null): Promise<string | null> {
  const get = async <K extends Ref['kind']>(one: Ref<K>) => {
    const file = pathOf(one);
    return orNull(async () => {
      const bytes = await readBytes(port.disk, `${root}/${file}`, file);
      return bytes && decode(one, bytes, file);
    });
  };
  switch (name?.kind) {
    case undefined:
      return null;
    case 'episode':
      return latest((await get(ref('episode', name.id)))?.events.map(({ at }) => at));
    case 'key':
      return latest([(await get(ref('key', name.id)))?.created_at]);
    case 'history':
      return latest((await get(ref('history', name.id)))?.episodes.map((record) => record.completed_at));
    case 'week': {
      const week = await get(ref('week', name.id));
      return week ? latest(await allocations(Object.keys(week.episodes))) : null;
    }
    case 'ledger': {
      const ledger = await get(ref('ledger', ''));
      const weeks = await Promise.all((ledger?.weeks ?? []).map((week) => get(ref('week', week))));
      return ledger
        ? latest([
            ledger.created_at,
            ...(await allocations(weeks.flatMap((week) => Object.keys(week?.episodes ?? {})))),
          ])
        : null;
    }
  }

  async function allocations(ids: readonly string[]): Promise<(string | undefined)[]> {
    return Promise.all(ids.map(async (id) => (await get(ref('episode', id)))?.allocation.allocated_at));
  }
}

function latest(times: readonly (string | undefined)[] = []): string | null {
  const known = times.filter((time) => time !== undefined);
  return known.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1) ?? null;
}

/** What cannot be read says nothing about the rest. */
async function orNull<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof EpisodeError) return null;
    throw error;
  }
}
