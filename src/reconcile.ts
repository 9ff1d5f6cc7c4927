import type { Attempt, Episode } from './model/episode.ts';
import type { Lookup, SubmitOutcome } from './model/protocol.ts';
import { viewSteps } from './model/status.ts';
import { readEpisode } from './record.ts';
import { withOutcome } from './spend/attempts.ts';
import { recoverClaims } from './spend/recover.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import { changeAttempt } from './spend/send.ts';
import type { SpendServices } from './spend/services.ts';

/**
 * Asks the providers about everything of an episode that was sent: looks unknown tasks up, polls accepted ones once, and
 * brings results home. Never pays. What stays unknown is in the answer's `failures` (11), what still runs too (75).
 */
export async function reconcile(
  services: SpendServices,
  episodeId: string,
  { step }: { step: string | null },
): Promise<SpendAnswer> {
  await recoverClaims(services, episodeId);
  const episode = await services.store.view((view) => readEpisode(view, episodeId));
  for (const view of viewSteps(episode)) {
    if (view.state === 'unknown' && (step === null || step === view.id))
      await lookUp(services, episode, view.id, view.last!);
  }
  const result = await run(services, episodeId, {
    verb: 'generate',
    reason: null,
    mayStart: () => false,
    steps: step === null ? null : [step],
    maxCost: null,
    waitMs: 0,
  });
  return reportOf(result, services.config.currency);
}

async function lookUp(services: SpendServices, episode: Episode, step: string, attempt: Attempt): Promise<void> {
  const provider = await services.provider(attempt.provider);
  const found = await provider.lookup?.({
    client_ref: attempt.client_ref,
    claimed_at: attempt.claim.at,
    fingerprint: attempt.fingerprint,
  });
  const outcome = found && judge(found, attempt, services.port.now());
  if (!outcome) {
    services.note(`${attempt.provider} on ${step}: ${describe(found)}`);
    return;
  }
  const target = { episodeId: episode.episode_id, step, attempt };
  await changeAttempt(services, target, `looked up: ${outcome.outcome}`, (known, at) =>
    withOutcome(known, attempt.attempt_id, outcome, at),
  );
}

/** What a lookup proves, by the sheet that was stored with the claim; `null` when it proves nothing. */
function judge(found: Lookup, attempt: Attempt, now: number): SubmitOutcome | null {
  const exact = (found.refs ?? []).filter((candidate) => candidate.match !== 'probable');
  if (found.found === 'present' && exact.length === 1) return { outcome: 'accepted', ref: exact[0]!.ref };
  const lookup = attempt.sheet.capabilities.lookup;
  const sentMs = Date.parse(attempt.sending_at ?? attempt.claim.at);
  const settledMs = sentMs + 1000 * (lookup?.settle_seconds ?? 0);
  const provable = lookup?.proves?.absent === true && found.complete === true && now >= settledMs;
  if (found.found !== 'absent' || !provable || attempt.settlement) return null;
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
