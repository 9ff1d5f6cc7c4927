import { EpisodeError, stepNotReady, wayLines, waysHome } from './errors.ts';
import { findStep } from './generate.ts';
import { attemptState } from './model/attempt.ts';
import type { Attempt, Episode } from './model/episode.ts';
import type { StepView } from './model/status.ts';
import { stepCommands } from './next.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { withSettlement } from './spend/attempts.ts';
import { judged } from './spend/recover.ts';
import { reportOf, type SpendAnswer, stepResults } from './spend/report.ts';
import type { SpendServices } from './spend/spend-services.ts';

export type SettleForm = { form: 'accepted'; ref: string } | { form: 'not_accepted' } | { form: 'write_off' };

/**
 * Records what a person knows of a held step, with who, when and the evidence. Sends nothing and pays nothing.
 * `accepted`: the task is followed from now on. `not_accepted`: the step is ready again. `write_off`: it stays unknown,
 * its cost possible, and `retry` may pay once more. The same again changes nothing; something else corrects what was said
 * as long as no output came of it, and both stay in the events.
 * Throws `EPISODE_NOT_FOUND` (66), `STEP_NOT_FOUND` (64), `ATTEMPT_IN_FLIGHT` (75) while it is being sent,
 * `STEP_NOT_READY` (14) when there is nothing to settle.
 */
export async function settle(
  { store, port, config }: Pick<SpendServices, 'store' | 'port' | 'config'>,
  episodeId: string,
  step: string,
  said: SettleForm & { by: string; evidence: string },
): Promise<SpendAnswer> {
  const episode = await store.transact(async (transaction) => {
    const known = judged(port, await readEpisode(transaction, episodeId));
    const view = findStep(known, step);
    const attempt = attemptToSettle(known, step, said);
    if (attempt && isSettledAs(attempt, said)) return known;
    if (!attempt || !maySettle(attempt, said.form)) throw unsettleable(known, view, attempt);
    if (said.form === 'accepted') refuseTaken(known, attempt, step, said.ref);
    const at = new Date(port.now()).toISOString();
    const { by, evidence } = said;
    const settlement = { form: said.form, at, by, evidence, ref: said.form === 'accepted' ? said.ref : null };
    return saveEpisode(transaction, withSettlement(known, attempt.attempt_id, settlement), {
      at,
      by,
      event: `settled: ${said.form}`,
      step,
      attempt_id: attempt.attempt_id,
      ...(settlement.ref !== null && { ref: settlement.ref }),
      evidence,
    });
  });
  return reportOf(
    { episode, steps: stepResults(episode, new Map([[step, 'proceed']])), failures: [] },
    config.currency,
  );
}

const isSettledAs = (attempt: Attempt, said: SettleForm): boolean =>
  attempt.settlement?.form === said.form && (said.form !== 'accepted' || attempt.settlement.ref === said.ref);

/** A written-off attempt may still turn out to have been accepted; an accepted one may still be given up. */
const LEAVES: Record<SettleForm['form'], ReturnType<typeof attemptState>[]> = {
  accepted: ['unknown', 'written-off'],
  not_accepted: ['unknown', 'written-off'],
  write_off: ['unknown', 'accepted', 'running'],
};

const maySettle = (attempt: Attempt, form: SettleForm['form']): boolean =>
  LEAVES[form].includes(attemptState(attempt)) || isCorrectable(attempt, form);

/** Said by a person before, and nothing came of it: a reference can be mistyped, and a task overlooked. */
function isCorrectable({ files, settlement }: Attempt, form: SettleForm['form']): boolean {
  if (files !== null || form === 'write_off') return false;
  return settlement?.form === 'accepted' || (settlement?.form === 'not_accepted' && form === 'accepted');
}

/** The newest that can be settled so: a write-off that turns out to have been accepted may have been paid again since. */
function attemptToSettle(episode: Episode, step: string, said: SettleForm): Attempt | undefined {
  const attempts = episode.steps.find((record) => record.id === step)?.attempts ?? [];
  const settleable = attempts.findLast((attempt) => maySettle(attempt, said.form));
  return settleable ?? attempts.findLast((attempt) => isSettledAs(attempt, said)) ?? attempts.at(-1);
}

/** One reference is one task: that of another attempt was read on the wrong line. */
function refuseTaken(episode: Episode, attempt: Attempt, step: string, ref: string): void {
  for (const { id, attempts } of episode.steps) {
    const other = attempts.find((one) => one.ref === ref && one.attempt_id !== attempt.attempt_id);
    if (other)
      throw stepNotReady(episode.episode_id, step, `${ref} is the reference of take ${other.number} of step ${id}`);
  }
}

function unsettleable(episode: Episode, view: StepView, attempt: Attempt | undefined): EpisodeError {
  const { episode_id } = episode;
  const { id } = view;
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
      return stepNotReady(episode_id, id, why, ...wayLines(waysHome(episode_id, id)));
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
