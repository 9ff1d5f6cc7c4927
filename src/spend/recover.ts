import { attemptState } from '../model/attempt.ts';
import type { Attempt, Episode } from '../model/episode.ts';
import type { SubmitOutcome } from '../model/protocol.ts';
import { withDerived } from '../model/status.ts';
import type { Port, ProcessIdentity } from '../port.ts';
import { readEpisode, saveEpisode } from '../record.ts';
import { clearAbandoned } from './abandoned.ts';
import { withOutcome } from './attempts.ts';
import { isFree } from './budget.ts';
import { giveBackOfDead } from './reserve.ts';
import type { SpendServices } from './spend-services.ts';

/** Whether somebody may still be sending this attempt: its process lives, or, on another host, its lease has not ended. */
function isOwned(port: Port, attempt: Attempt): boolean {
  const liveness = port.liveness(attempt.claim.owner);
  return liveness === 'alive' || (liveness === 'elsewhere' && port.now() < Date.parse(attempt.claim.lease_until));
}

/**
 * Whether the adapter of an attempt is provably gone, its whole process group: it may have left a child that sends.
 * A process group keeps its leader's number from being used again (setpgid(2)).
 */
export function isAdapterGone(port: Port, attempt: Attempt): boolean {
  const { adapter, lease_until } = attempt.claim;
  if (adapter === null) return true;
  const group: ProcessIdentity = { ...adapter, pid: -adapter.pid, started: '' };
  const seen = [port.liveness(adapter), port.liveness(group)];
  if (seen.includes('elsewhere')) return port.now() >= Date.parse(lease_until);
  return seen.every((liveness) => liveness === 'gone');
}

/**
 * What a claim without an outcome comes to once its owner is gone; `null` while somebody owns it or it has an outcome.
 * Only what provably was never sent is released; everything else is unknown from here on.
 */
function fateOf(port: Port, attempt: Attempt): SubmitOutcome | null {
  const state = attemptState(attempt);
  if ((state !== 'claimed' && state !== 'sending') || isOwned(port, attempt)) return null;
  const owner = `pid ${attempt.claim.owner.pid} on ${attempt.claim.owner.host} is gone`;
  if (isFree(attempt.sheet)) return { outcome: 'released', reason: 'crashed', message: owner, billable: 'no' };
  if (attempt.sheet.capabilities.announces_sending === true && state === 'claimed') {
    if (isAdapterGone(port, attempt)) {
      const message = `${owner}, and sending was not announced`;
      return { outcome: 'released', reason: 'not_sent', message, billable: 'no' };
    }
    // The adapter sends nothing without our acknowledgement, but as long as it lives that is a promise and no proof.
    if (port.now() < Date.parse(attempt.claim.lease_until)) return null;
  }
  return { outcome: 'unknown', reason: 'owner_died', message: owner };
}

/** The episode as it really stands: claims of the dead judged, nothing written. */
export function judged(port: Port, recorded: Episode): Episode {
  const at = new Date(port.now()).toISOString();
  const known = recorded.steps
    .flatMap((step) => step.attempts)
    .reduce((episode, attempt) => {
      const fate = fateOf(port, attempt);
      return fate ? withOutcome(episode, attempt.attempt_id, fate, at) : episode;
    }, recorded);
  return known === recorded ? recorded : withDerived(known);
}

/** Reads an episode as it really stands. Throws `EPISODE_NOT_FOUND` (66). */
export const readJudged = async (
  { store, port }: Pick<SpendServices, 'store' | 'port'>,
  episodeId: string,
): Promise<Episode> => judged(port, await store.view((view) => readEpisode(view, episodeId)));

/** Records what `judged` only says, and gives room back that dead commands reserved or rendered in. */
export async function recoverClaims(
  { store, port, root }: Pick<SpendServices, 'store' | 'port' | 'root'>,
  episodeId: string,
): Promise<void> {
  const known = await store.view((view) => readEpisode(view, episodeId));
  await giveBackOfDead(port, root);
  await clearAbandoned({ store, port, root }, episodeId);
  if (judged(port, known) === known) return;
  await store.transact(async (transaction) => {
    const episode = await readEpisode(transaction, episodeId);
    const recovered = judged(port, episode);
    if (recovered === episode) return;
    const at = new Date(port.now()).toISOString();
    await saveEpisode(transaction, recovered, { at, by: port.user, event: 'claims of dead commands judged' });
  });
}
