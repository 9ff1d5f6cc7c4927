import { artifactChanged, EpisodeError, episodeClosed, outputIsOther, stepNotReady, usage } from './errors.ts';
import { findStep, firstAttempts, type PaidOptions, readSpendable } from './generate.ts';
import type { Attempt, Episode } from './model/episode.ts';
import { type StepView, viewSteps, withDerived } from './model/status.ts';
import { approveCommand, nextCommands, stepCommands } from './next.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { findAttempt } from './spend/attempts.ts';
import type { SpendPlan } from './spend/authority.ts';
import { verifyRecorded } from './spend/inputs.ts';
import { reportOf, type SpendAnswer } from './spend/report.ts';
import { run } from './spend/run.ts';
import type { SpendServices } from './spend/spend-services.ts';

export interface ApproveOptions extends PaidOptions {
  /** Empty: the one step that waits. */
  steps: readonly string[];
  /** What the person saw: the output's hash or its first characters (8 at least). */
  sha256: string | null;
  by: string;
}

/**
 * Binds a person and a time to the exact bytes of each step's take, durably, and then goes on like `generate`. What was
 * approved `before` stays as it is recorded, whoever approves it again.
 * Throws what `planApproval` throws, and `ARTIFACT_CHANGED` (10) when a newer take came in between.
 */
export async function approve(
  services: SpendServices,
  episodeId: string,
  options: ApproveOptions,
): Promise<SpendAnswer & { before: Approval[] }> {
  const { takes, authority } = await planApproval(services, episodeId, options);
  const before = await recordApproval(services, episodeId, takes, options.by);
  return { ...reportOf(await run(services, episodeId, authority), services.config.currency), before };
}

type Approval = Episode['approvals'][number];

/**
 * What `approve` would bind, checked against the files, and the episode as it would be then. Writes nothing.
 * Throws `EPISODE_NOT_FOUND` (66), `USAGE` (64) when several wait and none is named, `ARTIFACT_CHANGED` (10) when the
 * files are not what was recorded or not what `sha256` says, `EPISODE_CLOSED`, `STEP_NOT_READY` (14) when nothing waits.
 */
export async function planApproval(
  services: Pick<SpendServices, 'store' | 'port' | 'root' | 'media'>,
  episodeId: string,
  { steps, sha256, by, maxCost, waitMs }: ApproveOptions,
): Promise<SpendPlan & { takes: Take[] }> {
  const episode = await readSpendable(services, episodeId);
  const takes = selectTakes(episode, steps, sha256);
  if (sha256 !== null) refuseOtherBytes(episode, takes, sha256);
  for (const { files } of takes) for (const file of files) await verifyRecorded(services, file);
  const approved = withDerived(withApprovals(episode, takes, by, new Date(services.port.now()).toISOString()));
  return { takes, episode: approved, authority: { starts: firstAttempts, steps: null, maxCost, waitMs } };
}

interface Take {
  step: string;
  attemptId: string;
  files: NonNullable<Attempt['files']>;
}

/** The same record when all of them are approved already. */
function withApprovals(episode: Episode, takes: readonly Take[], by: string, at: string): Episode {
  const gates = new Map(viewSteps(episode).map((view) => [view.id, view.gate]));
  const added = takes.flatMap(({ step, attemptId, files }) => {
    const bound = files.map(({ path, sha256 }) => ({ path, sha256 }));
    return gates.get(step) === 'approved' ? [] : [{ step, attempt_id: attemptId, files: bound, by, at }];
  });
  return added.length === 0 ? episode : { ...episode, approvals: [...episode.approvals, ...added] };
}

function selectTakes(episode: Episode, named: readonly string[], sha256: string | null): Take[] {
  const id = episode.episode_id;
  const gates = viewSteps(episode).filter((view) => view.gate !== 'none');
  const waiting = gates.filter((view) => view.gate === 'waiting');
  if (named.length === 0 && waiting.length > 1) throw severalWait(id, waiting);
  // Nothing waits: the answer to an approval may have been lost, and this is it again.
  const again = gates.filter(({ take }) => sha256 === null || take!.files![0]!.sha256.startsWith(sha256));
  const unnamed = waiting.length > 0 ? waiting : again;
  const chosen = named.length > 0 ? [...new Set(named)].map((step) => pick(episode, step)) : unnamed;
  if (chosen.length === 0) throw nothingWaits(episode);
  return chosen.map(({ id: step, take }) => ({ step, attemptId: take!.attempt_id, files: take!.files! }));
}

function pick(episode: Episode, step: string): StepView {
  const view = findStep(episode, step);
  const { state, gate } = view;
  if (gate !== 'none') return view;
  const isMade = state === 'succeeded' || state === 'stale';
  throw stepNotReady(
    episode.episode_id,
    step,
    isMade ? 'its plan asks for no review' : `it is ${state}, and has no output to approve`,
    ...stepCommands(episode, view),
  );
}

const severalWait = (episodeId: string, waiting: readonly StepView[]): EpisodeError =>
  usage(
    `${waiting.map((view) => view.id).join(' and ')} of ${episodeId} wait for approval: say which`,
    episodeId,
    ...waiting.map((view) => approveCommand(episodeId, view.id, view.take!.files![0]!)),
  );

function nothingWaits(episode: Episode): EpisodeError {
  const id = episode.episode_id;
  const next = nextCommands(episode);
  return new EpisodeError('STEP_NOT_READY', `nothing of ${id} waits for approval`, {
    subject: id,
    hints: next.length > 0 ? next : [`episode show ${id}`],
  });
}

function refuseOtherBytes(episode: Episode, takes: readonly Take[], sha256: string): void {
  if (takes.length > 1) throw usage('--sha256 names the output of one step: approve the steps one by one', '--sha256');
  const { step, attemptId, files } = takes[0]!;
  if (files[0]!.sha256.startsWith(sha256)) return;
  const attempts = episode.steps.find(({ id }) => id === step)!.attempts;
  const seen = attempts.find((attempt) => attempt.files?.some((file) => file.sha256.startsWith(sha256)));
  throw outputIsOther(episode.episode_id, step, {
    take: findAttempt(episode, attemptId)!.number,
    recorded: files[0]!.sha256,
    given: sha256,
    seen: seen?.number ?? null,
    approve: approveCommand(episode.episode_id, step, files[0]!),
  });
}

async function recordApproval(
  { store, port }: SpendServices,
  episodeId: string,
  takes: readonly Take[],
  by: string,
): Promise<Approval[]> {
  return store.transact(async (transaction) => {
    const episode = await readEpisode(transaction, episodeId);
    if (episode.closed) throw episodeClosed(episodeId, episode.closed);
    const inForce = new Map(viewSteps(episode).map((view) => [view.id, view.take?.attempt_id]));
    const outdated = takes.find((take) => inForce.get(take.step) !== take.attemptId);
    if (outdated) throw artifactChanged(outdated.files[0]!.path, outdated.files[0]!.sha256, 'there is a newer take');
    const at = new Date(port.now()).toISOString();
    const approved = withApprovals(episode, takes, by, at);
    const bound = new Set(takes.map((take) => take.attemptId));
    const before = episode.approvals.filter((approval) => bound.has(approval.attempt_id));
    if (approved === episode) return before;
    const steps = takes.map((take) => take.step);
    await saveEpisode(transaction, approved, { at, by, event: 'approved', steps });
    return before;
  });
}
