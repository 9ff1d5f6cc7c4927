import {
  attemptInFlight,
  cancelRequested,
  cancelUnsupported,
  EpisodeError,
  outcomeUnknown,
  stepNotReady,
} from './errors.ts';
import { findStep } from './generate.ts';
import { attemptState, isLost } from './model/attempt.ts';
import type { Attempt, Episode } from './model/episode.ts';
import type { Cancellation, RemoteStatus } from './model/protocol.ts';
import type { StepView } from './model/status.ts';
import { stepCommands } from './next.ts';
import type { Provider } from './providers/provider.ts';
import { readEpisode } from './record.ts';
import { findAttempt, taskOf, withCancellation, withoutRepeat, withRemote } from './spend/attempts.ts';
import { goingOn, waysOutOf, whyUnknown } from './spend/ends.ts';
import { withWaysHome } from './spend/follow.ts';
import { recoverClaims } from './spend/recover.ts';
import { reportOf, type SpendAnswer, stepResults } from './spend/report.ts';
import { changeAttempt } from './spend/send.ts';
import type { SpendServices } from './spend/spend-services.ts';

/**
 * Asks the provider of an accepted task to stop it; free. What it answers for certain is recorded as what became of the
 * task, also that it was too late; that it was only asked is no more than that (`STILL_RUNNING`, 75). Canceled already is
 * a replay, and nobody is asked.
 * Throws `EPISODE_NOT_FOUND` (66), `STEP_NOT_FOUND` (64), `STEP_NOT_READY` (14) when there is nothing to cancel,
 * `CANCEL_UNSUPPORTED` (12), `OUTCOME_UNKNOWN` (11) for what nobody knows by a reference, `ATTEMPT_IN_FLIGHT` (75), and
 * `PROVIDER_UNREACHABLE` (69), `PROVIDER_PROTOCOL` (76) with the task as it was.
 */
export async function cancel(services: SpendServices, episodeId: string, step: string): Promise<SpendAnswer> {
  await recoverClaims(services, episodeId);
  const before = await services.store.view((view) => readEpisode(view, episodeId));
  const view = findStep(before, step);
  const attempt = view.last;
  if (attempt && attemptState(attempt) === 'canceled') return answer(services, before, step, 'replay', []);
  if (!attempt || !isCancelable(attempt)) throw uncancelable(before, view);
  if ((attempt.sheet.capabilities.cancel ?? 'none') === 'none') throw unsupported(episodeId, step, attempt);
  const provider = await services.provider(attempt.provider);
  const said = await ask(provider, { episodeId, step, attempt });
  if (!said || said.state === 'unsupported') throw unsupported(episodeId, step, attempt);
  const status = await statusIn(said, provider, attempt);
  const after = await record(services, { episodeId, step, attempt }, said.state, status);
  const now = findAttempt(after, attempt.attempt_id)!;
  if (attemptState(now) === 'canceled') return answer(services, after, step, 'proceed', []);
  return answer(services, after, step, 'proceed', [whyNotCanceled(after, findStep(after, step), attempt, said.state)]);
}

function whyNotCanceled(episode: Episode, view: StepView, { ref, provider }: Attempt, state: string): EpisodeError {
  const { episode_id } = episode;
  const { id, last } = view;
  if (!isCancelable(last!) || last!.ref !== ref) return uncancelable(episode, view);
  // Asked for what its provider no longer knows: held, as it was.
  if (isLost(last!)) return goingOn(last!, episode_id, id);
  return cancelRequested(episode_id, id, provider, { ref: ref!, state });
}

const answer = (
  { config }: SpendServices,
  episode: Episode,
  step: string,
  verdict: 'proceed' | 'replay',
  failures: EpisodeError[],
): SpendAnswer =>
  reportOf({ episode, steps: stepResults(episode, new Map([[step, verdict]])), failures }, config.currency);

/** At its provider, and as far as that says not at its end. */
const isCancelable = (attempt: Attempt): boolean =>
  ['accepted', 'running'].includes(attemptState(attempt)) && attempt.remote?.state !== 'done';

const unsupported = (episodeId: string, step: string, { provider, ref }: Attempt): EpisodeError =>
  cancelUnsupported(episodeId, step, provider, ref!);

async function ask(
  provider: Provider,
  target: { episodeId: string; step: string; attempt: Attempt },
): Promise<Cancellation | undefined> {
  try {
    return await provider.cancel?.(taskOf(target.attempt));
  } catch (error) {
    throw withWaysHome(error, target);
  }
}

/** What a definite answer says of the task; `null`: nothing definite. Any other word than these says nothing definite. */
async function statusIn(
  { state, definite, reason, billable, cost }: Cancellation,
  provider: Provider,
  attempt: Attempt,
): Promise<RemoteStatus | null> {
  if (!definite || (state !== 'canceled' && state !== 'done' && state !== 'error')) return null;
  const status: RemoteStatus = {
    state,
    ...(reason !== undefined && { reason }),
    ...(billable !== undefined && { billable }),
    ...(cost !== undefined && { cost }),
  };
  if (state === 'done' || billable !== undefined || cost !== undefined) return status;
  // What a canceled task costs is often said only where it is asked about; what it is by now is said already.
  const told = await provider.status(taskOf(attempt)).catch(noneIfUntold);
  return told?.state === state ? { ...told, ...status } : status;
}

/** It is canceled all the same, and what it costs stays at its worst case. */
function noneIfUntold(error: unknown): null {
  if (error instanceof EpisodeError) return null;
  throw error;
}

function record(
  services: SpendServices,
  target: { episodeId: string; step: string; attempt: Attempt },
  said: string,
  status: RemoteStatus | null,
): Promise<Episode> {
  const { attempt_id, ref } = target.attempt;
  const event = `cancel: ${status?.state ?? `requested (${said})`}`;
  return changeAttempt(services, target, event, (known, at) => {
    const current = findAttempt(known, attempt_id)!;
    // Another command brought it home meanwhile, or a person knows it under another reference.
    if (!isCancelable(current) || current.ref !== ref) return known;
    const cancellation = { at, by: services.port.user, state: said };
    const noted = withCancellation(withoutRepeat(known, attempt_id, event), attempt_id, cancellation);
    return status ? withRemote(noted, attempt_id, status, at) : noted;
  });
}

function uncancelable(episode: Episode, view: StepView): EpisodeError {
  const { episode_id } = episode;
  const { id, last, writtenOff } = view;
  const state = last ? attemptState(last) : view.state;
  switch (state) {
    case 'unknown':
      return outcomeUnknown(
        episode_id,
        id,
        last!.provider,
        `${whyUnknown(last!)}; without a reference nothing can be canceled`,
        waysOutOf(episode_id, id, last!),
      );
    case 'claimed':
    case 'sending': {
      const { owner } = last!.claim;
      return attemptInFlight(episode_id, id, last!.attempt_id, `pid ${owner.pid} on ${owner.host}`);
    }
    case 'accepted':
    case 'running':
      return stepNotReady(
        episode_id,
        id,
        `it is too late to cancel ${last!.ref}: ${last!.provider} says that it is done`,
        `episode reconcile ${episode_id} --step ${id}  # brings the result home; free`,
      );
    default: {
      const what = writtenOff ? 'written off' : view.state === 'skipped' ? 'left out of the plan' : state;
      return stepNotReady(
        episode_id,
        id,
        `it is ${what}, and there is nothing to cancel`,
        ...stepCommands(episode, view),
      );
    }
  }
}
