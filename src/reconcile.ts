import { EpisodeError } from './errors.ts';
import { findStep } from './generate.ts';
import { attemptState, isLost, isOpen } from './model/attempt.ts';
import type { Attempt, Episode } from './model/episode.ts';
import { viewSteps } from './model/status.ts';
import { readEpisode, readEpisodeIds } from './record.ts';
import { findAttempt, withAskedAgain, withoutRepeat } from './spend/attempts.ts';
import { bringCharge, isChargeOpen, isChargeRecent } from './spend/charge.ts';
import { lookupText } from './spend/ends.ts';
import { lookUp, recordFinding } from './spend/lookup.ts';
import { recoverClaims } from './spend/recover.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import { changeAttempt } from './spend/send.ts';
import type { SpendServices } from './spend/spend-services.ts';

/**
 * Asks the providers about everything of an episode that was sent: looks unknown tasks up, polls accepted ones once, brings
 * results home, and what they cost where that is said only later. Never pays. What stays unknown is in the answer's
 * `failures` (11), what still runs (75) and what could not be asked too. Throws `EPISODE_NOT_FOUND` (66), `STEP_NOT_FOUND`
 * (64).
 */
export async function reconcile(
  services: SpendServices,
  episodeId: string,
  { step }: { step: string | null },
): Promise<SpendAnswer> {
  await recoverClaims(services, episodeId);
  const episode = await services.store.view((view) => readEpisode(view, episodeId));
  if (step !== null) findStep(episode, step);
  const unasked: EpisodeError[] = [];
  for (const { id, attempts } of episode.steps) {
    if (step !== null && step !== id) continue;
    for (const attempt of attempts) {
      if (isUncertain(attempt)) unasked.push(...(await askFor(services, { episodeId, step: id, attempt })));
    }
  }
  await bringCharges(services, episode, step);
  const authority = { starts: null, steps: step === null ? null : [step], maxCost: null, waitMs: 0 };
  const result = await run(services, episodeId, authority);
  const failures = saidOnce([...unasked, ...result.failures]);
  return reportOf(
    { ...result, episode: await noteLost(services, episode, result.episode, failures), failures },
    services.config.currency,
  );
}

/**
 * The same for every episode with something open, each by itself: what stops one is among the `failures`, and the others
 * are asked all the same. What was written off is not open: its episode has to be named.
 */
export async function reconcileAll(
  services: SpendServices,
): Promise<{ answers: SpendAnswer[]; failures: EpisodeError[] }> {
  const answers: SpendAnswer[] = [];
  const failures: EpisodeError[] = [];
  const orFailure = async <T>(work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof EpisodeError)) throw error;
      failures.push(error);
      return null;
    }
  };
  const ids = await services.store.browse((view) => readEpisodeIds(view, null));
  for (const episodeId of ids) {
    if (services.interrupted.aborted) break;
    const episode = await orFailure(() => services.store.view((view) => readEpisode(view, episodeId)));
    if (!episode || !isToAsk(episode, services.port.now())) continue;
    const answer = await orFailure(() => reconcile(services, episodeId, { step: null }));
    if (answer) answers.push(answer);
  }
  return { answers, failures: saidOnce([...answers.flatMap((answer) => answer.failures), ...failures]) };
}

const isToAsk = (episode: Episode, now: number): boolean =>
  episode.steps.some(({ attempts }) =>
    attempts.some((attempt) => isOpen(attempt) || (isChargeOpen(episode, attempt) && isChargeRecent(attempt, now))),
  );

/** A key that is missing is missing for every step. */
const saidOnce = (failures: readonly EpisodeError[]): EpisodeError[] =>
  failures.filter((one, index) => failures.findIndex(({ message }) => message === one.message) === index);

/**
 * Also what was written off, and paid again since: that it was accepted after all is still worth knowing. Of what is known
 * to have been accepted it is no news, and a person gave it up all the same: only a person takes it up again.
 */
const isUncertain = (attempt: Attempt): boolean =>
  attempt.ref === null && ['unknown', 'written-off'].includes(attemptState(attempt));

/** What kept its provider from being asked: a hold is reported before that, and other steps are asked all the same. */
async function askFor(
  services: SpendServices,
  target: { episodeId: string; step: string; attempt: Attempt },
): Promise<EpisodeError[]> {
  const { attempt, step } = target;
  try {
    const finding = await lookUp(services, target);
    const { lookup, outcome } = finding;
    // A provider that cannot be asked says so once.
    const isNews = outcome !== null || lookup.found !== 'unsupported' || attempt.lookup?.found !== 'unsupported';
    if (isNews) await recordFinding(services, target, finding);
    if (!outcome) services.note(`${attempt.provider} on ${step}: ${lookupText({ ...attempt, lookup })}`);
    return [];
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    // An interrupt ends what was being asked, which is free to ask again.
    return services.interrupted.aborted && error.code.startsWith('PROVIDER_') ? [] : [error];
  }
}

/** What a provider says only after the result it was paid for. */
async function bringCharges(services: SpendServices, episode: Episode, step: string | null): Promise<void> {
  for (const { id, attempts } of episode.steps) {
    for (const attempt of step === null || step === id ? attempts : []) {
      if (isChargeOpen(episode, attempt))
        await bringCharge(services, { episodeId: episode.episode_id, step: id, attempt });
    }
  }
}

/** That a provider still says that it no longer has a task, and when, is worth knowing at 23:40. */
async function noteLost(
  services: SpendServices,
  before: Episode,
  after: Episode,
  failures: readonly EpisodeError[],
): Promise<Episode> {
  const episodeId = after.episode_id;
  let noted = after;
  for (const { id, last } of viewSteps(after)) {
    const said = failures.filter(({ subject }) => subject === `${episodeId}/${id}`).map(({ code }) => code);
    const isAsked = said.length > 0 && said.every((code) => code === 'OUTCOME_UNKNOWN');
    if (!last || !isLost(last) || !isAsked) continue;
    // Said for the first time just now.
    if (findAttempt(before, last.attempt_id)?.remote?.at !== last.remote!.at) continue;
    const event = `asked again: ${last.remote!.state}`;
    noted = await changeAttempt(services, { episodeId, step: id, attempt: last }, event, (known, at) =>
      isLost(findAttempt(known, last.attempt_id)!)
        ? withAskedAgain(withoutRepeat(known, last.attempt_id, event), last.attempt_id, at)
        : known,
    );
  }
  return noted;
}
