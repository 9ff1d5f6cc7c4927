import { attemptInFlight, EpisodeError, episodeClosed, resendRefused } from '../errors.ts';
import { attemptState } from '../model/attempt.ts';
import type { Attempt, Episode } from '../model/episode.ts';
import type { Sheet } from '../model/sheet.ts';
import { isHeld, type StepView, viewSteps } from '../model/status.ts';
import { readEpisode, saveEpisode } from '../record.ts';
import type { Transaction } from '../store/store.ts';
import { findAttempt, withRenewedClaim } from './attempts.ts';
import { leaseUntil } from './claim.ts';
import { endOf, lookupText, standingOf, waysOutOf, whyNoResend } from './ends.ts';
import { verifyRecorded } from './inputs.ts';
import { lookUp, recordFinding } from './lookup.ts';
import { isAdapterGone } from './recover.ts';
import { giveBack, takeReserve } from './reserve.ts';
import { send } from './send.ts';
import type { SpendServices } from './spend-services.ts';

interface Said {
  by: string;
  evidence: string;
}

interface Resent {
  episode: Episode;
  /** Whether it was sent; else the lookup found it. */
  sent: boolean;
  failures: EpisodeError[];
}

/**
 * Sends a held attempt once more under the same client reference, with the same params and the same bytes, where its
 * provider promises to count that once and does so still. It is looked up first: what is found there is taken up, and
 * nothing is sent. That the second submission bought nothing says nothing of the first: it is held as before.
 * Throws `RESEND_REFUSED` (12), `ARTIFACT_CHANGED` (10), `ATTEMPT_IN_FLIGHT` (75), `EPISODE_CLOSED` (14), what a lookup
 * throws and `STATE_NOT_SAVED` (11); but for the last, nothing was sent.
 */
export async function resend(
  services: SpendServices,
  episodeId: string,
  { id: step, step: planned, last }: StepView,
  said: Said,
): Promise<Resent> {
  const { port, root, store } = services;
  const attempt = last!;
  const target = { episodeId, step, role: planned?.role ?? null, attempt };
  refuse(services, target, whyNoResend(attempt, port.now()));
  if (!isAdapterGone(port, attempt)) throw stillSending(episodeId, step, attempt);
  const provider = await services.provider(attempt.provider);
  const sheet = await provider.describe();
  refuse(services, target, whyNoResend({ ...attempt, sheet }, port.now()) ?? whyNotTheSame(attempt, sheet));

  const finding = await lookUp(services, target);
  const known = await recordFinding(
    services,
    target,
    finding.outcome?.outcome === 'accepted' ? finding : { ...finding, outcome: null },
  );
  if (finding.outcome?.outcome === 'accepted') return { episode: known, sent: false, failures: [] };
  if (finding.lookup.found !== 'absent') refuse(services, target, lookupText({ ...attempt, ...finding }));
  for (const input of attempt.inputs) await verifyRecorded(services, input);

  refuse(services, target, services.interrupted.aborted ? 'this command was interrupted' : null);
  const reserve = await takeReserve(port, root, known);
  const token = port.random(16);
  let renewed: Attempt | undefined;
  try {
    renewed = await store.transact((transaction) => renew(transaction, services, target, token, said));
  } finally {
    if (!renewed) await giveBack(port, root, reserve);
  }
  const failures: EpisodeError[] = [];
  try {
    await send(services, { ...target, attempt: renewed }, provider, reserve);
  } catch (error) {
    if (!(error instanceof EpisodeError) || error.code === 'STATE_NOT_SAVED') throw error;
    failures.push(error);
  }
  const episode = await store.view((view) => readEpisode(view, episodeId));
  const end = endOf(findAttempt(episode, attempt.attempt_id)!, episodeId, step);
  return { episode, sent: true, failures: end ? [...failures, end] : failures };
}

/** What is sent again is built by the adapter or mapping of now: another version may build something else of the same. */
function whyNotTheSame({ provider, sheet: then }: Attempt, now: Sheet): string | null {
  const isSame = then.version === now.version && then.mapping_sha256 === now.mapping_sha256;
  return isSame ? null : `${provider} is not as it was when this was sent, and might send something else`;
}

type Target = { episodeId: string; step: string; attempt: Attempt };

function refuse({ port }: SpendServices, { episodeId, step, attempt }: Target, why: string | null): void {
  if (why !== null) throw resendRefused(episodeId, step, why, waysOutOf(episodeId, step, attempt, { now: port.now() }));
}

const stillSending = (episodeId: string, step: string, { attempt_id, claim: { adapter } }: Attempt): EpisodeError =>
  attemptInFlight(
    episodeId,
    step,
    attempt_id,
    `the adapter, pid ${adapter?.pid} on ${adapter?.host}, which outlived its command`,
  );

/** The durable claim of what is sent again. Throws, with nothing renewed, when the step does not stand as it did. */
async function renew(
  transaction: Transaction,
  services: SpendServices,
  target: Target,
  token: string,
  { by, evidence }: Said,
): Promise<Attempt> {
  const { port } = services;
  const { episodeId, step, attempt } = target;
  const episode = await readEpisode(transaction, episodeId);
  const current = findAttempt(episode, attempt.attempt_id)!;
  // Renewed already, by a commit that was in doubt.
  if (current.claim.token === token) return current;
  if (episode.closed) throw episodeClosed(episodeId, episode.closed);
  if (attemptState(current) !== 'unknown' || current.claim.token !== attempt.claim.token) {
    const { owner } = current.claim;
    const view = viewSteps(episode).find(({ id }) => id === step)!;
    throw (
      (isHeld(view) ? null : standingOf(view, episodeId)) ??
      attemptInFlight(episodeId, step, attempt.attempt_id, `pid ${owner.pid} on ${owner.host}`)
    );
  }
  // What was asked and hashed took its time.
  refuse(services, { ...target, attempt: current }, whyNoResend(current, port.now()));
  const at = new Date(port.now()).toISOString();
  const claim = { token, owner: { ...port.self }, lease_until: leaseUntil(port.now()) };
  const renewed = withRenewedClaim(episode, attempt.attempt_id, claim, { by, evidence, at });
  const saved = await saveEpisode(transaction, renewed, {
    at,
    by,
    event: 'settled: resend',
    step,
    attempt_id: attempt.attempt_id,
    evidence,
  });
  return findAttempt(saved, attempt.attempt_id)!;
}
