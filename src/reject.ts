import { episodeClosed, planMissing, stepNotReady } from './errors.ts';
import { findStep } from './generate.ts';
import type { Attempt, Episode } from './model/episode.ts';
import { withDerived } from './model/status.ts';
import { stepCommands } from './next.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { withAttempt } from './spend/attempts.ts';
import { judged } from './spend/recover.ts';
import { reportOf, type SpendAnswer, stepResults } from './spend/report.ts';
import type { SpendServices } from './spend/spend-services.ts';

export interface RejectOptions {
  step: string;
  reason: string;
  by: string;
  dryRun: boolean;
}

/**
 * Keeps the take and says why it is not to be used; the step can be retried then. Rejecting a rejected take again
 * changes nothing. Throws `EPISODE_CLOSED`, `PLAN_MISSING`, `STEP_NOT_READY` (14) when there is no output to reject.
 */
export async function reject(
  { store, port, config }: Pick<SpendServices, 'store' | 'port' | 'config'>,
  episodeId: string,
  { step, reason, by, dryRun }: RejectOptions,
): Promise<SpendAnswer> {
  const at = new Date(port.now()).toISOString();
  const rejected = (episode: Episode): Episode => {
    const take = takeToReject(episode, step);
    return take
      ? withAttempt(episode, take.attempt_id, (attempt) => ({ ...attempt, rejection: { at, by, reason } }))
      : episode;
  };
  const episode = dryRun
    ? await store.view(async (view) => withDerived(rejected(judged(port, await readEpisode(view, episodeId)))))
    : await store.transact(async (transaction) => {
        const before = judged(port, await readEpisode(transaction, episodeId));
        const after = rejected(before);
        return after === before ? before : saveEpisode(transaction, after, { at, by, event: 'rejected', step, reason });
      });
  return reportOf(
    { episode, steps: stepResults(episode, new Map([[step, 'proceed']])), failures: [] },
    config.currency,
  );
}

/** `null` when the step's newest take is rejected already. */
function takeToReject(episode: Episode, step: string): Attempt | null {
  if (episode.closed) throw episodeClosed(episode.episode_id, episode.closed);
  if (!episode.plan) throw planMissing(episode.episode_id);
  const view = findStep(episode, step);
  const { state, take } = view;
  if (state === 'rejected') return null;
  if (take && (state === 'succeeded' || state === 'stale')) return take;
  throw stepNotReady(
    episode.episode_id,
    step,
    `it is ${state}, and has no output to reject`,
    ...stepCommands(episode, view),
  );
}
