import {
  EpisodeError,
  keyOnSeveralEpisodes,
  ledgerIncomplete,
  restoring,
  restoringWeek,
  strayFound,
} from './errors.ts';
import type { Episode } from './model/episode.ts';
import { weekOfEpisode } from './model/episode-id.ts';
import type { Key, Ledger, Week } from './model/ledger.ts';
import { type Kind, type Ref, ref, type View } from './store/store.ts';

/**
 * What must agree in a ledger before it is believed: a part that was lost or restored alone must not look like news.
 * Verbs stop at the first fault of what they depend on; `doctor` asks the same functions and lists them all.
 */

/**
 * The episode of a key on record, after making sure that the index of its week and that record both answer to it.
 * Throws `LEDGER_INCOMPLETE` naming the file that is missing or differs, `KEY_ON_SEVERAL_EPISODES` (65).
 */
export async function readKeyed(view: View, hash: string, key: Key): Promise<Episode> {
  const index = await getRecorded(view, ref('week', key.week_id), key);
  const episode = await getRecorded(view, ref('episode', key.episode_id), key);
  const having = Object.keys(index.episodes).filter((episodeId) => index.episodes[episodeId] === hash);
  if (having.length > 1) throw keyOnSeveralEpisodes(key.key, index.week_id, having);
  const keyFile = view.nameOf(ref('key', hash));
  const said = `${keyFile} says that key "${key.key}" made ${key.episode_id}`;
  const unlike = (file: string, otherwise: string): EpisodeError =>
    ledgerIncomplete(file, `${said}, and ${file} ${otherwise}`, restoring(file), restoring(keyFile));
  if (having[0] !== key.episode_id) throw unlike(view.nameOf(ref('week', key.week_id)), 'does not');
  if (episode.allocation_key !== key.key)
    throw unlike(view.nameOf(ref('episode', key.episode_id)), `says it was "${episode.allocation_key}"`);
  return episode;
}

async function getRecorded<K extends Kind>(view: View, name: Ref<K>, { key, episode_id }: Key) {
  const document = await view.get(name);
  if (document) return document;
  throw missing(view, name, `key "${key}" made ${episode_id}`);
}

function missing(view: View, name: Ref, why?: string): EpisodeError {
  const file = view.nameOf(name);
  // Where an index is lost, the records beside it often are too, and those that are not may be newer than a backup.
  const hints = name.kind === 'week' ? [restoringWeek(name.id)] : [];
  return ledgerIncomplete(file, `${file} is missing${why === undefined ? '' : `: ${why}`}`, ...hints);
}

/** An index that knows a key whose own record is lost; `key` is its text. */
export async function whyKeyLost(view: View, index: Week, hash: string, key: string): Promise<EpisodeError | null> {
  const made = Object.keys(index.episodes).find((episodeId) => index.episodes[episodeId] === hash);
  if (made === undefined || (await view.get(ref('key', hash)))) return null;
  return missing(view, ref('key', hash), `key "${key}" made ${made}`);
}

/** Throws `LEDGER_INCOMPLETE` when any week knows the key of this hash and its record is lost. Reads every index. */
export async function refuseLostKey(view: View, ledger: Ledger, hash: string, key: string): Promise<void> {
  for (const weekId of ledger.weeks) {
    const index = await view.get(ref('week', weekId));
    const lost = whyForgotten(view, ledger, weekId, index) ?? (await whyKeyLost(view, index!, hash, key));
    if (lost) throw lost;
  }
}

/**
 * Before an episode is made for a key that is not on record: the index of its week, the names of the records and the
 * week's history must tell the same story, ID by ID, or a lost file would look like a new key. Throws `LEDGER_INCOMPLETE`.
 */
export async function refuseIncomplete(
  view: View,
  {
    ledger,
    weekId,
    index,
    hash,
    key,
  }: { ledger: Ledger; weekId: string; index: Week | undefined; hash: string; key: string },
): Promise<void> {
  const lost = index && (await whyKeyLost(view, index, hash, key));
  if (lost) throw lost;
  for await (const fault of faultsOfWeek(view, ledger, weekId, index)) throw fault;
}

/** Everything in which the records of a week contradict each other. */
export async function* faultsOfWeek(
  view: View,
  ledger: Ledger,
  weekId: string,
  index: Week | undefined,
): AsyncGenerator<EpisodeError> {
  const forgotten = whyForgotten(view, ledger, weekId, index);
  if (forgotten) yield forgotten;
  const recorded = await view.list('episode', weekId);
  const history = (await view.get(ref('history', weekId)))?.episodes ?? [];
  for (const id of recorded) if (!isIndexed(index, id)) yield unindexed(view, index, id, 'is there');
  const historyFile = view.nameOf(ref('history', weekId));
  for (const { episode_id: id } of history)
    if (!isIndexed(index, id)) yield unindexed(view, index, id, `is in ${historyFile}`);
  const there = new Set(recorded);
  for (const id of Object.keys(index?.episodes ?? {})) if (!there.has(id)) yield missing(view, ref('episode', id));
}

const isIndexed = (index: Week | undefined, episodeId: string): boolean => index?.episodes[episodeId] !== undefined;

function unindexed(view: View, index: Week | undefined, episodeId: string, evidence: string): EpisodeError {
  const name = ref('week', weekOfEpisode(episodeId));
  const file = view.nameOf(name);
  const found = `${evidence === 'is there' ? view.nameOf(ref('episode', episodeId)) : episodeId} ${evidence}`;
  return index ? ledgerIncomplete(file, `${found}, and ${file} does not know it`) : missing(view, name, found);
}

/** A week that had episodes keeps its index for ever, and the ledger knows every such week. */
export function whyForgotten(view: View, ledger: Ledger, weekId: string, index: Week | undefined): EpisodeError | null {
  const known = ledger.weeks.includes(weekId);
  if (known && !index) return missing(view, ref('week', weekId), `${weekId} has had episodes`);
  if (known || !index) return null;
  const file = view.nameOf(ref('ledger', ''));
  return ledgerIncomplete(file, `${view.nameOf(ref('week', weekId))} is there, and ${file} does not know that week`);
}

/**
 * Why an episode that something else on record names has no record of its own, as the error that names the lost file;
 * `null` when nothing names it, and it was never made. Looks through all keys last.
 */
export async function whyLost(view: View, episodeId: string): Promise<EpisodeError | null> {
  const weekId = weekOfEpisode(episodeId);
  const name = ref('episode', episodeId);
  const index = await view.get(ref('week', weekId));
  if (isIndexed(index, episodeId)) return missing(view, name);
  const ledger = await view.get(ref('ledger', ''));
  if (!ledger) return missing(view, ref('ledger', ''));
  const forgotten = whyForgotten(view, ledger, weekId, index);
  if (forgotten) return forgotten;
  const history = await view.get(ref('history', weekId));
  if (history?.episodes.some((record) => record.episode_id === episodeId))
    return missing(view, name, `${episodeId} is in ${view.nameOf(ref('history', weekId))}`);
  const artifacts = await view.artifactsOf(episodeId);
  if (artifacts !== null) return strayFound(artifacts, UNRECORDED);
  return whyNamedByKey(view, episodeId);
}

/** What a stamp without a record says of the directory it is in. */
export const UNRECORDED = 'was made by a ledger, and no record of it is here';

async function whyNamedByKey(view: View, episodeId: string): Promise<EpisodeError | null> {
  for (const hash of await view.list('key')) {
    try {
      const key = await view.get(ref('key', hash));
      if (key?.episode_id !== episodeId) continue;
      const file = view.nameOf(ref('key', hash));
      return missing(view, ref('episode', episodeId), `${file} says that key "${key.key}" made it`);
    } catch (error) {
      // Whose it is cannot be read; that is for `doctor` to say, and stops nobody else.
      if (!(error instanceof EpisodeError)) throw error;
    }
  }
  return null;
}
