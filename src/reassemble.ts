import { planMissing, stepNotReady } from './errors.ts';
import type { PaidOptions } from './generate.ts';
import type { Episode } from './model/episode.ts';
import { ASSEMBLY } from './model/plan.ts';
import { type StepView, viewSteps } from './model/status.ts';
import { readEpisode } from './record.ts';
import { verifyRecorded } from './spend/inputs.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import type { SpendServices } from './spend/services.ts';

/**
 * A new attempt of the assembly from the current outputs: a new revision of the deliverable, older ones are kept.
 * When the film is made of these very outputs and its file is whole, that film is the answer (`replay`).
 * Throws `PLAN_MISSING`, `STEP_NOT_READY` (14).
 */
export async function reassemble(
  services: SpendServices,
  episodeId: string,
  options: PaidOptions,
): Promise<SpendAnswer> {
  const { assembly, current } = await planReassembly(services, episodeId);
  const seen = assembly.last?.attempt_id ?? null;
  const result = await run(services, episodeId, {
    verb: 'reassemble',
    reason: null,
    mayStart: (view) =>
      view.id === assembly.id && !current && (view.last?.attempt_id ?? null) === seen && view.missing.length === 0,
    steps: [assembly.id],
    maxCost: options.maxCost,
    waitMs: options.waitMs,
  });
  for (const done of result.steps) if (done.step === assembly.id && done.verdict === null) done.verdict = 'replay';
  return reportOf(result, services.config.currency);
}

/** The assembly that `reassemble` is about, and whether its film is already made of the current outputs. Writes nothing. */
export async function planReassembly(
  services: SpendServices,
  episodeId: string,
): Promise<{ episode: Episode; assembly: StepView; current: boolean }> {
  const episode = await services.store.view((view) => readEpisode(view, episodeId));
  if (!episode.plan) throw planMissing(episodeId);
  const assembly = viewSteps(episode).findLast((view) => view.step?.provider === ASSEMBLY);
  if (!assembly) {
    throw stepNotReady(episodeId, ASSEMBLY, 'the plan has no assembly step', `episode plan ${episodeId} --file FILE`);
  }
  if (assembly.missing.length > 0) {
    throw stepNotReady(
      episodeId,
      assembly.id,
      `it needs ${assembly.missing.join(', ')} first`,
      `episode generate ${episodeId}`,
    );
  }
  return { episode, assembly, current: assembly.state === 'succeeded' && (await isWhole(services, assembly)) };
}

async function isWhole(services: SpendServices, view: StepView): Promise<boolean> {
  try {
    for (const file of view.take!.files!) await verifyRecorded(services, file);
    return true;
  } catch {
    return false;
  }
}
