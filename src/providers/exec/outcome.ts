import type { SubmitOutcome } from '../../model/protocol.ts';
import type { Ending } from './conversation.ts';
import { describeEnding } from './ending.ts';

/** How a `submit` ended: with an outcome that can be believed, or without one. */
export type SubmitEnding =
  | { how: 'answered'; outcome: SubmitOutcome }
  /** It says that the work is done, but its files cannot be taken. */
  | { how: 'bad-files'; what: string }
  | Exclude<Ending, { how: 'answered' }>;

interface Witnessed {
  /** The sheet's promise to send nothing that costs money before `sending` was acknowledged. */
  announcesSending: boolean;
  /** That acknowledgement was written. */
  sendingAcknowledged: boolean;
  /** From an `accepted` event: the ledger holds it. */
  acceptedRef: string | undefined;
  /** Last lines of stderr. */
  notes: string[];
}

const REASON = {
  refused: 'adapter_error',
  breach: 'protocol',
  'bad-files': 'protocol',
  died: 'died',
  timeout: 'timeout',
  aborted: 'aborted',
  'not-started': 'not_sent',
} as const;

const text = (ending: Exclude<SubmitEnding, { how: 'answered' }>): string =>
  ending.how === 'bad-files' ? `it answered "completed", but ${ending.what}` : describeEnding(ending);

/**
 * What a submission came to (PROVIDER.md, exec transport). A reference from an `accepted` event outlives everything
 * said or done after it: the ledger holds it, and what was paid under it can be asked for. Without one, and without a
 * believable answer, the outcome is `released` only where nothing can have been sent: the adapter never ran, or it
 * announces sending and was not told to go on. One that claims to be done with its work has no such benefit.
 */
export function judge(ending: SubmitEnding, witnessed: Witnessed): SubmitOutcome {
  const { acceptedRef } = witnessed;
  if (ending.how === 'answered')
    return acceptedRef === undefined ? ending.outcome : confirm(ending.outcome, acceptedRef);

  const message = text(ending);
  const evidence = {
    adapter: message,
    ...(ending.how === 'refused' && { code: ending.code, message: ending.message }),
    ...(ending.how === 'not-started' && { code: ending.code }),
    ...(ending.how === 'breach' && { breach: true }),
    ...(witnessed.notes.length > 0 && { stderr: witnessed.notes }),
  };
  if (acceptedRef !== undefined) return { outcome: 'accepted', ref: acceptedRef, evidence };
  const heldBack = witnessed.announcesSending && !witnessed.sendingAcknowledged && ending.how !== 'bad-files';
  return ending.how === 'not-started' || heldBack
    ? { outcome: 'released', reason: 'not_sent', message, billable: 'no', evidence }
    : { outcome: 'unknown', reason: REASON[ending.how], message, evidence };
}

/** An answer beside the reference that is already durable: it adds to it where it agrees, and is only kept where not. */
function confirm(outcome: SubmitOutcome, acceptedRef: string): SubmitOutcome {
  const agrees =
    (outcome.outcome === 'accepted' || outcome.outcome === 'completed') && (outcome.ref ?? acceptedRef) === acceptedRef;
  if (agrees) return { ...outcome, ref: acceptedRef };
  return {
    outcome: 'accepted',
    ref: acceptedRef,
    evidence: {
      adapter: `it announced ${JSON.stringify(acceptedRef)} as accepted, then answered otherwise`,
      answer: outcome,
    },
  };
}
