import { fingerprint } from '../fingerprint.ts';
import type { Attempt, CostRow, Episode } from '../model/episode.ts';
import type { RemoteStatus, SubmitOutcome } from '../model/protocol.ts';
import type { Lookup, Settlement } from '../model/said.ts';
import type { Charge, Task } from '../providers/provider.ts';

/** Pure moves of one attempt and its cost row inside an episode's record. */

/** The same for every re-send of this intent, also after a roll-back of the whole machine. */
export function idsOf(ledgerId: string, episodeId: string, step: string, number: number) {
  const digest = fingerprint({ ledger_id: ledgerId, episode_id: episodeId, step, attempt: number });
  return { attempt_id: `att-${digest.slice(0, 24)}`, client_ref: `ep-${digest.slice(0, 32)}` };
}

export const findAttempt = (episode: Episode, attemptId: string): Attempt | undefined =>
  episode.steps.flatMap((step) => step.attempts).find((attempt) => attempt.attempt_id === attemptId);

/** What its provider needs to be asked about it. */
export const taskOf = ({ ref, checkpoint, attempt_id, client_ref, kind, params, claim }: Attempt): Task => ({
  ref: ref!,
  checkpoint,
  attempt_id,
  client_ref,
  kind,
  params,
  claimed_at: claim.at,
});

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
const priced = (row: CostRow, price: Charge | undefined): CostRow =>
  price === undefined || price.amount === null
    ? row
    : {
        ...row,
        amount: price.amount,
        unit: price.unit,
        basis: price.basis ?? 'reported',
        ...(price.final === true && { final: true }),
      };

const moved = (row: CostRow, state: CostRow['state'], at: string): CostRow => ({ ...row, state, at });

const settled = (row: CostRow, price: Charge | undefined, at: string): CostRow =>
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
        // Told already, while its command still waited for this answer, what the task came to.
        return isOver(before, ref) ? row : moved(priced(row, outcome.cost), 'reserved', at);
      case 'completed':
        return settled(row, outcome.cost, at);
      case 'released':
        return afterFailure(row, outcome.billable ?? 'no', at);
      case 'unknown':
        return moved(row, 'possible', at);
    }
  });
}

const isOver = ({ ref, remote }: Attempt, accepted: string | null): boolean =>
  ref === accepted && (remote?.state === 'error' || remote?.state === 'canceled');

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
export function withSettlement(episode: Episode, attemptId: string, settlement: Settlement): Episode {
  const before = findAttempt(episode, attemptId);
  // Its provider called it so, or never called it anything: what it said of it stands.
  const isSame = settlement.form === 'accepted' && (before?.ref === null || before?.ref === settlement.ref);
  const changed = withAttempt(episode, attemptId, (attempt) => ({
    ...attempt,
    settlement,
    ref: settlement.form === 'write_off' ? attempt.ref : settlement.ref,
    // With its output here, what the provider says of it is history; else it is asked anew.
    remote: settlement.form === 'write_off' || (isSame && settlement.files) ? attempt.remote : null,
    outcome:
      settlement.form === 'accepted' && !(isSame && attempt.outcome?.outcome === 'accepted')
        ? { outcome: 'accepted', at: settlement.at, reason: 'settled' }
        : attempt.outcome,
  }));
  const state = { accepted: 'reserved', not_accepted: 'released', write_off: 'possible' } as const;
  return withCost(changed, attemptId, (row) =>
    isSame && row.state === 'settled' ? row : moved(atWorst(row), state[settlement.form], settlement.at),
  );
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
  price: Charge | undefined,
  at: string,
): Episode {
  const changed = withAttempt(episode, attemptId, (attempt) => ({ ...attempt, files, finished_at: at }));
  const costed = withCost(changed, attemptId, (row) => (row.state === 'settled' ? row : settled(row, price, at)));
  return { ...costed, artifacts: [...costed.artifacts, ...files] };
}

/** What its provider says only now that it cost. */
export const withPrice = (episode: Episode, attemptId: string, price: Charge, at: string): Episode =>
  withCost(episode, attemptId, (row) => settled(row, price, at));

/** That a person had its provider asked to stop it; what became of it is said by `withRemote`. */
export const withCancellation = (
  episode: Episode,
  attemptId: string,
  cancellation: NonNullable<Attempt['cancellation']>,
): Episode => withAttempt(episode, attemptId, (attempt) => ({ ...attempt, cancellation }));

/** Its provider says once more that it no longer has it. */
export const withAskedAgain = (episode: Episode, attemptId: string, at: string): Episode =>
  withAttempt(episode, attemptId, (attempt) => ({
    ...attempt,
    remote: attempt.remote && { ...attempt.remote, asked_at: at },
  }));

/** Whoever asks every few minutes leaves one event, not thousands: the last of its kind makes room for the new one. */
export function withoutRepeat(episode: Episode, attemptId: string, event: string): Episode {
  const last = episode.events.at(-1);
  const isRepeat = last?.event === event && last.attempt_id === attemptId;
  return isRepeat ? { ...episode, events: episode.events.slice(0, -1) } : episode;
}

/** What a lookup found. Asking again and again leaves the last answer, not a history. */
export const withLookup = (episode: Episode, attemptId: string, lookup: Lookup): Episode =>
  withAttempt(episode, attemptId, (attempt) => ({ ...attempt, lookup }));

/** When an attempt was sent, as far as it is known. */
export type Sent = Pick<Attempt, 'resends' | 'sending_at' | 'claim'>;

/** The earliest that it can have been sent: from there a provider counts how long it knows a client reference. */
export const firstSentAt = ({ resends, sending_at, claim }: Sent): string =>
  resends?.[0]?.sent_at ?? sending_at ?? claim.at;

/** The latest that it can have been sent: from there a provider has its time to list it. */
export const lastSentMs = ({ resends, sending_at, claim }: Attempt): number =>
  Math.max(Date.parse(resends?.at(-1)?.at ?? claim.at), Date.parse(sending_at ?? claim.at));

/** It may have been sent since: only the answer of this very claim, or evidence, says anything from here on. */
export function withRenewedClaim(
  episode: Episode,
  attemptId: string,
  claim: Pick<Attempt['claim'], 'token' | 'owner' | 'lease_until'>,
  { by, evidence, at }: { by: string; evidence: string; at: string },
): Episode {
  return withAttempt(episode, attemptId, (attempt) => {
    const sent_at = attempt.sending_at ?? attempt.claim.at;
    return {
      ...attempt,
      claim: { ...attempt.claim, ...claim, adapter: null },
      sending_at: sent_at,
      outcome: null,
      resends: [...(attempt.resends ?? []), { at, by, evidence, sent_at }],
    };
  });
}
