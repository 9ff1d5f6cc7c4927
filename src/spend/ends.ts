import {
  EpisodeError,
  insufficientFunds,
  outcomeUnknown,
  stepFailed,
  stepGivenUp,
  stillRunning,
  taskLost,
  type Way,
  waysHome,
  waysOut,
} from '../errors.ts';
import { attemptState, isLost } from '../model/attempt.ts';
import type { Attempt } from '../model/episode.ts';
import type { StepView } from '../model/status.ts';
import { firstSentAt, type Sent } from './attempts.ts';
import { isFree } from './budget.ts';

/** What people are told of an attempt that did not end well; the records say the same. */

/** Why nobody knows, in the words of whoever found out. */
export const whyUnknown = ({ outcome }: Attempt): string => outcome?.message ?? outcome?.reason ?? 'no answer';

const whyFailed = ({ outcome, remote, cancellation }: Attempt): string =>
  [remote?.reason ?? outcome?.reason, outcome?.message].filter(Boolean).join(': ') ||
  (remote?.state === 'canceled'
    ? `canceled${cancellation ? `, as ${cancellation.by} asked` : ''}`
    : 'it gave no reason');

/** Who gave the reference of an attempt; `null` when its provider did. */
export const settledBy = ({ settlement }: Attempt): string | null =>
  settlement?.form === 'accepted' ? settlement.by : null;

/** What is known beside the attempt: what may have been charged for it ("0.40 USD"), and the time. */
interface Beside {
  atRisk?: string | null;
  /** Milliseconds since the epoch; without it, what depends on the time is left out. */
  now?: number;
}

/** What ends a hold (`isHeld`): commands that can be typed as they stand, and what each says. */
export function waysOutOf(
  episodeId: string,
  step: string,
  attempt: Attempt,
  { atRisk = null, now }: Beside = {},
): Way[] {
  if (isLost(attempt) && settledBy(attempt) === null) return waysHome(episodeId, step, attempt.ref!, atRisk);
  const { sheet, provider, outcome } = attempt;
  // What a person gave is being doubted here.
  const ref = attempt.ref === null && typeof outcome?.evidence?.ref === 'string' ? outcome.evidence.ref : null;
  return waysOut(episodeId, step, {
    provider,
    ref,
    isSync: sheet.capabilities.submit === 'sync',
    mayResend: now !== undefined && attempt.ref === null && whyNoResend(attempt, now) === null,
    atRisk,
  });
}

/** On the way to the provider, and by clocks that differ, time passes that its windows do not wait for. */
const CLOCKS_DIFFER_MS = 60_000;

/** Why a held attempt must not be sent again under its reference, by its stored sheet; `null`: it may be, once looked up. */
export function whyNoResend(attempt: Attempt, now: number): string | null {
  const { idempotent_submit, lookup } = attempt.sheet.capabilities;
  const { provider } = attempt;
  if (idempotent_submit?.supported !== true) return `${provider} does not promise to count the same reference once`;
  const windowSeconds = idempotent_submit.window_seconds ?? null;
  if (windowSeconds === null) return `${provider} does not say for how long it counts the same reference once`;
  if (lookup?.supported !== true) return `${provider} cannot look it up first`;
  return isWithin(windowSeconds, attempt, now)
    ? null
    : `${provider} counts the same reference once for ${windowSeconds} s, and that is over`;
}

/** Whether its provider lists what is as old as this: what it lists no more was there or not. By the stored sheet. */
export function isListedStill(attempt: Sent & Pick<Attempt, 'sheet'>, now: number): boolean {
  const seconds = attempt.sheet.capabilities.lookup?.window_seconds ?? null;
  return seconds === null || isWithin(seconds, attempt, now);
}

/** Whether so many seconds have not passed since it can have been sent. */
const isWithin = (seconds: number, attempt: Sent, now: number): boolean =>
  now + CLOCKS_DIFFER_MS < Date.parse(firstSentAt(attempt)) + 1000 * seconds;

/** What the last lookup found, as the end of a sentence; `null` before the first. */
export function lookupText(attempt: Sent & Pick<Attempt, 'provider' | 'sheet' | 'lookup'>): string | null {
  const { provider, sheet, lookup } = attempt;
  if (!lookup) return null;
  const { found, refs, complete } = lookup;
  if (found === 'unsupported') return 'it cannot look tasks up';
  if (refs.length > 0) return `it lists ${refs.join(', ')}, and it is not certain which is ours`;
  if (found !== 'absent') return 'it lists only what other steps have';
  if (sheet.capabilities.lookup?.proves?.absent !== true) return `not listed (${provider} cannot prove absence)`;
  if (!isListedStill(attempt, Date.parse(lookup.at)))
    return `not listed, and ${provider} lists nothing for longer than ${sheet.capabilities.lookup.window_seconds} s`;
  return complete ? 'not listed, which proves nothing yet' : 'not listed, and it did not look at all it has';
}

/** What became of an attempt of which nothing came, as the end of a sentence: "failed at fal: nsfw". */
export function fateOf(attempt: Attempt): string {
  const { rejection, settlement, provider } = attempt;
  if (rejection) return `was rejected by ${rejection.by}: ${rejection.reason}`;
  if (settlement?.form === 'write_off')
    return `was written off by ${settlement.by}, and whether it was made is not known`;
  return `failed at ${provider}: ${whyFailed(attempt)}`;
}

/** What became of an attempt that this command sent or followed; `null` when it went well or is still going on. */
export function endOf(attempt: Attempt, episodeId: string, step: string): EpisodeError | null {
  switch (attemptState(attempt)) {
    case 'unknown':
      return outcomeUnknown(
        episodeId,
        step,
        attempt.provider,
        whyUnknown(attempt),
        waysOutOf(episodeId, step, attempt),
      );
    case 'ready':
      return nothingBought(attempt, episodeId, step);
    case 'failed':
    case 'canceled':
      return stepFailed(episodeId, step, attempt.provider, whyFailed(attempt), freeFault(attempt));
    default:
      return null;
  }
}

/** Of a failed attempt that cost nothing: whether its request was at fault, which the plan makes, or the render of it. */
function freeFault({ sheet, outcome }: Attempt): 'request' | 'render' | null {
  if (!isFree(sheet)) return null;
  return outcome?.reason === 'invalid_input' ? 'request' : 'render';
}

/** Where a step stands that needs somebody or time, whoever brought it there; `null` for one that does not. */
export function standingOf(view: StepView, episodeId: string): EpisodeError | null {
  const { id, last, state, writtenOff } = view;
  if (!last) return null;
  if (writtenOff) return stepGivenUp(episodeId, id, `it ${fateOf(last)}`, isFree(last.sheet));
  switch (state) {
    case 'unknown':
    case 'failed':
    case 'canceled':
      return endOf(last, episodeId, id);
    case 'rejected':
      return stepGivenUp(episodeId, id, `it ${fateOf(last)}`, isFree(last.sheet));
    case 'accepted':
    case 'running':
      return goingOn(last, episodeId, id);
    default:
      return null;
  }
}

/** An accepted task that is not at its end: it takes its time, or its provider has lost it. */
export const goingOn = (attempt: Attempt, episodeId: string, step: string): EpisodeError =>
  isLost(attempt)
    ? taskLost(
        episodeId,
        step,
        attempt.provider,
        { ref: attempt.ref!, remote: attempt.remote!.state, settledBy: settledBy(attempt) },
        waysOutOf(episodeId, step, attempt),
      )
    : stillRunning(episodeId, step, attempt.provider, attempt.ref!);

/** Released without a charge: what the same command later can do about it, or what must be mended first. */
function nothingBought({ outcome, provider }: Attempt, episodeId: string, step: string): EpisodeError {
  const why = outcome?.message ?? outcome?.reason ?? 'it was not sent';
  const subject = `${episodeId}/${step}`;
  const hints = [`episode generate ${episodeId}  # the same command later is safe`];
  switch (outcome?.reason) {
    case 'insufficient_funds':
      return insufficientFunds(episodeId, step, provider);
    case 'ffmpeg_missing':
      return new EpisodeError('FFMPEG_MISSING', `step ${step} of ${episodeId}: ${why}`, { subject, hints });
    case 'disk_full':
      return new EpisodeError('CANNOT_WRITE', `step ${step} of ${episodeId}: ${why}`, { subject, hints });
    default: {
      const later = outcome?.retry_after === undefined ? '' : `; it asks to wait ${outcome.retry_after} s`;
      const message = `step ${step} of ${episodeId}: ${provider} accepted nothing (${why})${later}`;
      const details = { retry_after: outcome?.retry_after ?? null };
      // It does so again at the next try: a scheduler must not go on trying without a person.
      if (outcome?.evidence?.breach === true)
        return new EpisodeError('PROVIDER_PROTOCOL', message, {
          subject,
          hints: [`mend the adapter behind ${provider}; then: episode generate ${episodeId}`],
          details,
        });
      return new EpisodeError('PROVIDER_UNREACHABLE', message, { subject, hints, details });
    }
  }
}
