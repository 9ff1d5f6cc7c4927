import { EpisodeError, stepNotReady, wayLines, waysHome } from '../errors.ts';
import { attemptState } from '../model/attempt.ts';
import type { Attempt, Episode } from '../model/episode.ts';
import type { StepView } from '../model/status.ts';
import { stepCommands } from '../next.ts';

/** What a person may say of an attempt, and when it is too late for that. */

export type SettleForm = { form: 'accepted'; ref: string } | { form: 'not_accepted' } | { form: 'write_off' };

export const isSettledAs = (attempt: Attempt, said: SettleForm): boolean =>
  attempt.settlement?.form === said.form && (said.form !== 'accepted' || attempt.settlement.ref === said.ref);

/** A written-off attempt may still turn out to have been accepted; an accepted one may still be given up. */
const LEAVES: Record<SettleForm['form'], ReturnType<typeof attemptState>[]> = {
  accepted: ['unknown', 'written-off'],
  not_accepted: ['unknown', 'written-off'],
  write_off: ['unknown', 'accepted', 'running'],
};

export const maySettle = (attempt: Attempt, form: SettleForm['form']): boolean =>
  LEAVES[form].includes(attemptState(attempt)) || isCorrectable(attempt, form);

/** Said by a person before, and nothing came of it: a reference can be mistyped, and a task overlooked. */
function isCorrectable({ files, settlement }: Attempt, form: SettleForm['form']): boolean {
  if (files !== null || form === 'write_off') return false;
  return settlement?.form === 'accepted' || (settlement?.form === 'not_accepted' && form === 'accepted');
}

/**
 * Which attempt is meant. That an earlier one was accepted after all is worth knowing however often it was paid again since;
 * that it bought nothing, or is given up, is said of the newest unless a take is named: the words were typed before that one
 * may have been made.
 */
export function attemptToSettle(
  episode: Episode,
  step: string,
  said: SettleForm & { take: number | null },
): Attempt | undefined {
  const attempts = episode.steps.find((record) => record.id === step)?.attempts ?? [];
  if (said.take !== null) return attempts.find((attempt) => attempt.number === said.take);
  if (said.form !== 'accepted') return attempts.at(-1);
  const settleable = attempts.findLast((attempt) => maySettle(attempt, said.form));
  return settleable ?? attempts.findLast((attempt) => isSettledAs(attempt, said)) ?? attempts.at(-1);
}

/** One reference is one task: that of another attempt was read on the wrong line. */
export function refuseTaken(episode: Episode, attempt: Attempt, step: string, ref: string): void {
  for (const { id, attempts } of episode.steps) {
    const other = attempts.find((one) => one.ref === ref && one.attempt_id !== attempt.attempt_id);
    if (other)
      throw stepNotReady(episode.episode_id, step, `${ref} is the reference of take ${other.number} of step ${id}`);
  }
}

export function unsettleable(
  episode: Episode,
  view: StepView,
  attempt: Attempt | undefined,
  take: number | null = null,
): EpisodeError {
  const { episode_id } = episode;
  const { id } = view;
  if (!attempt && take !== null)
    return stepNotReady(episode_id, id, `it has no take ${take}`, `episode show ${episode_id}`);
  const state = attempt ? attemptState(attempt) : 'not started';
  switch (state) {
    case 'claimed':
    case 'sending':
      return new EpisodeError(
        'ATTEMPT_IN_FLIGHT',
        `step ${id} of ${episode_id} is being sent right now; wait for its outcome`,
        { subject: `${episode_id}/${id}`, hints: [`episode wait ${episode_id}`] },
      );
    case 'accepted':
    case 'running': {
      const why = `${attempt!.provider} itself accepted it as ${attempt!.ref}`;
      return stepNotReady(episode_id, id, why, ...wayLines(waysHome(episode_id, id, attempt!.ref!)));
    }
    case 'succeeded': {
      const why = `it succeeded${attempt!.ref === null ? '' : ` as ${attempt!.ref}`}, and its output is here`;
      const other = `episode reject ${episode_id} --step ${id} --reason "…"  # if it is not the right one; then: episode retry …`;
      return stepNotReady(episode_id, id, why, other);
    }
    default: {
      const why = `it is ${state}, and nothing about it can be settled so`;
      return stepNotReady(episode_id, id, why, ...stepCommands(episode, view));
    }
  }
}

/**
 * Beside what can be settled as accepted anyway: what its provider itself calls so and does not, or not whole, give back.
 */
export function mayHaveOutput(attempt: Attempt, ref: string): boolean {
  if (maySettle(attempt, 'accepted')) return true;
  const state = attemptState(attempt);
  const isBroken = state === 'failed' && attempt.outcome?.outcome === 'completed';
  return (isBroken || state === 'accepted' || state === 'running') && (attempt.ref ?? ref) === ref;
}
