import { EpisodeError, endsAtOnce, episodeClosed, ledgerBusy, planMissing } from '../errors.ts';
import type { Episode } from '../model/episode.ts';
import { type StepView, viewSteps } from '../model/status.ts';
import { readEpisode } from '../record.ts';
import { type Authority, concerns } from './authority.ts';
import { standingOf } from './ends.ts';
import { recoverClaims } from './recover.ts';
import { type RunResult, type StepResult, stepResults } from './report.ts';
import type { SpendServices } from './spend-services.ts';
import { type Command, findWork, type Work, workOn } from './work.ts';

const AT_ONCE = 4;
/** Each change under a step is somebody's progress; that many in a row are none of this program. */
const LOOKS = 20;

/** What this command has done so far, by step. */
interface Progress {
  begun: Set<string>;
  looks: Map<string, number>;
  failures: Map<string, EpisodeError>;
  verdicts: Map<string, StepResult['verdict']>;
  /** Providers that refused for want of funds: nothing more is started there. */
  broke: Set<string>;
  /** Errors that are none of ours: bugs. */
  bugs: unknown[];
}

/**
 * The one loop: claim, send, record, poll, fetch, for every step that is authorised, until none is left to do. Whatever
 * stops it, what was begun is brought to its end first.
 */
export async function run(services: SpendServices, episodeId: string, authority: Authority): Promise<RunResult> {
  await recoverClaims(services, episodeId);
  const progress: Progress = {
    begun: new Set(),
    looks: new Map(),
    failures: new Map(),
    verdicts: new Map(),
    broke: new Set(),
    bugs: [],
  };
  const isStopped = (): boolean =>
    services.interrupted.aborted || progress.bugs.length > 0 || [...progress.failures.values()].some(endsAtOnce);
  const command: Command = {
    episodeId,
    authority,
    token: services.port.random(16),
    deadline: services.port.now() + authority.waitMs,
    isOver: (provider) => isStopped() || progress.broke.has(provider),
    claimed: (step) => progress.verdicts.set(step, 'proceed'),
  };
  const active = new Map<string, Promise<void>>();
  try {
    for (;;) {
      const episode = await services.store.view((view) => readEpisode(view, episodeId));
      if (authority.starts) refuseUnplannable(episode);
      const isOpen = (work: Work): boolean =>
        !progress.begun.has(work.view.id) && !(work.does === 'start' && progress.broke.has(work.view.step.provider));
      const open = isStopped() ? [] : findWork(episode, authority).filter(isOpen);
      for (const work of open.slice(0, AT_ONCE - active.size)) {
        const { id } = work.view;
        progress.begun.add(id);
        active.set(
          id,
          carryOut(services, command, episode, work, progress).finally(() => active.delete(id)),
        );
      }
      if (active.size === 0) {
        if (progress.bugs.length > 0) throw progress.bugs[0];
        return conclude(episode, authority, progress);
      }
      await Promise.race(active.values());
    }
  } finally {
    await Promise.all(active.values());
  }
}

function refuseUnplannable(episode: Episode): void {
  if (episode.closed) throw episodeClosed(episode.episode_id, episode.closed);
  if (!episode.plan) throw planMissing(episode.episode_id);
}

/** Never rejects: what one step comes to is noted, and the others go on. */
async function carryOut(
  services: SpendServices,
  command: Command,
  episode: Episode,
  work: Work,
  progress: Progress,
): Promise<void> {
  const { id } = work.view;
  try {
    const verdict = await workOn(services, command, episode, work);
    if (verdict === null) lookAgain(id, progress);
    else progress.verdicts.set(id, verdict);
  } catch (error) {
    if (!(error instanceof EpisodeError)) {
      progress.bugs.push(error);
      return;
    }
    // An interrupt ends what was being asked, which is free to ask again. What runs on is said at the end.
    if (services.interrupted.aborted && error.code.startsWith('PROVIDER_')) return;
    if (error.code === 'FUNDS_REFUSED' && work.does === 'start') progress.broke.add(work.view.step.provider);
    if (error.code === 'ATTEMPT_IN_FLIGHT') progress.verdicts.set(id, 'inflight');
    progress.failures.set(id, error);
  }
}

function lookAgain(step: string, { looks, begun, failures }: Progress): void {
  const looked = (looks.get(step) ?? 0) + 1;
  looks.set(step, looked);
  if (looked < LOOKS) begun.delete(step);
  else failures.set(step, ledgerBusy());
}

/** Where steps stand is reported also where this command had nothing to do, in the order of the plan. */
function conclude(episode: Episode, authority: Authority, { failures, verdicts }: Progress): RunResult {
  const views = viewSteps(episode);
  const concerned = views.filter((view) => concerns(authority, view.id));
  const known = new Set(views.map((view) => view.id));
  const ofOthers = [...failures].flatMap(([step, error]) => (known.has(step) ? [] : [error]));
  const named = new Map<string, StepResult['verdict']>((authority.steps ?? []).map((step) => [step, 'replay']));
  return {
    episode,
    steps: stepResults(episode, new Map([...named, ...verdicts])),
    failures: [...concerned.flatMap((view) => sayOf(view, episode, authority, failures.get(view.id))), ...ofOthers],
  };
}

/** What went wrong with a step here, and where it stands unless that says the same: a hold is always said. */
function sayOf(view: StepView, { episode_id }: Episode, { starts }: Authority, said?: EpisodeError): EpisodeError[] {
  const standing = standingOf(view, episode_id);
  if (said) return standing?.exit === 11 && said.exit !== 11 ? [said, standing] : [said];
  // Who only asks is told what is still open, and not again what ended long ago.
  return standing && (starts || standing.exit === 11 || standing.exit === 75) ? [standing] : [];
}
