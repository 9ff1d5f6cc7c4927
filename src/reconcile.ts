import { findStep } from './generate.ts';
import { attemptState } from './model/attempt.ts';
import type { Attempt } from './model/episode.ts';
import type { Lookup, SubmitOutcome } from './model/protocol.ts';
import type { Port } from './port.ts';
import { readEpisode } from './record.ts';
import { withOutcome } from './spend/attempts.ts';
import { isAdapterGone, recoverClaims } from './spend/recover.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import { changeAttempt } from './spend/send.ts';
import type { SpendServices } from './spend/spend-services.ts';

/**
 * Asks the providers about everything of an episode that was sent: looks unknown tasks up, polls accepted ones once, and
 * brings results home. Never pays. What stays unknown is in the answer's `failures` (11), what still runs too (75).
 * Throws `EPISODE_NOT_FOUND` (66), `STEP_NOT_FOUND` (64).
 */
export async function reconcile(
  services: SpendServices,
  episodeId: string,
  { step }: { step: string | null },
): Promise<SpendAnswer> {
  await recoverClaims(services, episodeId);
  const episode = await services.store.view((view) => readEpisode(view, episodeId));
  if (step !== null) findStep(episode, step);
  for (const { id, attempts } of episode.steps) {
    if (step !== null && step !== id) continue;
    for (const attempt of attempts) if (isUncertain(attempt)) await lookUp(services, episodeId, id, attempt);
  }
  const authority = { starts: null, steps: step === null ? null : [step], maxCost: null, waitMs: 0 };
  return reportOf(await run(services, episodeId, authority), services.config.currency);
}

/**
 * Also what was written off, and paid again since: that it was accepted after all is still worth knowing. Of what is known
 * to have been accepted it is no news, and a person gave it up all the same: only a person takes it up again.
 */
const isUncertain = (attempt: Attempt): boolean =>
  attempt.ref === null && ['unknown', 'written-off'].includes(attemptState(attempt));

async function lookUp(services: SpendServices, episodeId: string, step: string, attempt: Attempt): Promise<void> {
  const provider = await services.provider(attempt.provider);
  const found = await provider.lookup?.({
    client_ref: attempt.client_ref,
    claimed_at: attempt.claim.at,
    fingerprint: attempt.fingerprint,
  });
  const outcome = found && judge(found, attempt, services.port);
  if (!outcome) {
    services.note(`${attempt.provider} on ${step}: ${describe(found)}`);
    return;
  }
  await changeAttempt(services, { episodeId, step, attempt }, `looked up: ${outcome.outcome}`, (known, at) =>
    withOutcome(known, attempt.attempt_id, outcome, at),
  );
}

/** What a lookup proves, by the sheet that was stored with the claim; `null` when it proves nothing. */
function judge(found: Lookup, attempt: Attempt, port: Port): SubmitOutcome | null {
  const exact = (found.refs ?? []).filter((candidate) => candidate.match !== 'probable');
  if (found.found === 'present') return exact.length === 1 ? { outcome: 'accepted', ref: exact[0]!.ref } : null;
  const lookup = attempt.sheet.capabilities.lookup;
  const sentMs = Date.parse(attempt.sending_at ?? attempt.claim.at);
  const settledMs = sentMs + 1000 * (lookup?.settle_seconds ?? 0);
  const isProof = found.found === 'absent' && found.complete === true && lookup?.proves?.absent === true;
  // An adapter that outlived its command may be sending right now.
  if (!isProof || port.now() < settledMs || attempt.settlement || !isAdapterGone(port, attempt)) return null;
  return {
    outcome: 'released',
    reason: 'not_sent',
    message: 'the provider proves that it has no such task',
    billable: 'no',
  };
}

function describe(found: Lookup | undefined): string {
  if (!found || found.found === 'unsupported') return 'it cannot look tasks up';
  if (found.found === 'absent') return 'not listed, which proves nothing yet';
  return `it lists ${(found.refs ?? []).map(({ ref }) => ref).join(', ') || 'something'}, and it is not certain which is ours`;
}
