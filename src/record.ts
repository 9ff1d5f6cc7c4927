import canonicalize from 'canonicalize';
import { type EpisodeError, episodeNotFound, ledgerIncomplete } from './errors.ts';
import { whyForgotten, whyLost } from './integrity.ts';
import type { CostRow, Episode, Event, HistoryRecord, Total } from './model/episode.ts';
import { compareEpisodeIds } from './model/episode-id.ts';
import type { Ledger } from './model/ledger.ts';
import { add } from './model/money.ts';
import { deliverables, viewSteps, withDerived } from './model/status.ts';
import { ref, type Transaction, type View } from './store/store.ts';

/** Which ledger this is. Throws `LEDGER_INCOMPLETE` (65) when its record is lost: nothing is created or changed then. */
export async function readLedger(view: View): Promise<Ledger> {
  const name = ref('ledger', '');
  const ledger = await view.get(name);
  if (!ledger) throw ledgerIncomplete(view.nameOf(name), `${view.nameOf(name)} is missing`);
  return ledger;
}

/** The record of an episode that must exist. Throws `EPISODE_NOT_FOUND` (66), `LEDGER_INCOMPLETE` (65) if it was lost. */
export async function readEpisode(view: View, episodeId: string): Promise<Episode> {
  const episode = await view.get(ref('episode', episodeId));
  if (episode) return episode;
  throw (await whyLost(view, episodeId)) ?? episodeNotFound(episodeId);
}

/**
 * IDs of every episode that was ever made, or made in `week`, in order, whether or not its record is still there.
 * Throws `LEDGER_INCOMPLETE` (65) when the index of a week is lost.
 */
export async function readEpisodeIds(view: View, week: string | null): Promise<string[]> {
  const ledger = await readLedger(view);
  const weeks = week === null ? new Set([...ledger.weeks, ...(await view.list('week'))]) : [week];
  const ids = new Set<string>();
  for (const weekId of weeks) {
    const index = await view.get(ref('week', weekId));
    const forgotten = whyForgotten(view, ledger, weekId, index);
    if (forgotten) throw forgotten;
    for (const id of [...Object.keys(index?.episodes ?? {}), ...(await view.list('episode', weekId))]) ids.add(id);
  }
  return [...ids].sort(compareEpisodeIds);
}

/**
 * Writes a changed episode: what is derived is derived again, and completion enters the week's history in the same
 * transaction; so does every later deliverable of a complete episode.
 */
export async function saveEpisode(transaction: Transaction, changed: Episode, event: Event): Promise<Episode> {
  await readLedger(transaction);
  let episode = withDerived({ ...changed, revision: changed.revision + 1, events: [...changed.events, event] });
  if (episode.status === 'complete') {
    episode = { ...episode, completed_at: episode.completed_at ?? event.at };
    await enterHistory(transaction, episode);
  }
  transaction.put(ref('episode', episode.episode_id), episode);
  return episode;
}

async function enterHistory(transaction: Transaction, episode: Episode): Promise<void> {
  const name = ref('history', episode.week_id);
  const group = await transaction.get(name);
  const before = group?.episodes.find((record) => record.episode_id === episode.episode_id);
  const record = { ...before, ...historyRecord(episode) };
  if (before && canonicalize(before) === canonicalize(record)) return;
  const others = (group?.episodes ?? []).filter((other) => other.episode_id !== episode.episode_id);
  await refuseLostHistory(transaction, episode, new Set(others.map((other) => other.episode_id)));
  transaction.put(name, {
    ...(group ?? { format: 1, week_id: episode.week_id }),
    revision: (group?.revision ?? 0) + 1,
    episodes: [...others, record].sort((a, b) => a.sequence - b.sequence),
  });
}

/** A group that was lost must not be begun anew without the episodes that were complete before. */
async function refuseLostHistory(transaction: Transaction, episode: Episode, kept: ReadonlySet<string>): Promise<void> {
  for (const id of await transaction.list('episode', episode.week_id)) {
    if (id === episode.episode_id || kept.has(id)) continue;
    const lost = whyNotInHistory(transaction, await readEpisode(transaction, id), kept);
    if (lost) throw lost;
  }
}

/** The fault of a week's history that does not hold this episode although it is complete; `kept`: the IDs that it holds. */
export function whyNotInHistory(view: View, episode: Episode, kept: ReadonlySet<string>): EpisodeError | null {
  const { episode_id, week_id, completed_at } = episode;
  if (completed_at === null || kept.has(episode_id)) return null;
  const file = view.nameOf(ref('history', week_id));
  return ledgerIncomplete(file, `${episode_id} is complete, and ${file} does not hold it`);
}

/** What the week's history says of a complete episode. */
function historyRecord(episode: Episode): HistoryRecord {
  const { media, cover } = deliverables(viewSteps(episode));
  const attempts = episode.steps.flatMap((step) => step.attempts.map((attempt) => ({ step: step.id, attempt })));
  return {
    episode_id: episode.episode_id,
    week_id: episode.week_id,
    sequence: episode.sequence,
    allocation_key: episode.allocation_key,
    title: episode.plan?.title ?? null,
    completed_at: episode.completed_at!,
    media_sha256: media?.sha256 ?? null,
    cover_sha256: cover?.sha256 ?? null,
    cost: totals(episode.costs),
    references: attempts.flatMap(({ step, attempt }) =>
      attempt.ref === null ? [] : [{ step, provider: attempt.provider, ref: attempt.ref }],
    ),
    receipts: episode.publications,
    migration: episode.migration,
  };
}

/** Sums for each unit; units are never added to each other. */
export function totals(rows: readonly CostRow[]): Total[] {
  const units = [...new Set(rows.map((row) => row.unit))].sort();
  return units.map((unit) => {
    const counted = rows.filter((row) => row.unit === unit && row.state !== 'released');
    const sum = (state: CostRow['state']) =>
      add(...counted.flatMap((row) => (row.state === state && row.amount !== null ? [row.amount] : [])));
    return {
      unit,
      settled: sum('settled'),
      reserved: sum('reserved'),
      possible: sum('possible'),
      unpriced: counted.filter((row) => row.amount === null).length,
    };
  });
}
