import { fingerprint } from '../fingerprint.ts';
import type { Attempt, CostRow, Episode } from '../model/episode.ts';
import type { Price, RemoteStatus, SubmitOutcome } from '../model/protocol.ts';

/** Pure moves of one attempt and its cost row inside an episode's record. */

/** The same for every re-send of this intent, also after a roll-back of the whole machine. */
export function idsOf(ledgerId: string, episodeId: string, step: string, number: number) {
  const digest = fingerprint({ ledger_id: ledgerId, episode_id: episodeId, step, attempt: number });
  return { attempt_id: `att-${digest.slice(0, 24)}`, client_ref: `ep-${digest.slice(0, 32)}` };
}

export const findAttempt = (episode: Episode, attemptId: string): Attempt | undefined =>
  episode.steps.flatMap((step) => step.attempts).find((attempt) => attempt.attempt_id === attemptId);

export function withAttempt(episode: Episode, attemptId: string, change: (attempt: Attempt) => Attempt): Episode {
  const steps = episode.steps.map((step) => ({
    ...step,
    attempts: step.attempts.map((attempt) => (attempt.attempt_id === attemptId ? change(attempt) : attempt)),
  }));
  return { ...episode, steps };
}

/** The row of a free attempt does not exist, and nothing is made up for it. */
function withCost(episode: Episode, attemptId: string, change: (row: CostRow) => CostRow): Episode {
  return { ...episode, costs: episode.costs.map((row) => (row.attempt_id === attemptId ? change(row) : row)) };
}

/** A price that nobody knows leaves the worst case standing: it still counts in budgets. */
const priced = (row: CostRow, price: Price | undefined): CostRow =>
  price === undefined || price.amount === null
    ? row
    : { ...row, amount: price.amount, unit: price.unit, basis: price.basis ?? 'reported' };

const moved = (row: CostRow, state: CostRow['state'], at: string): CostRow => ({ ...row, state, at });

const settled = (row: CostRow, price: Price | undefined, at: string): CostRow =>
  moved(priced(row, price), 'settled', at);

/** What failed may still have been charged: only the provider's word releases it. */
const afterFailure = (row: CostRow, billable: 'yes' | 'no' | 'unknown' | undefined, at: string): CostRow =>
  moved(row, billable === 'no' ? 'released' : billable === 'yes' ? 'settled' : 'possible', at);

/**
 * Whether an answer, perhaps a late one, says more than what is on record. A reference is never given up for `released`
 * or `unknown`, nor an answer or a person's word for `unknown`; an output that is here makes any answer old news.
 */
function isNews(attempt: Attempt, outcome: SubmitOutcome): boolean {
  if (attempt.files) return false;
  if (outcome.outcome === 'accepted' || outcome.outcome === 'completed') return true;
  if (attempt.ref !== null) return false;
  return outcome.outcome === 'released' || attempt.outcome === null;
}

/** What a submission answered, unless something better is on record. */
export function withOutcome(episode: Episode, attemptId: string, outcome: SubmitOutcome, at: string): Episode {
  const before = findAttempt(episode, attemptId);
  if (!before || !isNews(before, outcome)) return episode;
  const ref = referenceIn(outcome) ?? before.ref;
  const changed = withAttempt(episode, attemptId, (attempt) => ({
    ...attempt,
    ref,
    remote: ref === attempt.ref ? attempt.remote : null,
    outcome: { outcome: outcome.outcome, at, ...said(outcome) },
    // What a person said without knowing this stays in the events.
    settlement: null,
  }));
  return withCost(changed, attemptId, (row) => {
    switch (outcome.outcome) {
      case 'accepted':
        return moved(priced(row, outcome.cost), 'reserved', at);
      case 'completed':
        return settled(row, outcome.cost, at);
      case 'released':
        return afterFailure(row, outcome.billable ?? 'no', at);
      case 'unknown':
        return moved(row, 'possible', at);
    }
  });
}

const referenceIn = (outcome: SubmitOutcome): string | undefined =>
  outcome.outcome === 'accepted' || outcome.outcome === 'completed' ? outcome.ref : undefined;

function said(outcome: SubmitOutcome) {
  if (outcome.outcome === 'accepted') return { reason: null };
  // A `completed` answer whose files are no result carries why.
  const {
    reason = null,
    message,
    evidence,
  } = outcome as { reason?: string; message?: string; evidence?: Record<string, unknown> };
  const released = outcome.outcome === 'released' ? outcome : undefined;
  return {
    reason,
    ...(message !== undefined && { message }),
    ...(evidence !== undefined && { evidence }),
    ...(released?.billable !== undefined && { billable: released.billable }),
    ...(released?.retry_after !== undefined && { retry_after: released.retry_after }),
  };
}

/**
 * What a person said of an attempt whose outcome nobody knew, or corrected. What the provider told under a reference that
 * a person gave is of that reference: with another one, or with none, it counts no more.
 */
export function withSettlement(
  episode: Episode,
  attemptId: string,
  settlement: NonNullable<Attempt['settlement']>,
): Episode {
  const accepted = settlement.form === 'accepted' && {
    outcome: 'accepted' as const,
    at: settlement.at,
    reason: 'settled',
  };
  const changed = withAttempt(episode, attemptId, (attempt) => ({
    ...attempt,
    settlement,
    ref: settlement.form === 'write_off' ? attempt.ref : settlement.ref,
    remote: settlement.form === 'write_off' ? attempt.remote : null,
    outcome: accepted || attempt.outcome,
  }));
  const state = { accepted: 'reserved', not_accepted: 'released', write_off: 'possible' } as const;
  return withCost(changed, attemptId, (row) => moved(atWorst(row), state[settlement.form], settlement.at));
}

/** What a failure under a wrong reference was said to cost is forgotten: the worst case stands again. */
const atWorst = (row: CostRow): CostRow =>
  row.state === 'settled' && row.worst_case ? { ...row, ...row.worst_case, basis: 'unknown' } : row;

/** What the provider says of an accepted task. `not_found` and `expired` are noted and change nothing else. */
export function withRemote(episode: Episode, attemptId: string, status: RemoteStatus, at: string): Episode {
  const remote = {
    state: status.state,
    progress: status.progress ?? null,
    reason: status.reason ?? null,
    ...(status.billable !== undefined && { billable: status.billable }),
    at,
  };
  const changed = withAttempt(episode, attemptId, (attempt) => ({ ...attempt, remote }));
  if (status.state !== 'error' && status.state !== 'canceled') return changed;
  return withCost(changed, attemptId, (row) =>
    isCharged(status) ? settled(row, status.cost, at) : afterFailure(row, status.billable, at),
  );
}

/** A price beside a failure is what it cost, unless the provider says in the same breath that it costs nothing. */
const isCharged = ({ cost, billable }: RemoteStatus): boolean =>
  cost !== undefined && cost.amount !== null && billable !== 'no';

/** The output, verified and in its place: from here on the step has succeeded. */
export function withFiles(
  episode: Episode,
  attemptId: string,
  files: NonNullable<Attempt['files']>,
  price: Price | undefined,
  at: string,
): Episode {
  const changed = withAttempt(episode, attemptId, (attempt) => ({ ...attempt, files, finished_at: at }));
  const costed = withCost(changed, attemptId, (row) => (row.state === 'settled' ? row : settled(row, price, at)));
  return { ...costed, artifacts: [...costed.artifacts, ...files] };
}
