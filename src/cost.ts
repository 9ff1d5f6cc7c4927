import type { CostRow, Total } from './model/episode.ts';
import { readEpisode, readEpisodeIds, totals } from './record.ts';
import type { Store } from './store/store.ts';

export interface Costs {
  rows: (CostRow & { episode_id: string })[];
  /** One a unit; units are never added to each other. */
  totals: Total[];
}

/** Every cost row of one episode, of a week, or of the show, failures and possible charges included. */
export async function cost(store: Store, scope: { episodeId: string } | { week: string } | 'show'): Promise<Costs> {
  return store.browse(async (view) => {
    // What a lost record cost is not known, and a sum without it would be wrong.
    const ids =
      typeof scope === 'object' && 'episodeId' in scope
        ? [scope.episodeId]
        : await readEpisodeIds(view, scope === 'show' ? null : scope.week);
    const rows: Costs['rows'] = [];
    for (const episodeId of ids) {
      const episode = await readEpisode(view, episodeId);
      rows.push(...episode.costs.map((row) => ({ episode_id: episodeId, ...row })));
    }
    return { rows, totals: totals(rows) };
  });
}
