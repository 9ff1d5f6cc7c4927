import { attemptInFlight, outcomeUnknown, stepNotReady } from './errors.ts';
import { findStep, isReplay, type PaidOptions } from './generate.ts';
import type { Episode } from './model/episode.ts';
import type { StepView } from './model/status.ts';
import { recoverClaims } from './spend/recover.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import type { SpendServices } from './spend/services.ts';

const RETRYABLE = new Set<StepView['state']>(['failed', 'canceled', 'rejected', 'stale']);

/**
 * Pays once more for one step: after a definite failure, a cancel, a rejection or a write-off, or for a stale step.
 * The same step and reason again is the same request: it follows that attempt and starts none.
 * Throws `OUTCOME_UNKNOWN` (11) for a held step, `ATTEMPT_IN_FLIGHT` (75), `STEP_NOT_READY` (14).
 */
export async function retry(
  services: SpendServices,
  episodeId: string,
  options: PaidOptions & { step: string; reason: string },
): Promise<SpendAnswer> {
  const { step, reason } = options;
  await findStep(services, episodeId, step);
  await recoverClaims(services, episodeId);
  const view = await findStep(services, episodeId, step);
  const requested = (episode: Episode): boolean =>
    (episode.steps.find((record) => record.id === step)?.attempts ?? []).some((attempt) =>
      isReplay(attempt, 'retry', reason),
    );
  if (
    !(await services.store.view(async (records) => requested((await records.get({ kind: 'episode', id: episodeId }))!)))
  ) {
    refuseUnretryable(episodeId, view, reason);
  }
  const result = await run(services, episodeId, {
    verb: 'retry',
    reason,
    mayStart: (candidate, episode) => candidate.id === step && !requested(episode) && mayRetry(candidate, reason),
    steps: [step],
    maxCost: options.maxCost,
    waitMs: options.waitMs,
  });
  for (const done of result.steps) if (done.step === step && done.verdict === null) done.verdict = 'replay';
  return reportOf(result, services.config.currency);
}

/** Asked for before with the same reason, and it bought nothing: the same request may be sent again. */
const wasReleased = (view: StepView, reason: string): boolean =>
  view.last?.verb === 'retry' && view.last.reason === reason;

/** Whether `retry` with this reason would start a new attempt of the step as it stands. */
export const mayRetry = (view: StepView, reason: string): boolean =>
  view.missing.length === 0 && (RETRYABLE.has(view.state) || view.writtenOff || wasReleased(view, reason));

function refuseUnretryable(episodeId: string, view: StepView, reason: string): void {
  if (mayRetry(view, reason)) return;
  const { id, last, state } = view;
  if (state === 'unknown') throw outcomeUnknown(episodeId, id, last!.provider, last!.outcome?.reason ?? 'no answer');
  if (['claimed', 'sending', 'accepted', 'running'].includes(state)) {
    throw attemptInFlight(episodeId, id, last!.attempt_id, last!.provider);
  }
  if (view.missing.length > 0) throw stepNotReady(episodeId, id, `it needs ${view.missing.join(', ')} first`);
  if (state === 'succeeded') {
    throw stepNotReady(
      episodeId,
      id,
      'it succeeded, and retrying pays again',
      `episode reject ${episodeId} --step ${id} --reason "…"          then it can be retried`,
    );
  }
  throw stepNotReady(
    episodeId,
    id,
    `it is ${state}, and no attempt was made`,
    `episode generate ${episodeId} --step ${id}`,
  );
}
