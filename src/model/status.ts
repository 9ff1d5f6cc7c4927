import canonicalize from 'canonicalize';
import { type AttemptState, attemptState, governing, isLost, isOpen } from './attempt.ts';
import type { Attempt, Episode, EpisodeStatus, InputRecord, OutputFile, StepRecord } from './episode.ts';
import { ASSEMBLY, inputsOf, needsOf, type Step } from './plan.ts';

/** A step stands where its newest attempt does, or where no attempt decides. */
type StepState = Exclude<AttemptState, 'written-off'> | 'waiting' | 'stale' | 'skipped';

export interface StepView {
  id: string;
  /** Absent for a step that was left out of the plan. */
  step: Step | null;
  state: StepState;
  /** The attempt that says how the step stands: the newest, unless an older one got a late answer. */
  last: Attempt | null;
  /** The newest attempt whose output may be used: succeeded and not rejected. */
  take: Attempt | null;
  /** Of the take in force; `approved` means its very bytes. */
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
  const steps = episode.plan?.steps ?? [];
  const byId = new Map(steps.map((step) => [step.id, step]));
  const attemptsOf = new Map(episode.steps.map((record) => [record.id, record.attempts]));
  const views = new Map<string, StepView>();

  const view = (step: Step): StepView => {
    const known = views.get(step.id);
    if (known) return known;
    const needs = needsOf(step).map((id) => view(byId.get(id)!));
    const made = viewPlanned(episode, step, attemptsOf.get(step.id) ?? [], needs, views);
    views.set(step.id, made);
    return made;
  };
  const leftOut = episode.steps.filter((record) => !byId.has(record.id));
  return [...steps.map(view), ...leftOut.map(viewLeftOut)];
}

function viewPlanned(
  episode: Episode,
  step: Step,
  attempts: readonly Attempt[],
  needs: StepView[],
  views: ReadonlyMap<string, StepView>,
): StepView {
  const last = governing(attempts);
  const take = attempts.findLast((attempt) => attemptState(attempt) === 'succeeded') ?? null;
  const lastState = last ? attemptState(last) : 'ready';
  const state = stateOf(step, lastState, take, needs, views);
  const inForce = state === 'succeeded' || state === 'stale' ? take : null;
  return {
    id: step.id,
    step,
    last,
    take,
    missing: needs.filter((need) => !isUsable(need)).map((need) => need.id),
    writtenOff: lastState === 'written-off',
    gate: step.review !== true || !inForce ? 'none' : isApproved(episode, step.id, inForce) ? 'approved' : 'waiting',
    state,
  };
}

/** What was left out of the plan is skipped, but what may still be charged is not forgotten. */
function viewLeftOut({ id, attempts }: StepRecord): StepView {
  const last = governing(attempts);
  const state = last && isOpen(last) ? (attemptState(last) as StepState) : 'skipped';
  return { id, step: null, state, last, take: null, gate: 'none', writtenOff: false, missing: [] };
}

/** Its output may be used by others: whole, not rejected, approved where that is asked; stale output is still usable. */
const isUsable = (view: StepView): boolean =>
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

/** Whether only evidence or a person ends it: nobody knows its outcome, or its provider has lost what it accepted. */
export const isHeld = ({ state, writtenOff, last }: StepView): boolean =>
  (state === 'unknown' && !writtenOff) || (last !== null && isLost(last));

const AT_WORK = new Set<StepState>(['claimed', 'sending', 'accepted', 'running']);

/** Whether somebody sends it right now, or its provider works on it. */
export const isAtWork = (view: StepView): boolean => AT_WORK.has(view.state) && !isHeld(view);

/** The episode's status, from everything else in its record. */
export function deriveStatus(episode: Episode): EpisodeStatus {
  if (episode.closed) return 'closed';
  if (!episode.plan) return 'allocated';
  const views = viewSteps(episode);
  const some = (...states: StepState[]) => views.some((view) => states.includes(view.state));
  if (views.some(isHeld)) return 'held';
  if (views.some(isAtWork)) return 'generating';
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
