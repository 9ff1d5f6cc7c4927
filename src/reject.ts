import { stepNotFound, stepNotReady } from './errors.ts';
import type { Attempt, Episode } from './model/episode.ts';
import { attemptState, viewSteps, withDerived } from './model/status.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { withAttempt } from './spend/attempts.ts';
import { reportOf, type SpendAnswer, stepResults } from './spend/report.ts';
import type { SpendServices } from './spend/services.ts';

export interface RejectOptions {
  step: string;
  reason: string;
  by: string;
  dryRun: boolean;
}

/**
 * Keeps the take and says why it is not to be used; the step can be retried then.
 * Throws `STEP_NOT_READY` (14) when there is no output to reject. Rejecting a rejected take again changes nothing.
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
    ? await store.view(async (view) => withDerived(rejected(await readEpisode(view, episodeId))))
    : await store.transact(async (transaction) => {
        const before = await readEpisode(transaction, episodeId);
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
  const views = viewSteps(episode);
  const view = views.find((candidate) => candidate.id === step);
  if (!view)
    throw stepNotFound(
      episode.episode_id,
      step,
      views.map(({ id }) => id),
    );
  if (view.state === 'rejected') return null;
  if (view.take && view.last && attemptState(view.last) === 'succeeded') return view.take;
  throw stepNotReady(episode.episode_id, step, `it is ${view.state}, and has no output to reject`);
}
