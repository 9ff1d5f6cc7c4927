import type { Attempt, Episode } from '../model/episode.ts';
import type { SubmitOutcome } from '../model/protocol.ts';
import { attemptState } from '../model/status.ts';
import type { Port } from '../port.ts';
import { readEpisode, saveEpisode } from '../record.ts';
import { withOutcome } from './attempts.ts';
import { isFree } from './budget.ts';
import type { SpendServices } from './services.ts';

/** Whether somebody may still be sending this attempt: its process lives, or, on another host, its lease has not ended. */
export function isOwned(port: Port, attempt: Attempt): boolean {
  const liveness = port.liveness(attempt.claim.owner);
  return liveness === 'alive' || (liveness === 'elsewhere' && port.now() < Date.parse(attempt.claim.lease_until));
}

/**
 * What a claim without an outcome comes to once its owner is gone; `null` while somebody owns it or it has an outcome.
 * Only what provably was never sent is released; everything else is unknown from here on.
 */
export function fateOf(port: Port, attempt: Attempt): SubmitOutcome | null {
  const state = attemptState(attempt);
  if ((state !== 'claimed' && state !== 'sending') || isOwned(port, attempt)) return null;
  const owner = `pid ${attempt.claim.owner.pid} on ${attempt.claim.owner.host} is gone`;
  if (isFree(attempt.sheet)) return { outcome: 'released', reason: 'crashed', message: owner, billable: 'no' };
  if (attempt.sheet.capabilities.announces_sending === true && state === 'claimed') {
    const adapter = attempt.claim.adapter;
    if (adapter === null || port.liveness(adapter) === 'gone') {
      return {
        outcome: 'released',
        reason: 'not_sent',
        message: `${owner}, and sending was not announced`,
        billable: 'no',
      };
    }
    // The adapter sends nothing without our acknowledgement, but as long as it lives that is a promise and no proof.
    if (port.now() < Date.parse(attempt.claim.lease_until)) return null;
  }
  return { outcome: 'unknown', reason: 'owner_died', message: owner };
}

/** The episode as it really stands: claims of the dead judged, nothing written. */
export function judged(port: Port, episode: Episode): Episode {
  const at = new Date(port.now()).toISOString();
  return claimsOf(episode).reduce((known, attempt) => {
    const fate = fateOf(port, attempt);
    return fate ? withOutcome(known, attempt.attempt_id, fate, at) : known;
  }, episode);
}

/** Records what `judged` only says. */
export async function recoverClaims(
  { store, port }: Pick<SpendServices, 'store' | 'port'>,
  episodeId: string,
): Promise<void> {
  const known = await store.view((view) => readEpisode(view, episodeId));
  if (judged(port, known) === known) return;
  await store.transact(async (transaction) => {
    const episode = await readEpisode(transaction, episodeId);
    const recovered = judged(port, episode);
    if (recovered === episode) return;
    const at = new Date(port.now()).toISOString();
    await saveEpisode(transaction, recovered, { at, by: port.user, event: 'claims of dead commands judged' });
  });
}

const claimsOf = (episode: Episode): Attempt[] => episode.steps.flatMap((step) => step.attempts);
