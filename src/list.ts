import { EpisodeError, retryCommand } from './errors.ts';
import { whyForgotten } from './integrity.ts';
import type { EpisodeStatus, Total } from './model/episode.ts';
import { compareEpisodeIds } from './model/episode-id.ts';
import type { Ledger } from './model/ledger.ts';
import { isAtWork, viewSteps } from './model/status.ts';
import type { Port } from './port.ts';
import { readEpisode, readLedger, totals } from './record.ts';
import { type Shown, shown } from './show.ts';
import { ref, type Store, type View } from './store/store.ts';

export interface Listed {
  episode_id: string;
  week_id: string;
  title: string | null;
  status: EpisodeStatus;
  allocation_key: string;
  allocated_at: string;
  completed_at: string | null;
  steps_done: number;
  steps: number;
  /** Usable steps that are made of what has changed since. */
  stale: string[];
  /** What brings it on, most useful first. */
  next: string[];
  /** What is at a provider right now. */
  running: { step: string; provider: string; progress: number | null }[];
  cost: Total[];
}

/** Something that waits for a person. */
export interface Attention {
  episode_id: string;
  what: 'held' | 'approval' | 'failed' | 'damaged';
  step: string | null;
  since: string | null;
  at_risk: { amount: string | null; unit: string } | null;
  command: string;
  message: string;
}

export interface Listing {
  /** Newest first. */
  episodes: Listed[];
  attention: Attention[];
  /** Records that cannot be read; the rest is listed all the same. */
  damage: EpisodeError[];
}

/** All episodes, or those of one week or status, and what needs a person. One damaged file never hides the others. */
export async function list(
  { store, port }: { store: Store; port: Port },
  filter: { week: string | null; status: EpisodeStatus | null },
): Promise<Listing> {
  return store.salvage(async (view, damage) => {
    const listing: Listing = { episodes: [], attention: [], damage: damage ? [damage] : [] };
    const ledger = await orDamage(listing, () => readLedger(view));
    for (const episodeId of await episodeIds(view, ledger, filter.week, listing)) {
      const episode = await episodeOrDamage(view, port, episodeId, listing);
      if (!episode || (filter.status !== null && episode.status !== filter.status)) continue;
      listing.episodes.push(summarise(episode));
      listing.attention.push(...attentionOf(episode));
    }
    return listing;
  });
}

/** Those that have a record, and those that the index of their week knows and that have lost theirs. */
async function episodeIds(view: View, ledger: Ledger | null, week: string | null, listing: Listing): Promise<string[]> {
  const all = new Set([...(ledger?.weeks ?? []), ...(await view.list('week'))]);
  const weeks = week === null ? [...all].sort().reverse() : [week];
  const ids: string[] = [];
  for (const weekId of weeks) {
    const index = await orDamage(listing, async () => {
      const found = await view.get(ref('week', weekId));
      const forgotten = ledger && whyForgotten(view, ledger, weekId, found);
      if (forgotten) listing.damage.push(forgotten);
      return found;
    });
    await orDamage(listing, () => view.get(ref('history', weekId)));
    const known = new Set([...Object.keys(index?.episodes ?? {}), ...(await view.list('episode', weekId))]);
    ids.push(...[...known].sort(compareEpisodeIds).reverse());
  }
  return ids;
}

async function orDamage<T>(listing: Listing, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    listing.damage.push(error);
    return null;
  }
}

async function episodeOrDamage(view: View, port: Port, episodeId: string, listing: Listing): Promise<Shown | null> {
  try {
    return shown(port, await readEpisode(view, episodeId));
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    listing.damage.push(error);
    listing.attention.push({
      episode_id: episodeId,
      what: 'damaged',
      step: null,
      since: null,
      at_risk: null,
      command: 'episode doctor',
      message: error.message,
    });
    return null;
  }
}

function summarise(episode: Shown): Listed {
  const views = viewSteps(episode).filter((view) => view.state !== 'skipped');
  return {
    episode_id: episode.episode_id,
    week_id: episode.week_id,
    title: episode.plan?.title ?? null,
    status: episode.status,
    allocation_key: episode.allocation_key,
    allocated_at: episode.allocation.allocated_at,
    completed_at: episode.completed_at,
    steps_done: views.filter((view) => view.state === 'succeeded' || view.state === 'stale').length,
    steps: views.length,
    stale: views.filter((view) => view.state === 'stale').map((view) => view.id),
    next: episode.next,
    running: views
      .filter(isAtWork)
      .map(({ id, last }) => ({ step: id, provider: last!.provider, progress: last!.remote?.progress ?? null })),
    cost: totals(episode.costs),
  };
}

function attentionOf(episode: Shown): Attention[] {
  const id = episode.episode_id;
  if (episode.status === 'closed') return [];
  const held = episode.holds.map((hold): Attention => {
    const what = hold.what === 'approval' ? 'approval' : 'held';
    const command = what === 'held' ? `episode show ${id}` : hold.commands[0]!;
    const message = what === 'held' ? `${hold.step} ${hold.what}` : hold.step;
    return { episode_id: id, what, step: hold.step, since: hold.since, at_risk: hold.at_risk, command, message };
  });
  const failed = viewSteps(episode).flatMap((view): Attention[] => {
    if (!['failed', 'canceled', 'rejected'].includes(view.state) && !view.writtenOff) return [];
    const message = `${view.id} ${view.writtenOff ? 'written off' : view.state}`;
    const since =
      view.last!.rejection?.at ?? view.last!.settlement?.at ?? view.last!.remote?.at ?? view.last!.outcome?.at ?? null;
    return [
      {
        episode_id: id,
        what: 'failed',
        step: view.id,
        since,
        at_risk: null,
        command: retryCommand(id, view.id),
        message,
      },
    ];
  });
  return [...held, ...failed];
}
