import canonicalize from 'canonicalize';
import type { Attempt, Episode, EpisodeStatus, InputRecord, OutputFile } from './episode.ts';
import { ASSEMBLY, inputsOf, needsOf, type Step } from './plan.ts';

export type StepState =
  | 'waiting'
  | 'ready'
  | 'claimed'
  | 'sending'
  | 'accepted'
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'canceled'
  | 'unknown'
  | 'rejected'
  | 'stale'
  | 'skipped';

/** Released outcomes after which the same intent may be sent again without asking: provably nothing was bought. */
const READY_AGAIN = new Set(['not_sent', 'throttled', 'insufficient_funds', 'crashed', 'aborted']);

type AttemptState = Exclude<StepState, 'waiting' | 'stale' | 'skipped'> | 'written-off';

/** Where one attempt stands, from its own record. `ready`: it bought nothing and the step may be sent again. */
export function attemptState(attempt: Attempt): AttemptState {
  if (attempt.rejection) return 'rejected';
  if (attempt.files) return 'succeeded';
  if (attempt.settlement?.form === 'not_accepted') return 'ready';
  if (attempt.settlement?.form === 'write_off') return 'written-off';
  switch (attempt.outcome?.outcome) {
    case undefined:
      return attempt.ref !== null ? 'accepted' : attempt.sending_at !== null ? 'sending' : 'claimed';
    case 'released':
      return READY_AGAIN.has(attempt.outcome!.reason ?? '') ? 'ready' : 'failed';
    case 'unknown':
      return 'unknown';
    case 'completed':
      return 'failed';
    case 'accepted':
      return remoteState(attempt);
  }
}

/** `not_found` and `expired` are no failures of a task that was paid: it is asked again. */
function remoteState(attempt: Attempt): AttemptState {
  switch (attempt.remote?.state) {
    case 'error':
      return 'failed';
    case 'canceled':
      return 'canceled';
    case 'running':
    case 'done':
      return 'running';
    default:
      return 'accepted';
  }
}

const OPEN = new Set<AttemptState>(['claimed', 'sending', 'accepted', 'running', 'unknown']);

/** An attempt that may still turn into something bought: nothing else may be sent for its step. */
export const isOpen = (attempt: Attempt): boolean => OPEN.has(attemptState(attempt));

export interface StepView {
  id: string;
  /** Absent for a step that was left out of the plan. */
  step: Step | null;
  state: StepState;
  /** The newest attempt, whatever became of it. */
  last: Attempt | null;
  /** The newest attempt whose output may be used: succeeded and not rejected. */
  take: Attempt | null;
  /** `approved` means these very bytes. */
  gate: 'none' | 'waiting' | 'approved';
  /** Given up by a person without knowing: only `retry` pays again. */
  writtenOff: boolean;
  /** Needs that are not usable yet. */
  missing: string[];
}

const isApproved = (episode: Episode, stepId: string, take: Attempt): boolean =>
  episode.approvals.some(
    (approval) =>
      approval.step === stepId &&
      approval.attempt_id === take.attempt_id &&
      approval.files.length === take.files!.length &&
      approval.files.every((file, index) => file.sha256 === take.files![index]!.sha256),
  );

/**
 * What a step is given, in its order: from the takes of other steps as they stand (a take's further files are `name.2`,
 * `name.3`, …), and from `files`, where the files of the show have been looked up.
 */
export function resolveInputs(
  step: Step,
  views: ReadonlyMap<string, Pick<StepView, 'take'>>,
  files: readonly InputRecord[],
): InputRecord[] {
  return inputsOf(step).flatMap((input) => {
    if ('file' in input) return files.filter(({ name, path }) => name === input.name && path === input.file);
    return (views.get(input.step)?.take?.files ?? []).map(({ path, sha256 }, index) => ({
      name: index === 0 ? input.name : `${input.name}.${index + 1}`,
      path,
      sha256,
    }));
  });
}

/** What decides whether an output still answers its step: never paths, times or the attempt. */
const content = (provider: string, kind: string, params: unknown, inputs: { name: string; sha256: string }[]): string =>
  canonicalize({ provider, kind, params, inputs: inputs.map(({ name, sha256 }) => `${name} ${sha256}`) })!;

/** Every step of the plan in its order, then the steps that were left out of it. */
export function viewSteps(episode: Episode): StepView[] {
  const views = new Map<string, StepView>();
  const records = new Map(episode.steps.map((record) => [record.id, record]));
  const steps = episode.plan?.steps ?? [];
  const byId = new Map(steps.map((step) => [step.id, step]));

  const view = (step: Step): StepView => {
    const known = views.get(step.id);
    if (known) return known;
    const attempts = records.get(step.id)?.attempts ?? [];
    const last = attempts.at(-1) ?? null;
    const take = attempts.findLast((attempt) => attemptState(attempt) === 'succeeded') ?? null;
    const needs = needsOf(step).map((id) => view(byId.get(id)!));
    const missing = needs.filter((need) => !isUsable(need)).map((need) => need.id);
    const lastState = last ? attemptState(last) : 'ready';
    const result: StepView = {
      id: step.id,
      step,
      last,
      take,
      missing,
      writtenOff: lastState === 'written-off',
      gate: step.review !== true || !take ? 'none' : isApproved(episode, step.id, take) ? 'approved' : 'waiting',
      state: stateOf(step, lastState, take, needs, views),
    };
    views.set(step.id, result);
    return result;
  };

  for (const step of steps) view(step);
  for (const record of episode.steps) {
    if (byId.has(record.id)) continue;
    const last = record.attempts.at(-1) ?? null;
    const state = last && isOpen(last) ? (attemptState(last) as StepState) : 'skipped';
    views.set(record.id, {
      id: record.id,
      step: null,
      state,
      last,
      take: null,
      gate: 'none',
      writtenOff: false,
      missing: [],
    });
  }
  const order = [...steps.map((step) => step.id), ...episode.steps.map((record) => record.id)];
  return [...new Set(order)].map((id) => views.get(id)!);
}

/** Its output may be used by others: whole, not rejected, approved where that is asked; stale output is still usable. */
export const isUsable = (view: StepView): boolean =>
  (view.state === 'succeeded' || view.state === 'stale') && view.gate !== 'waiting';

function stateOf(
  step: Step,
  last: AttemptState,
  take: Attempt | null,
  needs: StepView[],
  views: ReadonlyMap<string, StepView>,
): StepState {
  if (last === 'written-off') return 'unknown';
  if (last === 'ready' && !take) return needs.every(isUsable) ? 'ready' : 'waiting';
  // A re-send that bought nothing leaves the take before it in force.
  if (last === 'succeeded' || last === 'ready') return isStale(step, take!, needs, views) ? 'stale' : 'succeeded';
  return last;
}

function isStale(step: Step, take: Attempt, needs: StepView[], views: ReadonlyMap<string, StepView>): boolean {
  if (needs.some((need) => need.state !== 'succeeded')) return true;
  const inputs = resolveInputs(step, views, take.inputs);
  return (
    content(step.provider, step.kind, step.params ?? {}, inputs) !==
    content(take.provider, take.kind, take.params, take.inputs)
  );
}

/** The episode's status, from everything else in its record. */
export function deriveStatus(episode: Episode): EpisodeStatus {
  if (episode.closed) return 'closed';
  if (!episode.plan) return 'allocated';
  const views = viewSteps(episode);
  const some = (...states: StepState[]) => views.some((view) => states.includes(view.state) && !view.writtenOff);
  if (some('unknown')) return 'held';
  if (some('claimed', 'sending', 'accepted', 'running')) return 'generating';
  if (views.some((view) => view.writtenOff) || some('failed', 'canceled', 'rejected')) return 'failed';
  if (views.some((view) => view.gate === 'waiting')) return 'awaiting-approval';
  if (views.every((view) => ['succeeded', 'stale', 'skipped'].includes(view.state))) return 'complete';
  return episode.steps.some((record) => record.attempts.length > 0) ? 'generating' : 'planned';
}

/** The record with what is derived brought up to date: the only way `status` and the steps' `state` are ever set. */
export function withDerived(episode: Episode): Episode {
  const views = viewSteps(episode);
  const attempts = new Map(episode.steps.map((record) => [record.id, record]));
  const steps = views.map(({ id, state }) => ({
    ...attempts.get(id),
    id,
    state,
    attempts: attempts.get(id)?.attempts ?? [],
  }));
  return { ...episode, steps, status: deriveStatus(episode) };
}

/** The deliverables as they stand: files of the media step and of the cover step, each with its role. */
export function deliverables(views: StepView[]): { media: OutputFile | null; cover: OutputFile | null } {
  const file = (role: 'media' | 'cover'): OutputFile | null => {
    const declared = views.find((view) => view.step?.role === role);
    if (declared) return declared.take?.files?.[0] ?? null;
    const made = views.findLast((view) => view.step?.provider === ASSEMBLY)?.take;
    return made?.files?.find((output) => output.role === role) ?? null;
  };
  return { media: file('media'), cover: file('cover') };
}
