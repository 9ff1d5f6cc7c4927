import { attemptInFlight } from './errors.ts';
import { isOpen } from './model/attempt.ts';
import type { Episode } from './model/episode.ts';
import { viewSteps } from './model/status.ts';
import type { Port } from './port.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { standingOf } from './spend/ends.ts';
import { judged } from './spend/recover.ts';
import type { Store } from './store/store.ts';

/**
 * Ends an unwanted episode without deleting anything; its key stays its key for ever. Closing again changes nothing.
 * Throws `OUTCOME_UNKNOWN` (11), `STILL_RUNNING` or `ATTEMPT_IN_FLIGHT` (75) while something may still be charged.
 */
export async function close(
  { store, port }: { store: Store; port: Port },
  episodeId: string,
  { reason, by }: { reason: string; by: string },
): Promise<Episode> {
  return store.transact(async (transaction) => {
    const episode = judged(port, await readEpisode(transaction, episodeId));
    if (episode.closed) return episode;
    for (const view of viewSteps(episode)) {
      const { id, last } = view;
      if (!last || !isOpen(last)) continue;
      const { attempt_id, claim } = last;
      const sending = attemptInFlight(episodeId, id, attempt_id, `pid ${claim.owner.pid} on ${claim.owner.host}`);
      throw standingOf(view, episodeId) ?? sending;
    }
    const at = new Date(port.now()).toISOString();
    return saveEpisode(transaction, { ...episode, closed: { at, by, reason } }, { at, by, event: 'closed', reason });
  });
}
