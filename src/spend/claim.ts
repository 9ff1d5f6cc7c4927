import { attemptInFlight, episodeClosed, planMissing } from '../errors.ts';
import { fingerprint } from '../fingerprint.ts';
import type { Attempt, CostRow, Episode, InputRecord } from '../model/episode.ts';
import { compareEpisodeIds } from '../model/episode-id.ts';
import type { Step } from '../model/plan.ts';
import type { Sheet } from '../model/protocol.ts';
import { isOpen, resolveInputs, type StepView, viewSteps } from '../model/status.ts';
import { readEpisode, saveEpisode } from '../record.ts';
import { ref, type Transaction } from '../store/store.ts';
import { idsOf } from './attempts.ts';
import { isFree, type Quote, refusePurchase } from './budget.ts';
import type { SpendServices } from './services.ts';

/** The longest that sending may take: until then an owner on another host is taken to be alive. */
const LEASE_MS = 15 * 60_000;

export interface ClaimRequest {
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

/**
 * Transaction 1 of a paid call: checks everything again under the lock, reserves the worst case, and records the claim.
 * Nothing may be sent before this returns `proceed`. `changed`: what was read before is no longer so; read again.
 * Throws `EPISODE_CLOSED`, `PLAN_MISSING`, `ATTEMPT_IN_FLIGHT`, `BUDGET_EXCEEDED`, `UNPRICED`, `BUDGET_MISSING`; nothing is claimed.
 */
export async function claim(
  services: Pick<SpendServices, 'store' | 'port' | 'config'>,
  request: ClaimRequest,
): Promise<{ verdict: 'proceed'; attempt: Attempt } | { verdict: 'changed' }> {
  return services.store.transact((transaction) => decideClaim(transaction, services, request));
}

async function decideClaim(
  transaction: Transaction,
  { port, config }: Pick<SpendServices, 'port' | 'config'>,
  request: ClaimRequest,
): Promise<{ verdict: 'proceed'; attempt: Attempt } | { verdict: 'changed' }> {
  const { step, token } = request;
  const episode = await readEpisode(transaction, request.episodeId);
  const attempts = episode.steps.find((record) => record.id === step.id)?.attempts ?? [];
  const own = attempts.find((attempt) => attempt.claim.token === token);
  if (own) return { verdict: 'proceed', attempt: own };
  if (episode.closed) throw episodeClosed(episode.episode_id, episode.closed);
  if (!episode.plan) throw planMissing(episode.episode_id);
  if (episode.plan_sha256 !== request.planSha256) return { verdict: 'changed' };
  const open = attempts.find(isOpen);
  if (open)
    throw attemptInFlight(
      episode.episode_id,
      step.id,
      open.attempt_id,
      `pid ${open.claim.owner.pid} on ${open.claim.owner.host}`,
    );
  const views = viewSteps(episode);
  const view = views.find((candidate) => candidate.id === step.id);
  if (!view?.step || !request.mayStart(view, episode)) return { verdict: 'changed' };
  const current = resolveInputs(step, new Map(views.map((other) => [other.id, other])), request.inputs);
  if (fingerprint(current) !== fingerprint(request.inputs)) return { verdict: 'changed' };

  const purchase = {
    episodeId: episode.episode_id,
    step: step.id,
    provider: step.provider,
    sheet: request.sheet,
    quote: request.quote,
  };
  const refusal = refusePurchase(purchase, await promised(transaction, episode, token), config, request.maxCost);
  if (refusal) throw refusal;
  const ledger = await transaction.get(ref('ledger', ''));
  const at = port.now();
  const attempt = newAttempt(request, idsOf(ledger!.ledger_id, episode.episode_id, step.id, attempts.length + 1), {
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

async function promised(transaction: Transaction, episode: Episode, token: string) {
  const ids = await transaction.list('episode', episode.week_id);
  const others = ids.filter((id) => id !== episode.episode_id).sort(compareEpisodeIds);
  const week: CostRow[] = [...episode.costs];
  for (const id of others) week.push(...(await readEpisode(transaction, id)).costs);
  const ofRun = new Set(
    episode.steps.flatMap((step) =>
      step.attempts.flatMap((attempt) => (attempt.claim.token === token ? [attempt.attempt_id] : [])),
    ),
  );
  return { episode: episode.costs, week, run: episode.costs.filter((row) => ofRun.has(row.attempt_id)) };
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
      lease_until: new Date(at + LEASE_MS).toISOString(),
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
