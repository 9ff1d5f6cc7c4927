import { artifactChanged, EpisodeError, planMissing, stepNotFound, stepNotReady } from './errors.ts';
import { type PaidOptions, startsFirst } from './generate.ts';
import type { Attempt, Episode } from './model/episode.ts';
import { type StepView, viewSteps } from './model/status.ts';
import { approveCommand } from './next.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { verifyRecorded } from './spend/inputs.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import type { SpendServices } from './spend/services.ts';

export interface ApproveOptions extends PaidOptions {
  /** Empty: the one step that waits. */
  steps: readonly string[];
  /** What the person saw: the output's hash or its first characters (8 at least). */
  sha256: string | null;
  by: string;
}

/**
 * Binds a person and a time to the exact bytes of each step's take, durably, and then goes on like `generate`.
 * Throws `USAGE` (64) when several wait and none is named, `ARTIFACT_CHANGED` (10) when the files are not what was
 * recorded or not what `sha256` says, `STEP_NOT_READY` (14) when nothing waits.
 */
export async function approve(
  services: SpendServices,
  episodeId: string,
  options: ApproveOptions,
): Promise<SpendAnswer> {
  const { takes } = await planApproval(services, episodeId, options);
  await recordApproval(services, episodeId, takes, options.by);
  const result = await run(services, episodeId, {
    verb: 'generate',
    reason: null,
    mayStart: startsFirst,
    steps: null,
    maxCost: options.maxCost,
    waitMs: options.waitMs,
  });
  return reportOf(result, services.config.currency);
}

/** What `approve` would bind, checked against the files, and the episode as it would be then. Writes nothing. */
export async function planApproval(
  services: SpendServices,
  episodeId: string,
  { steps, sha256, by }: Pick<ApproveOptions, 'steps' | 'sha256' | 'by'>,
): Promise<{ takes: Take[]; approved: Episode }> {
  const episode = await services.store.view((view) => readEpisode(view, episodeId));
  const takes = selectTakes(episode, steps);
  if (sha256 !== null) refuseOtherBytes(takes, sha256);
  for (const { files } of takes) for (const file of files) await verifyRecorded(services, file);
  return { takes, approved: withApprovals(episode, takes, by, new Date(services.port.now()).toISOString()) };
}

const withApprovals = (episode: Episode, takes: readonly Take[], by: string, at: string): Episode => {
  const added = takes.flatMap((take) => {
    const files = take.files.map(({ path, sha256 }) => ({ path, sha256 }));
    return take.approved ? [] : [{ step: take.step, attempt_id: take.attemptId, files, by, at }];
  });
  return { ...episode, approvals: [...episode.approvals, ...added] };
};

interface Take {
  step: string;
  attemptId: string;
  files: NonNullable<Attempt['files']>;
  approved: boolean;
}

function selectTakes(episode: Episode, named: readonly string[]): Take[] {
  const id = episode.episode_id;
  if (!episode.plan) throw planMissing(id);
  const views = viewSteps(episode);
  const gates = views.filter((view) => view.gate !== 'none');
  const waiting = gates.filter((view) => view.gate === 'waiting');
  if (named.length === 0 && waiting.length > 1) {
    throw new EpisodeError(
      'USAGE',
      `${waiting.map((view) => view.id).join(' and ')} of ${id} wait for approval: say which`,
      {
        subject: id,
        hints: waiting.map((view) => approveCommand(id, view.id, view.take!.files![0]!)),
      },
    );
  }
  const chosen = named.length > 0 ? named.map((step) => pick(id, views, step)) : waiting.length > 0 ? waiting : gates;
  if (chosen.length === 0) throw nothingWaits(id, views);
  return chosen.map((view) => ({
    step: view.id,
    attemptId: view.take!.attempt_id,
    files: view.take!.files!,
    approved: view.gate === 'approved',
  }));
}

function pick(episodeId: string, views: StepView[], step: string): StepView {
  const view = views.find((candidate) => candidate.id === step);
  if (!view)
    throw stepNotFound(
      episodeId,
      step,
      views.map(({ id }) => id),
    );
  if (!view.take) throw stepNotReady(episodeId, step, `it is ${view.state}, and has no output to approve`);
  if (view.gate === 'none') throw stepNotReady(episodeId, step, 'its plan asks for no review');
  return view;
}

const nothingWaits = (episodeId: string, views: StepView[]): EpisodeError =>
  new EpisodeError('STEP_NOT_READY', `nothing of ${episodeId} waits for approval`, {
    subject: episodeId,
    hints: views.some((view) => view.step?.review) ? [`episode generate ${episodeId}`] : [`episode show ${episodeId}`],
  });

function refuseOtherBytes(takes: Take[], sha256: string): void {
  if (takes.length > 1) {
    throw new EpisodeError('USAGE', '--sha256 names the output of one step: approve the steps one by one', {
      subject: '--sha256',
    });
  }
  const [file] = takes[0]!.files;
  if (!file!.sha256.startsWith(sha256)) throw artifactChanged(file!.path, file!.sha256, `you saw ${sha256}`);
}

async function recordApproval(
  { store, port }: SpendServices,
  episodeId: string,
  takes: Take[],
  by: string,
): Promise<void> {
  if (takes.every((take) => take.approved)) return;
  await store.transact(async (transaction) => {
    const episode = await readEpisode(transaction, episodeId);
    const current = new Map(viewSteps(episode).map((view) => [view.id, view.take?.attempt_id]));
    const outdated = takes.find((take) => current.get(take.step) !== take.attemptId);
    if (outdated) throw artifactChanged(outdated.files[0]!.path, outdated.files[0]!.sha256, 'there is a newer take');
    const at = new Date(port.now()).toISOString();
    const steps = takes.map((take) => take.step);
    await saveEpisode(transaction, withApprovals(episode, takes, by, at), { at, by, event: 'approved', steps });
  });
}
