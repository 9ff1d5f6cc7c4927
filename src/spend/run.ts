import {
  attemptInFlight,
  EpisodeError,
  endsAtOnce,
  episodeClosed,
  insufficientFunds,
  outcomeUnknown,
  planMissing,
  stepFailed,
} from '../errors.ts';
import type { Attempt, Episode } from '../model/episode.ts';
import type { Step } from '../model/plan.ts';
import { attemptState, type StepView, viewSteps } from '../model/status.ts';
import { readEpisode } from '../record.ts';
import { findAttempt } from './attempts.ts';
import { claim } from './claim.ts';
import { follow } from './follow.ts';
import { gatherInputs } from './inputs.ts';
import { quote } from './quote.ts';
import { recoverClaims } from './recover.ts';
import { type RunResult, type StepResult, stepResults } from './report.ts';
import { send } from './send.ts';
import type { SpendServices } from './services.ts';

/** What one paid verb authorises. The loop is the same for all of them. */
export interface Authority {
  verb: Attempt['verb'];
  reason: string | null;
  /** Whether a new attempt of this step may be started, as it stands now. */
  mayStart(view: StepView, episode: Episode): boolean;
  /** Steps it is about: what is in flight or unknown there is reported. `null`: all. */
  steps: readonly string[] | null;
  /** Upper bound of what this command reserves, in the show's currency. */
  maxCost: string | null;
  /** How long accepted tasks are followed, milliseconds. */
  waitMs: number;
}

const AT_ONCE = 4;

/** The one loop: claim, send, record, poll, fetch, for every step that is authorised, until none is left to do. */
export async function run(services: SpendServices, episodeId: string, authority: Authority): Promise<RunResult> {
  await recoverClaims(services, episodeId);
  const token = services.port.random(16);
  const deadline = services.port.now() + authority.waitMs;
  const begun = new Set<string>();
  const broke = new Set<string>();
  const active = new Map<string, Promise<void>>();
  const failures: EpisodeError[] = [];
  const verdicts = new Map<string, StepResult['verdict']>();

  for (;;) {
    const episode = await services.store.view((view) => readEpisode(view, episodeId));
    refuseUnplannable(episode);
    const stopped = services.interrupted.aborted || failures.some(endsAtOnce);
    const work = stopped ? [] : findWork(episode, authority, begun, broke);
    for (const { view, does } of work.slice(0, AT_ONCE - active.size)) {
      begun.add(view.id);
      const job = workOn(services, episode, view, does, authority, token, deadline)
        .then((verdict) => {
          if (verdict === null) begun.delete(view.id);
          else verdicts.set(view.id, verdict);
        })
        .catch((error) => {
          if (!(error instanceof EpisodeError)) throw error;
          if (error.code === 'FUNDS_REFUSED') broke.add(view.step!.provider);
          if (error.code === 'ATTEMPT_IN_FLIGHT') verdicts.set(view.id, 'inflight');
          failures.push(error);
        })
        .finally(() => active.delete(view.id));
      active.set(view.id, job);
    }
    if (active.size === 0) return conclude(episode, authority, verdicts, failures);
    await Promise.race(active.values());
  }
}

function refuseUnplannable(episode: Episode): asserts episode is Episode & { plan: NonNullable<Episode['plan']> } {
  if (episode.closed) throw episodeClosed(episode.episode_id, episode.closed);
  if (!episode.plan) throw planMissing(episode.episode_id);
}

type Work = { view: StepView; does: 'start' | 'follow' | 'report' };

function findWork(episode: Episode, authority: Authority, begun: Set<string>, broke: Set<string>): Work[] {
  return viewSteps(episode).flatMap((view): Work[] => {
    if (begun.has(view.id) || (authority.steps && !authority.steps.includes(view.id))) return [];
    if (view.state === 'accepted' || view.state === 'running') return [{ view, does: 'follow' }];
    if (view.state === 'claimed' || view.state === 'sending') return [{ view, does: 'report' }];
    if (view.step && authority.mayStart(view, episode) && !broke.has(view.step.provider))
      return [{ view, does: 'start' }];
    return [];
  });
}

async function workOn(
  services: SpendServices,
  episode: Episode,
  view: StepView,
  does: Work['does'],
  authority: Authority,
  token: string,
  deadline: number,
): Promise<StepResult['verdict']> {
  const episodeId = episode.episode_id;
  const role = view.step?.role ?? null;
  if (does === 'report') {
    const { attempt_id, claim: held } = view.last!;
    throw attemptInFlight(episodeId, view.id, attempt_id, `pid ${held.owner.pid} on ${held.owner.host}`);
  }
  if (does === 'follow') {
    const provider = await services.provider(view.last!.provider);
    await follow(services, { episodeId, step: view.id, role, attempt: view.last! }, provider, deadline);
    return reportEnd(await reread(services, episodeId, view.last!), episodeId, view.id, 'replay');
  }
  const step = view.step!;
  const provider = await services.provider(step.provider);
  const attempt = await start(services, episode, step, authority, token, provider);
  if (!attempt) return null;
  await send(services, { episodeId, step: view.id, role, attempt }, provider);
  const sent = await reread(services, episodeId, attempt);
  if (attemptState(sent) === 'accepted')
    await follow(services, { episodeId, step: view.id, role, attempt: sent }, provider, deadline);
  return reportEnd(await reread(services, episodeId, attempt), episodeId, view.id, 'proceed');
}

/** Everything that is read and asked before the claim; `null` when the record changed under it and the loop looks again. */
async function start(
  services: SpendServices,
  episode: Episode,
  step: Step,
  authority: Authority,
  token: string,
  provider: Awaited<ReturnType<SpendServices['provider']>>,
): Promise<Attempt | null> {
  const sheet = await provider.describe();
  const inputs = await gatherInputs(services, step, viewSteps(episode));
  const claimed = await claim(services, {
    episodeId: episode.episode_id,
    step,
    planSha256: episode.plan_sha256!,
    verb: authority.verb,
    reason: authority.reason,
    token,
    sheet,
    quote: await quote(step, provider, sheet, services.config.currency),
    inputs,
    maxCost: authority.maxCost,
    mayStart: authority.mayStart,
  });
  return claimed.verdict === 'proceed' ? claimed.attempt : null;
}

async function reread(services: SpendServices, episodeId: string, attempt: Attempt): Promise<Attempt> {
  const episode = await services.store.view((view) => readEpisode(view, episodeId));
  return findAttempt(episode, attempt.attempt_id)!;
}

/** An ended attempt as what the caller is told: a verdict, or what went wrong. */
function reportEnd<V>(attempt: Attempt, episodeId: string, step: string, verdict: V): V {
  const { outcome, remote, provider } = attempt;
  switch (attemptState(attempt)) {
    case 'unknown':
      throw outcomeUnknown(episodeId, step, provider, outcome?.message ?? outcome?.reason ?? 'no answer');
    case 'ready':
      throw notSentReport(attempt, episodeId, step);
    case 'failed':
    case 'canceled':
      throw stepFailed(
        episodeId,
        step,
        provider,
        [remote?.reason ?? outcome?.reason, outcome?.message].filter(Boolean).join(': ') || 'it gave no reason',
      );
    default:
      return verdict;
  }
}

function notSentReport({ outcome, provider }: Attempt, episodeId: string, step: string): EpisodeError {
  if (outcome?.reason === 'insufficient_funds') return insufficientFunds(episodeId, step, provider);
  const why = outcome?.message ?? outcome?.reason ?? 'it was not sent';
  const later = outcome?.retry_after === undefined ? '' : `; it asks to wait ${outcome.retry_after} s`;
  return new EpisodeError(
    'PROVIDER_UNREACHABLE',
    `step ${step} of ${episodeId}: ${provider} accepted nothing (${why})${later}`,
    {
      subject: `${episodeId}/${step}`,
      hints: [`episode generate ${episodeId}          the same command later is safe`],
      details: { retry_after: outcome?.retry_after ?? null },
    },
  );
}

/** Holds are reported also where this command had nothing to do. */
function conclude(
  episode: Episode,
  authority: Authority,
  verdicts: ReadonlyMap<string, StepResult['verdict']>,
  failures: EpisodeError[],
): RunResult {
  const views = viewSteps(episode);
  const concerned = (view: StepView): boolean => !authority.steps || authority.steps.includes(view.id);
  const held = views.filter((view) => view.state === 'unknown' && !view.writtenOff && concerned(view));
  const reported = new Set(
    failures
      .filter(({ code }) => code === 'OUTCOME_UNKNOWN' || code === 'STATE_NOT_SAVED')
      .map(({ subject }) => subject),
  );
  for (const { id, last } of held) {
    if (reported.has(`${episode.episode_id}/${id}`)) continue;
    failures.push(
      outcomeUnknown(
        episode.episode_id,
        id,
        last!.provider,
        last!.outcome?.message ?? last!.outcome?.reason ?? 'no answer',
      ),
    );
  }
  return { episode, steps: stepResults(episode, verdicts), failures };
}
