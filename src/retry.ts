import { attemptInFlight, type EpisodeError, reasonUsed, stepNotReady } from './errors.ts';
import { findStep, type PaidOptions, readSpendable } from './generate.ts';
import { attemptState } from './model/attempt.ts';
import type { Attempt, Episode } from './model/episode.ts';
import type { StepView } from './model/status.ts';
import { stepCommands } from './next.ts';
import { findAttempt } from './spend/attempts.ts';
import type { SpendPlan } from './spend/authority.ts';
import { isFree } from './spend/budget.ts';
import { fateOf, standingOf } from './spend/ends.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import type { SpendServices } from './spend/spend-services.ts';

const RETRYABLE = new Set<StepView['state']>(['failed', 'canceled', 'rejected', 'stale']);

export interface RetryOptions extends PaidOptions {
  step: string;
  reason: string;
}

/**
 * Pays once more for one step: after a definite failure, a cancel, a rejection or a write-off, or for a stale step.
 * The same step and reason again is the same request: it follows that attempt and starts none, and says what became of it.
 * Throws what `planRetry` throws.
 */
export async function retry(services: SpendServices, episodeId: string, options: RetryOptions): Promise<SpendAnswer> {
  const { episode, authority } = await planRetry(services, episodeId, options);
  const used = requested(episode, options.step, options.reason);
  const result = await run(services, episodeId, authority);
  const failures = result.failures.map((failure) =>
    used ? asReplay(failure, findAttempt(result.episode, used.attempt_id)!, episodeId, options) : failure,
  );
  return reportOf({ ...result, failures }, services.config.currency);
}

/** Where nothing came of the take that this very reason was given for: whoever meant another one must give another reason. */
function asReplay(
  failure: EpisodeError,
  used: Attempt,
  episodeId: string,
  { step, reason }: RetryOptions,
): EpisodeError {
  const { code, subject } = failure;
  if (subject !== `${episodeId}/${step}` || (code !== 'STEP_FAILED' && code !== 'STEP_NOT_READY')) return failure;
  return reasonUsed(episodeId, step, { reason, take: used.number, fate: fateOf(used), code, free: isFree(used.sheet) });
}

/**
 * What `retry` is allowed to do. Throws `EPISODE_NOT_FOUND` (66), `EPISODE_CLOSED`, `PLAN_MISSING` (14),
 * `STEP_NOT_FOUND` (64), `OUTCOME_UNKNOWN` (11) for a held step, `ATTEMPT_IN_FLIGHT`, `STILL_RUNNING` (75),
 * `STEP_NOT_READY` (14).
 */
export async function planRetry(
  services: Pick<SpendServices, 'store' | 'port'>,
  episodeId: string,
  { step, reason, maxCost, waitMs }: RetryOptions,
): Promise<SpendPlan> {
  const episode = await readSpendable(services, episodeId);
  const view = findStep(episode, step);
  if (!requested(episode, step, reason) && !mayRetry(view, reason)) throw refusalOf(episode, view);
  const mayStart = (candidate: StepView, current: Episode): boolean =>
    !requested(current, step, reason) && mayRetry(candidate, reason);
  return { episode, authority: { starts: { verb: 'retry', reason, mayStart }, steps: [step], maxCost, waitMs } };
}

/** The attempt that was made for this very request, and did buy something or may have. */
const requested = (episode: Episode, step: string, reason: string): Attempt | undefined =>
  (episode.steps.find((record) => record.id === step)?.attempts ?? []).findLast(
    (attempt) => attempt.verb === 'retry' && attempt.reason === reason && attemptState(attempt) !== 'ready',
  );

/** Asked for before with the same reason, and it bought nothing: the same request may be sent again. */
const wasReleased = ({ last }: StepView, reason: string): boolean =>
  last?.verb === 'retry' && last.reason === reason && attemptState(last) === 'ready';

const mayRetry = (view: StepView, reason: string): boolean =>
  view.missing.length === 0 && (RETRYABLE.has(view.state) || view.writtenOff || wasReleased(view, reason));

function refusalOf(episode: Episode, view: StepView): EpisodeError {
  const episodeId = episode.episode_id;
  const { id, last, state, missing, writtenOff } = view;
  if (state === 'claimed' || state === 'sending') {
    const { owner } = last!.claim;
    return attemptInFlight(episodeId, id, last!.attempt_id, `pid ${owner.pid} on ${owner.host}`);
  }
  if (missing.length > 0 && (state === 'waiting' || writtenOff || RETRYABLE.has(state)))
    return stepNotReady(episodeId, id, `it needs ${missing.join(', ')} first`, ...stepCommands(episode, view));
  const standing = standingOf(view, episodeId);
  if (standing) return standing;
  if (state === 'succeeded') {
    return stepNotReady(
      episodeId,
      id,
      'it succeeded, and retrying pays again',
      `episode reject ${episodeId} --step ${id} --reason "…"  # then it can be retried`,
    );
  }
  return stepNotReady(
    episodeId,
    id,
    `it is ${state}, and nothing of it failed`,
    state === 'skipped' ? `episode show ${episodeId}` : `episode generate ${episodeId} --step ${id}`,
  );
}
