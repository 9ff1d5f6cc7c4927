import type { Attempt } from './episode.ts';

/** Released outcomes after which the same intent may be sent again without asking: provably nothing was bought. */
const READY_AGAIN = new Set([
  'not_sent',
  'throttled',
  'insufficient_funds',
  // of what is free and made here: the machine was at fault, not the request
  'crashed',
  'aborted',
  'disk_full',
  'ffmpeg_missing',
]);

export type AttemptState =
  | 'ready'
  | 'claimed'
  | 'sending'
  | 'accepted'
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'canceled'
  | 'unknown'
  | 'rejected'
  | 'written-off';

/** Where one attempt stands, from its own record. `ready`: it bought nothing and the step may be sent again. */
export function attemptState(attempt: Attempt): AttemptState {
  if (attempt.rejection) return 'rejected';
  if (attempt.files) return 'succeeded';
  if (attempt.settlement?.form === 'not_accepted') return 'ready';
  if (attempt.settlement?.form === 'write_off') return 'written-off';
  switch (attempt.outcome?.outcome) {
    case undefined:
      return attempt.ref !== null ? remoteState(attempt) : attempt.sending_at !== null ? 'sending' : 'claimed';
    case 'released':
      return READY_AGAIN.has(attempt.outcome!.reason ?? '') ? 'ready' : 'failed';
    case 'unknown':
      return 'unknown';
    case 'completed':
      return 'failed';
    case 'accepted':
      return remoteState(attempt);
  }
}

/** `not_found` and `expired` are no failures of a task that was paid: it is asked again (`isLost`). */
function remoteState(attempt: Attempt): AttemptState {
  switch (attempt.remote?.state) {
    case 'error':
      return 'failed';
    case 'canceled':
      return 'canceled';
    case 'running':
    case 'done':
      return 'running';
    default:
      return 'accepted';
  }
}

/** Accepted, and no longer there by its provider's own word. It is asked again, but waiting alone brings nothing back. */
export const isLost = (attempt: Attempt): boolean =>
  attemptState(attempt) === 'accepted' && ['not_found', 'expired'].includes(attempt.remote?.state ?? '');

const OPEN = new Set<AttemptState>(['claimed', 'sending', 'accepted', 'running', 'unknown']);

/** An attempt that may still turn into something bought: nothing else may be sent for its step. */
export const isOpen = (attempt: Attempt): boolean => OPEN.has(attemptState(attempt));

/**
 * The attempt that says how its step stands; `null` before the first. That is the newest one, with two exceptions for
 * answers that came late (a write-off that was accepted after all): an older attempt that is open again, and an older
 * one whose output came home when nothing came of the newest.
 */
export function governing(attempts: readonly Attempt[]): Attempt | null {
  const last = attempts.at(-1) ?? null;
  if (!last || isOpen(last)) return last;
  const open = attempts.findLast(isOpen);
  if (open) return open;
  if (!['failed', 'canceled', 'written-off'].includes(attemptState(last))) return last;
  const late = (attempt: Attempt): boolean =>
    attemptState(attempt) === 'succeeded' && Date.parse(attempt.finished_at!) > Date.parse(last.claim.at);
  return attempts.findLast(late) ?? last;
}
