import { attemptInFlight, episodeClosed, planMissing } from '../errors.ts';
import { fingerprint } from '../fingerprint.ts';
import { isOpen } from '../model/attempt.ts';
import type { Config } from '../model/config.ts';
import type { Attempt, CostRow, Episode, InputRecord } from '../model/episode.ts';
import type { Step } from '../model/plan.ts';
import type { Sheet } from '../model/sheet.ts';
import { resolveInputs, type StepView, viewSteps } from '../model/status.ts';
import { readEpisode, readEpisodeIds, readLedger, saveEpisode } from '../record.ts';
import type { Transaction, View } from '../store/store.ts';
import { idsOf } from './attempts.ts';
import { isFree, type Quote, refusePurchase } from './budget.ts';
import type { SpendServices } from './spend-services.ts';

/** Longer than any send may take (an adapter has 15 minutes): until then an owner on another host is taken to be alive. */
const LEASE_MS = 20 * 60_000;

export const leaseUntil = (now: number): string => new Date(now + LEASE_MS).toISOString();

interface ClaimRequest {
  episodeId: string;
  step: Step;
  /** Of the plan that was read: a plan that changed since is read again. */
  planSha256: string;
  verb: Attempt['verb'];
  reason: string | null;
  /** Of this command: finds its own claim again when the commit was in doubt, and bounds `maxCost`. */
  token: string;
  sheet: Sheet;
  quote: Quote;
  inputs: InputRecord[];
  maxCost: string | null;
  /** Whether this command may start a new attempt of the step as it stands. */
  mayStart(view: StepView, episode: Episode): boolean;
}

type Claimed = { verdict: 'proceed'; attempt: Attempt };
type Changed = { verdict: 'changed' };

/**
 * Transaction 1 of a paid call: checks everything again under the lock, reserves the worst case, and records the claim.
 * Nothing may be sent before this returns `proceed`. `changed`: what was read before is no longer so; read again.
 * Throws `EPISODE_CLOSED`, `PLAN_MISSING`, `ATTEMPT_IN_FLIGHT`, `BUDGET_EXCEEDED`, `UNPRICED`, `BUDGET_MISSING`; nothing is claimed.
 */
export async function claim(
  services: Pick<SpendServices, 'store' | 'port' | 'config'>,
  request: ClaimRequest,
): Promise<Claimed | Changed> {
  return services.store.transact((transaction) => decideClaim(transaction, services, request));
}

async function decideClaim(
  transaction: Transaction,
  { port, config }: Pick<SpendServices, 'port' | 'config'>,
  request: ClaimRequest,
): Promise<Claimed | Changed> {
  const { step, token } = request;
  const episode = await readEpisode(transaction, request.episodeId);
  const attempts = episode.steps.find((record) => record.id === step.id)?.attempts ?? [];
  const own = attempts.find((attempt) => attempt.claim.token === token);
  if (own) return { verdict: 'proceed', attempt: own };
  if (episode.closed) throw episodeClosed(episode.episode_id, episode.closed);
  if (!episode.plan) throw planMissing(episode.episode_id);
  if (episode.plan_sha256 !== request.planSha256) return { verdict: 'changed' };
  const open = attempts.find(isOpen);
  if (open) return refuseOpen(episode.episode_id, step.id, open);
  const views = viewSteps(episode);
  const view = views.find((candidate) => candidate.id === step.id);
  if (!view?.step || !request.mayStart(view, episode)) return { verdict: 'changed' };
  const current = resolveInputs(step, new Map(views.map((other) => [other.id, other])), request.inputs);
  if (fingerprint(current) !== fingerprint(request.inputs)) return { verdict: 'changed' };

  const purchase = {
    episodeId: episode.episode_id,
    step: step.id,
    provider: step.provider,
    free: isFree(request.sheet),
    quote: request.quote,
  };
  const ofRun = new Set(
    episode.steps.flatMap((record) =>
      record.attempts.flatMap((attempt) => (attempt.claim.token === token ? [attempt.attempt_id] : [])),
    ),
  );
  const run = episode.costs.filter((row) => ofRun.has(row.attempt_id));
  const rows = purchase.free ? NOTHING : await promised(transaction, episode, config);
  const refusal = refusePurchase(purchase, { ...rows, run }, config, request.maxCost);
  if (refusal) throw refusal;
  const ledger = await readLedger(transaction);
  const at = port.now();
  const attempt = newAttempt(request, idsOf(ledger.ledger_id, episode.episode_id, step.id, attempts.length + 1), {
    number: attempts.length + 1,
    at,
    by: port.user,
    owner: { ...port.self },
  });
  await saveEpisode(
    transaction,
    {
      ...episode,
      steps: withNewAttempt(episode, step.id, attempt),
      costs: isFree(request.sheet) ? episode.costs : [...episode.costs, reserve(request, attempt)],
    },
    { at: attempt.claim.at, by: port.user, event: 'claimed', step: step.id, attempt_id: attempt.attempt_id },
  );
  return { verdict: 'proceed', attempt };
}

/** Somebody is sending it: said. It was accepted or is unknown: the caller looks again and sees that. */
function refuseOpen(episodeId: string, step: string, { attempt_id, claim: { owner }, ...attempt }: Attempt): Changed {
  if (attempt.outcome !== null || attempt.ref !== null) return { verdict: 'changed' };
  throw attemptInFlight(episodeId, step, attempt_id, `pid ${owner.pid} on ${owner.host}`);
}

const NOTHING = { episode: [], week: [] };

/**
 * What budgets count. The other episodes of the week are read only when the week has a budget: all that it ever had, for a
 * lost record is not nothing spent. Throws `LEDGER_INCOMPLETE` (65).
 */
export async function promised(
  view: View,
  episode: Episode,
  { budget }: Config,
): Promise<{ episode: CostRow[]; week: CostRow[] }> {
  const week: CostRow[] = [...episode.costs];
  if (budget.per_week !== undefined || budget.quantities?.per_week !== undefined) {
    for (const id of await readEpisodeIds(view, episode.week_id)) {
      if (id !== episode.episode_id) week.push(...(await readEpisode(view, id)).costs);
    }
  }
  return { episode: episode.costs, week };
}

function withNewAttempt(episode: Episode, stepId: string, attempt: Attempt): Episode['steps'] {
  const known = episode.steps.some((record) => record.id === stepId);
  const steps = known ? episode.steps : [...episode.steps, { id: stepId, state: '', attempts: [] }];
  return steps.map((record) =>
    record.id === stepId ? { ...record, attempts: [...record.attempts, attempt] } : record,
  );
}

const reserve = ({ step, quote }: ClaimRequest, attempt: Attempt): CostRow => ({
  attempt_id: attempt.attempt_id,
  step: step.id,
  provider: step.provider,
  state: 'reserved',
  amount: quote.amount,
  unit: quote.unit,
  basis: quote.basis,
  worst_case: { amount: quote.amount, unit: quote.unit },
  quantities: quote.quantities,
  at: attempt.claim.at,
});

function newAttempt(
  { step, verb, reason, token, sheet, inputs }: ClaimRequest,
  ids: { attempt_id: string; client_ref: string },
  { number, at, by, owner }: { number: number; at: number; by: string; owner: Attempt['claim']['owner'] },
): Attempt {
  const params = step.params ?? {};
  const hashes = inputs.map((input) => ({ name: input.name, sha256: input.sha256 }));
  return {
    ...ids,
    number,
    verb,
    reason,
    provider: step.provider,
    kind: step.kind,
    params,
    inputs,
    fingerprint: fingerprint({ provider: step.provider, kind: step.kind, params, inputs: hashes }),
    sheet,
    claim: {
      at: new Date(at).toISOString(),
      by,
      token,
      owner,
      lease_until: leaseUntil(at),
      adapter: null,
    },
    checkpoint: null,
    sending_at: null,
    ref: null,
    outcome: null,
    remote: null,
    files: null,
    finished_at: null,
    settlement: null,
    rejection: null,
  };
}
