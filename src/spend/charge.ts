import { EpisodeError } from '../errors.ts';
import type { Attempt, Episode } from '../model/episode.ts';
import type { Charge } from '../providers/provider.ts';
import { findAttempt, taskOf, withPrice } from './attempts.ts';
import { changeAttempt, type Target } from './send.ts';
import type { SpendServices } from './spend-services.ts';

/** What a task cost where its provider says so beside the result, or only later. Free to ask, and in nobody's way. */

const DAY_MS = 86_400_000;
/** Bills close after some days: what was not said by then is asked for only by name. */
const SAID_WITHIN_MS = 14 * DAY_MS;

/** Whether its provider says only later what it cost, and has not said it yet. */
export function isChargeOpen(episode: Episode, { attempt_id, ref, sheet, files, remote }: Attempt): boolean {
  const row = episode.costs.find((candidate) => candidate.attempt_id === attempt_id);
  const isOver = files !== null || remote?.state === 'error' || remote?.state === 'canceled';
  const isLater = sheet.capabilities.cost === 'final_later';
  return isLater && isOver && ref !== null && row !== undefined && row.state !== 'released' && row.final !== true;
}

/** Whether it may still be said by itself: of what is older, a person asks. */
export const isChargeRecent = ({ finished_at, remote, claim }: Attempt, now: number): boolean =>
  now - Date.parse(finished_at ?? remote?.at ?? claim.at) < SAID_WITHIN_MS;

/** `undefined` where nobody says; why goes to the talk, for the worst case stands then. */
export async function askCharge(
  services: Pick<SpendServices, 'note' | 'provider'>,
  { step, attempt }: Omit<Target, 'role'>,
): Promise<Charge | undefined> {
  const { note } = services;
  if ((attempt.sheet.capabilities.cost ?? 'none') === 'none') return undefined;
  try {
    const provider = await services.provider(attempt.provider);
    return await provider.cost?.(taskOf(attempt));
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    note(`${attempt.provider} does not say what ${step} cost; it is recorded at its worst case: ${error.message}`);
    return undefined;
  }
}

/** Asks once more, and records what is said. Never throws what keeps the provider from saying it. */
export async function bringCharge(services: SpendServices, target: Omit<Target, 'role'>): Promise<void> {
  const { attempt_id } = target.attempt;
  const charge = await askCharge(services, target);
  if (charge === undefined || charge.amount === null) return;
  await changeAttempt(services, target, `cost: ${charge.amount} ${charge.unit}`, (known, at) =>
    isChargeOpen(known, findAttempt(known, attempt_id)!) && isNews(known, attempt_id, charge)
      ? withPrice(known, attempt_id, charge, at)
      : known,
  );
}

function isNews({ costs }: Episode, attemptId: string, { amount, unit, final }: Charge): boolean {
  const row = costs.find((candidate) => candidate.attempt_id === attemptId);
  return row?.amount !== amount || row.unit !== unit || row.state !== 'settled' || final === true;
}
