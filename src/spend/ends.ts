import { EpisodeError, insufficientFunds, outcomeUnknown, stepFailed, stepGivenUp, stillRunning } from '../errors.ts';
import { attemptState } from '../model/attempt.ts';
import type { Attempt } from '../model/episode.ts';
import type { StepView } from '../model/status.ts';

/** What people are told of an attempt that did not end well; the records say the same. */

/** Why nobody knows, in the words of whoever found out. */
export const whyUnknown = ({ outcome }: Attempt): string => outcome?.message ?? outcome?.reason ?? 'no answer';

const whyFailed = ({ outcome, remote }: Attempt): string =>
  [remote?.reason ?? outcome?.reason, outcome?.message].filter(Boolean).join(': ') || 'it gave no reason';

/** What became of an attempt that this command sent or followed; `null` when it went well or is still going on. */
export function endOf(attempt: Attempt, episodeId: string, step: string): EpisodeError | null {
  switch (attemptState(attempt)) {
    case 'unknown':
      return outcomeUnknown(episodeId, step, attempt.provider, whyUnknown(attempt));
    case 'ready':
      return nothingBought(attempt, episodeId, step);
    case 'failed':
    case 'canceled':
      return stepFailed(episodeId, step, attempt.provider, whyFailed(attempt));
    default:
      return null;
  }
}

/** Where a step stands that needs somebody or time, whoever brought it there; `null` for one that does not. */
export function standingOf(view: StepView, episodeId: string): EpisodeError | null {
  const { id, last, state, writtenOff } = view;
  if (!last) return null;
  if (writtenOff) {
    return stepGivenUp(
      episodeId,
      id,
      `it was written off by ${last.settlement!.by}, and whether it was made is not known`,
    );
  }
  switch (state) {
    case 'unknown':
    case 'failed':
    case 'canceled':
      return endOf(last, episodeId, id);
    case 'rejected':
      return stepGivenUp(episodeId, id, `it was rejected by ${last.rejection!.by}: ${last.rejection!.reason}`);
    case 'accepted':
    case 'running':
      return stillRunning(episodeId, id, last.provider, last.ref!);
    default:
      return null;
  }
}

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
