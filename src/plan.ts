import { episodeClosed, planInUse } from './errors.ts';
import { fingerprint } from './fingerprint.ts';
import type { Episode } from './model/episode.ts';
import type { Plan, Step } from './model/plan.ts';
import { isOpen, viewSteps } from './model/status.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { type Preview, price, pricePlan } from './spend/preview.ts';
import { judged } from './spend/recover.ts';
import type { SpendServices } from './spend/services.ts';

export interface PlanAnswer extends Preview {
  verdict: 'proceed' | 'replay';
  episode_id: string | null;
  plan_sha256: string;
  status: Episode['status'] | null;
  /** Steps that the new plan adds, changes or leaves out. */
  added: string[];
  changed: string[];
  left_out: string[];
  /** Steps whose output no longer answers the plan; usable, and not paid again unless a person retries them. */
  stale: string[];
}

/** What a plan would cost at most, without any episode. */
export async function priceOnly(services: SpendServices, plan: Plan): Promise<PlanAnswer> {
  const preview = await pricePlan(services, plan);
  const added = plan.steps.map((step) => step.id);
  return {
    verdict: 'proceed',
    episode_id: null,
    plan_sha256: fingerprint(plan),
    status: null,
    added,
    changed: [],
    left_out: [],
    stale: [],
    ...preview,
  };
}

/**
 * Gives an episode a plan, or merges a new one into it at any time. The same plan again changes nothing.
 * Throws `PLAN_IN_USE` (75) when it changes or removes a step with an open or unknown attempt, `EPISODE_CLOSED` (14).
 */
export async function mergePlan(
  services: SpendServices,
  episodeId: string,
  plan: Plan,
  { dryRun }: { dryRun: boolean },
): Promise<PlanAnswer> {
  const { store, port } = services;
  const before = await store.view((view) => readEpisode(view, episodeId));
  const preview = await price(services, plan.steps);
  const merged = (episode: Episode): Episode => ({ ...episode, plan, plan_sha256: fingerprint(plan) });
  const check = (episode: Episode): Episode => {
    if (episode.closed) throw episodeClosed(episodeId, episode.closed);
    refuseInUse(judged(port, episode), plan);
    return episode;
  };
  const after = dryRun
    ? merged(check(before))
    : await store.transact(async (transaction) => {
        const episode = check(await readEpisode(transaction, episodeId));
        if (episode.plan_sha256 === fingerprint(plan)) return episode;
        const at = new Date(port.now()).toISOString();
        return saveEpisode(transaction, merged(episode), {
          at,
          by: port.user,
          event: 'planned',
          plan_sha256: fingerprint(plan),
        });
      });
  return {
    verdict: before.plan_sha256 === fingerprint(plan) ? 'replay' : 'proceed',
    episode_id: episodeId,
    plan_sha256: fingerprint(plan),
    status: after.status,
    ...differences(before.plan?.steps ?? [], plan.steps),
    stale: viewSteps(after).flatMap((view) => (view.state === 'stale' ? [view.id] : [])),
    ...preview,
  };
}

function differences(before: readonly Step[], after: readonly Step[]) {
  const old = new Map(before.map((step) => [step.id, step]));
  const kept = new Set(after.map((step) => step.id));
  const isChanged = (step: Step): boolean => old.has(step.id) && fingerprint(old.get(step.id)) !== fingerprint(step);
  return {
    added: after.flatMap((step) => (old.has(step.id) ? [] : [step.id])),
    changed: after.flatMap((step) => (isChanged(step) ? [step.id] : [])),
    left_out: before.flatMap((step) => (kept.has(step.id) ? [] : [step.id])),
  };
}

function refuseInUse(episode: Episode, plan: Plan): void {
  const after = new Map(plan.steps.map((step) => [step.id, step]));
  for (const view of viewSteps(episode)) {
    if (!view.last || !isOpen(view.last)) continue;
    const now = after.get(view.id);
    if (!now || fingerprint(now) !== fingerprint(view.step)) throw planInUse(episode.episode_id, view.id, view.state);
  }
}
