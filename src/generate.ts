import { episodeClosed, planMissing, stepNotFound, stepNotReady } from './errors.ts';
import type { Episode } from './model/episode.ts';
import { type StepView, viewSteps } from './model/status.ts';
import { stepCommands } from './next.ts';
import type { Authority, SpendPlan } from './spend/authority.ts';
import { readJudged } from './spend/recover.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import type { SpendServices } from './spend/spend-services.ts';

export interface PaidOptions {
  /** Upper bound of what this command reserves, in the show's currency. */
  maxCost: string | null;
  /** How long accepted tasks are followed, milliseconds. */
  waitMs: number;
}

/** First attempts, and again what provably bought nothing. Never a second attempt otherwise. */
export const firstAttempts: NonNullable<Authority['starts']> = {
  verb: 'generate',
  reason: null,
  mayStart: (view) => view.state === 'ready',
};

/**
 * Starts first attempts of all steps whose needs are met, up to review gates, and follows what is accepted. What happens
 * to single steps is in the answer's `failures`. Throws what `planGenerate` throws.
 */
export async function generate(
  services: SpendServices,
  episodeId: string,
  options: PaidOptions & { step: string | null },
): Promise<SpendAnswer> {
  const { authority } = await planGenerate(services, episodeId, options);
  return reportOf(await run(services, episodeId, authority), services.config.currency);
}

/**
 * What `generate` is allowed to do. Throws `EPISODE_NOT_FOUND` (66), `EPISODE_CLOSED`, `PLAN_MISSING` (14),
 * `STEP_NOT_FOUND` (64), and `STEP_NOT_READY` (14) for a named step that waits for others.
 */
export async function planGenerate(
  services: Pick<SpendServices, 'store' | 'port'>,
  episodeId: string,
  { step, maxCost, waitMs }: PaidOptions & { step: string | null },
): Promise<SpendPlan> {
  const episode = await readSpendable(services, episodeId);
  const view = step === null ? null : findStep(episode, step);
  if (view?.state === 'waiting')
    throw stepNotReady(episodeId, view.id, `it needs ${view.missing.join(', ')} first`, ...stepCommands(episode, view));
  return { episode, authority: { starts: firstAttempts, steps: view && [view.id], maxCost, waitMs } };
}

/** An episode that money may be spent on, as it stands. Throws `EPISODE_NOT_FOUND` (66), `EPISODE_CLOSED`, `PLAN_MISSING` (14). */
export async function readSpendable(
  services: Pick<SpendServices, 'store' | 'port'>,
  episodeId: string,
): Promise<Episode & { plan: NonNullable<Episode['plan']> }> {
  const episode = await readJudged(services, episodeId);
  if (episode.closed) throw episodeClosed(episodeId, episode.closed);
  const { plan } = episode;
  if (!plan) throw planMissing(episodeId);
  return { ...episode, plan };
}

/** Throws `STEP_NOT_FOUND` (64) with the names of the steps there are. */
export function findStep(episode: Episode, step: string): StepView {
  const views = viewSteps(episode);
  const found = views.find((view) => view.id === step);
  const known = views.map((view) => view.id);
  if (!found) throw stepNotFound(episode.episode_id, step, known);
  return found;
}
