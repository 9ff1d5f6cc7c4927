import { EpisodeError, stepNotReady } from './errors.ts';
import { findStep } from './generate.ts';
import { attemptState } from './model/attempt.ts';
import type { Attempt, Episode } from './model/episode.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { withSettlement } from './spend/attempts.ts';
import { judged } from './spend/recover.ts';
import { reportOf, type SpendAnswer, stepResults } from './spend/report.ts';
import type { SpendServices } from './spend/spend-services.ts';

export type SettleForm = { form: 'accepted'; ref: string } | { form: 'not_accepted' } | { form: 'write_off' };

/**
 * Records what a person knows of a held step, with who, when and the evidence. Sends nothing and pays nothing.
 * `accepted`: the task is followed from now on. `not_accepted`: the step is ready again. `write_off`: it stays unknown,
 * its cost possible, and `retry` may pay once more. The same again changes nothing.
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
    findStep(known, step);
    const attempt = attemptToSettle(known, step, said);
    if (attempt && isSettledAs(attempt, said)) return known;
    refuseUnsettleable(episodeId, step, attempt, said.form);
    const at = new Date(port.now()).toISOString();
    const { by, evidence } = said;
    const settlement = { form: said.form, at, by, evidence, ref: said.form === 'accepted' ? said.ref : null };
    return saveEpisode(transaction, withSettlement(known, attempt!.attempt_id, settlement), {
      at,
      by,
      event: `settled: ${said.form}`,
      step,
      attempt_id: attempt!.attempt_id,
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

/** The newest that can be settled so: a write-off that turns out to have been accepted may have been paid again since. */
function attemptToSettle(episode: Episode, step: string, said: SettleForm): Attempt | undefined {
  const attempts = episode.steps.find((record) => record.id === step)?.attempts ?? [];
  const settleable = attempts.findLast((attempt) => LEAVES[said.form].includes(attemptState(attempt)));
  return settleable ?? attempts.findLast((attempt) => isSettledAs(attempt, said)) ?? attempts.at(-1);
}

function refuseUnsettleable(
  episodeId: string,
  step: string,
  attempt: Attempt | undefined,
  form: SettleForm['form'],
): void {
  const state = attempt ? attemptState(attempt) : null;
  if (state !== null && LEAVES[form].includes(state)) return;
  if (state === 'claimed' || state === 'sending') {
    throw new EpisodeError(
      'ATTEMPT_IN_FLIGHT',
      `step ${step} of ${episodeId} is being sent right now; wait for its outcome`,
      {
        subject: `${episodeId}/${step}`,
        hints: [`episode wait ${episodeId}`],
      },
    );
  }
  throw stepNotReady(
    episodeId,
    step,
    `it is ${state ?? 'not started'}, and nothing about it can be settled so`,
    `episode show ${episodeId}`,
  );
}
