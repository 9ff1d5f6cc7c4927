import { stepNotFound, stepNotReady } from './errors.ts';
import type { Attempt } from './model/episode.ts';
import { attemptState, type StepView, viewSteps } from './model/status.ts';
import { readEpisode } from './record.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import type { SpendServices } from './spend/services.ts';

export interface PaidOptions {
  /** Upper bound of what this command reserves, in the show's currency. */
  maxCost: string | null;
  /** How long accepted tasks are followed, milliseconds. */
  waitMs: number;
}

/** First attempts, and again what provably bought nothing. Never a second attempt otherwise. */
export const startsFirst = (view: StepView): boolean => view.state === 'ready';

/**
 * Starts first attempts of all steps whose needs are met, up to review gates, and follows what is accepted.
 * Throws `EPISODE_NOT_FOUND` (66), `EPISODE_CLOSED`, `PLAN_MISSING` (14), `STEP_NOT_FOUND` (64); what happens to single
 * steps is in the answer's `failures`.
 */
export async function generate(
  services: SpendServices,
  episodeId: string,
  options: PaidOptions & { step: string | null },
): Promise<SpendAnswer> {
  if (options.step !== null) await refuseUnready(services, episodeId, options.step);
  const result = await run(services, episodeId, {
    verb: 'generate',
    reason: null,
    mayStart: startsFirst,
    steps: options.step === null ? null : [options.step],
    maxCost: options.maxCost,
    waitMs: options.waitMs,
  });
  return reportOf(result, services.config.currency);
}

async function refuseUnready(services: SpendServices, episodeId: string, step: string): Promise<void> {
  const view = await findStep(services, episodeId, step);
  if (view.state === 'waiting')
    throw stepNotReady(episodeId, step, `it needs ${view.missing.join(', ')} first`, `episode generate ${episodeId}`);
}

/** The step as it stands. Throws `EPISODE_NOT_FOUND` (66) before `STEP_NOT_FOUND` (64). */
export async function findStep(
  { store }: Pick<SpendServices, 'store'>,
  episodeId: string,
  step: string,
): Promise<StepView> {
  const episode = await store.view((view) => readEpisode(view, episodeId));
  const views = viewSteps(episode);
  const found = views.find((view) => view.id === step);
  if (!found)
    throw stepNotFound(
      episodeId,
      step,
      views.map((view) => view.id),
    );
  return found;
}

/** An attempt that was asked for by this very request and did buy something, or may have. */
export const isReplay = (attempt: Attempt, verb: Attempt['verb'], reason: string | null): boolean =>
  attempt.verb === verb && attempt.reason === reason && attemptState(attempt) !== 'ready';
