import {
  EpisodeError,
  insufficientFunds,
  outcomeUnknown,
  stepFailed,
  stepGivenUp,
  stillRunning,
  taskLost,
  waysHome,
  waysOut,
} from '../errors.ts';
import { attemptState, isLost } from '../model/attempt.ts';
import type { Attempt } from '../model/episode.ts';
import type { StepView } from '../model/status.ts';
import { isFree } from './budget.ts';

/** What people are told of an attempt that did not end well; the records say the same. */

/** Why nobody knows, in the words of whoever found out. */
export const whyUnknown = ({ outcome }: Attempt): string => outcome?.message ?? outcome?.reason ?? 'no answer';

const whyFailed = ({ outcome, remote }: Attempt): string =>
  [remote?.reason ?? outcome?.reason, outcome?.message].filter(Boolean).join(': ') || 'it gave no reason';

/** Who gave the reference of an attempt; `null` when its provider did. */
export const settledBy = ({ settlement }: Attempt): string | null =>
  settlement?.form === 'accepted' ? settlement.by : null;

/** What ends a hold (`isHeld`): commands that can be typed as they stand, and what each says. */
export const waysOutOf = (episodeId: string, step: string, attempt: Attempt) =>
  isLost(attempt) && settledBy(attempt) === null
    ? waysHome(episodeId, step)
    : waysOut(episodeId, step, attempt.provider);

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
      return outcomeUnknown(episodeId, step, attempt.provider, whyUnknown(attempt));
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
    ? taskLost(episodeId, step, attempt.provider, {
        ref: attempt.ref!,
        remote: attempt.remote!.state,
        settledBy: settledBy(attempt),
      })
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
      return new EpisodeError('PROVIDER_UNREACHABLE', message, { subject, hints, details });
    }
  }
}
