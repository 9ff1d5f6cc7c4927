import { attemptInFlight, outcomeUnknown } from './errors.ts';
import type { Episode } from './model/episode.ts';
import { isOpen, viewSteps } from './model/status.ts';
import type { Port } from './port.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { judged } from './spend/recover.ts';
import type { Store } from './store/store.ts';

/**
 * Ends an unwanted episode without deleting anything; its key stays its key for ever. Closing again changes nothing.
 * Throws `OUTCOME_UNKNOWN` (11) or `ATTEMPT_IN_FLIGHT` (75) while something may still be charged.
 */
export async function close(
  { store, port }: { store: Store; port: Port },
  episodeId: string,
  { reason, by }: { reason: string; by: string },
): Promise<Episode> {
  return store.transact(async (transaction) => {
    const episode = judged(port, await readEpisode(transaction, episodeId));
    if (episode.closed) return episode;
    for (const { id, last, writtenOff } of viewSteps(episode)) {
      if (!last || !isOpen(last) || writtenOff) continue;
      if (last.outcome?.outcome === 'unknown')
        throw outcomeUnknown(episodeId, id, last.provider, last.outcome.reason ?? 'no answer');
      throw attemptInFlight(episodeId, id, last.attempt_id, last.provider);
    }
    const at = new Date(port.now()).toISOString();
    return saveEpisode(transaction, { ...episode, closed: { at, by, reason } }, { at, by, event: 'closed', reason });
  });
}
