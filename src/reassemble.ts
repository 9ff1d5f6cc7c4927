import { EpisodeError, stepNotReady } from './errors.ts';
import { type PaidOptions, readSpendable } from './generate.ts';
import { ASSEMBLY } from './model/plan.ts';
import { type StepView, viewSteps } from './model/status.ts';
import { stepCommands } from './next.ts';
import type { SpendPlan } from './spend/authority.ts';
import { verifyRecorded } from './spend/inputs.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import type { SpendServices } from './spend/spend-services.ts';

/**
 * A new attempt of the assembly from the current outputs: a new revision of the deliverable, older ones are kept.
 * When the film is made of these very outputs and its file is whole, that film is the answer (`replay`).
 * Throws what `planReassembly` throws.
 */
export async function reassemble(
  services: SpendServices,
  episodeId: string,
  options: PaidOptions,
): Promise<SpendAnswer> {
  const { authority } = await planReassembly(services, episodeId, options);
  return reportOf(await run(services, episodeId, authority), services.config.currency);
}

/**
 * What `reassemble` is allowed to do. Throws `EPISODE_NOT_FOUND` (66), `EPISODE_CLOSED`, `PLAN_MISSING` (14), and
 * `STEP_NOT_READY` (14) when there is no assembly, or something to assemble is not there yet.
 */
export async function planReassembly(
  services: Pick<SpendServices, 'store' | 'port' | 'root' | 'media'>,
  episodeId: string,
  { maxCost, waitMs }: PaidOptions,
): Promise<SpendPlan> {
  const episode = await readSpendable(services, episodeId);
  const assembly = viewSteps(episode).findLast((view) => view.step?.provider === ASSEMBLY);
  if (!assembly) {
    throw stepNotReady(episodeId, ASSEMBLY, 'the plan has no assembly step', `episode plan ${episodeId} --file FILE`);
  }
  const { id, missing } = assembly;
  if (missing.length > 0)
    throw stepNotReady(episodeId, id, `it needs ${missing.join(', ')} first`, ...stepCommands(episode, assembly));
  const isCurrent = assembly.state === 'succeeded' && (await isWhole(services, assembly));
  const seen = assembly.last?.attempt_id ?? null;
  // One new attempt after the one that was seen: another command's is the answer to this one as well.
  const mayStart = (view: StepView): boolean =>
    !isCurrent && view.missing.length === 0 && (view.last?.attempt_id ?? null) === seen;
  return {
    episode,
    authority: { starts: { verb: 'reassemble', reason: null, mayStart }, steps: [id], maxCost, waitMs },
  };
}

async function isWhole(services: Pick<SpendServices, 'root' | 'port' | 'media'>, view: StepView): Promise<boolean> {
  try {
    for (const file of view.take!.files!) await verifyRecorded(services, file);
    return true;
  } catch (error) {
    if (error instanceof EpisodeError && error.code === 'ARTIFACT_CHANGED') return false;
    throw error;
  }
}
