import type { Attempt, CostRow, Episode, Total } from './model/episode.ts';
import { readEpisode, readEpisodeIds, totals } from './record.ts';
import { firstSentAt } from './spend/attempts.ts';
import type { Store } from './store/store.ts';

export interface Costs {
  /** One an attempt that may cost something, with what an invoice knows it by. */
  rows: (CostRow & { episode_id: string; take: number | null; ref: string | null; sent_at: string | null })[];
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
    for (const episodeId of ids) rows.push(...rowsOf(await readEpisode(view, episodeId)));
    return { rows, totals: totals(rows) };
  });
}

function rowsOf({ episode_id, steps, costs }: Episode): Costs['rows'] {
  const attempts = new Map(steps.flatMap((step) => step.attempts).map((attempt) => [attempt.attempt_id, attempt]));
  return costs.map((row) => ({ episode_id, ...inInvoice(attempts.get(row.attempt_id)), ...row }));
}

/** A row that a migration brought may have no attempt. */
const inInvoice = (attempt: Attempt | undefined) => ({
  take: attempt?.number ?? null,
  ref: attempt?.ref ?? null,
  sent_at: attempt ? firstSentAt(attempt) : null,
});
