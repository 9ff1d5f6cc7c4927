import { episodeClosed, planInUse } from './errors.ts';
import { fingerprint } from './fingerprint.ts';
import { isOpen } from './model/attempt.ts';
import type { Episode } from './model/episode.ts';
import type { Plan, Step } from './model/plan.ts';
import { viewSteps, withDerived } from './model/status.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { type Pricing, price } from './spend/preview.ts';
import { judged } from './spend/recover.ts';
import type { SpendServices } from './spend/spend-services.ts';

export interface PlanAnswer extends Pricing {
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
  return {
    verdict: 'proceed',
    episode_id: null,
    plan_sha256: fingerprint(plan),
    status: null,
    ...differences([], plan.steps),
    stale: [],
    ...(await price(services, plan.steps)),
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
  const plan_sha256 = fingerprint(plan);
  const look = await store.view((view) => readEpisode(view, episodeId));
  refuseMerge(judged(port, look), plan);
  const pricing = await price(services, plan.steps);
  const { before, after } = dryRun
    ? { before: look, after: withDerived({ ...look, plan, plan_sha256 }) }
    : await store.transact(async (transaction) => {
        const episode = await readEpisode(transaction, episodeId);
        refuseMerge(judged(port, episode), plan);
        if (episode.plan_sha256 === plan_sha256) return { before: episode, after: episode };
        const at = new Date(port.now()).toISOString();
        const merged = { ...episode, plan, plan_sha256 };
        const event = { at, by: port.user, event: 'planned', plan_sha256 };
        return { before: episode, after: await saveEpisode(transaction, merged, event) };
      });
  return {
    verdict: before.plan_sha256 === plan_sha256 ? 'replay' : 'proceed',
    episode_id: episodeId,
    plan_sha256,
    status: after.status,
    ...differences(before.plan?.steps ?? [], plan.steps),
    stale: viewSteps(after).flatMap((view) => (view.state === 'stale' ? [view.id] : [])),
    ...pricing,
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

function refuseMerge(episode: Episode, plan: Plan): void {
  if (episode.closed) throw episodeClosed(episode.episode_id, episode.closed);
  const after = new Map(plan.steps.map((step) => [step.id, step]));
  for (const view of viewSteps(episode)) {
    if (!view.last || !isOpen(view.last)) continue;
    const now = after.get(view.id);
    if (!now || fingerprint(now) !== fingerprint(view.step)) throw planInUse(episode.episode_id, view.id, view.state);
  }
}
