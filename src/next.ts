import { retryCommand } from './errors.ts';
import type { Episode, OutputFile } from './model/episode.ts';
import { ASSEMBLY } from './model/plan.ts';
import { deliverables, isHeld, type StepView, viewSteps } from './model/status.ts';
import { waysOutOf } from './spend/ends.ts';

const NONE: ReadonlySet<string> = new Set();

/**
 * Commands that bring this episode on and can be typed as they stand, most useful first; none when there is nothing to do.
 * Steps that were `refused` would be refused again: nothing is offered for them.
 */
export function nextCommands(episode: Episode, refused = NONE): string[] {
  const id = episode.episode_id;
  if (episode.closed) return [];
  if (!episode.plan) return [`episode plan ${id} --file FILE`];
  const views = viewSteps(episode);
  const commands = views.flatMap((view) => (refused.has(view.id) ? [] : forStep(id, view)));
  const isAllDone = commands.length === 0 && refused.size === 0;
  return [...new Set(isAllDone ? forStale(id, views) : commands)];
}

/**
 * Commands that bring one step on. For one that needs others first: what brings those on that stand at the beginning of
 * the chain. Never empty, so that a refusal always says what to type.
 */
export function stepCommands(episode: Episode, view: StepView): string[] {
  const id = episode.episode_id;
  const views = new Map(viewSteps(episode).map((one) => [one.id, one]));
  const forNeeds = (waiting: StepView): string[] =>
    waiting.missing.flatMap((name) => {
      const need = views.get(name)!;
      return need.state === 'waiting' ? forNeeds(need) : forStep(id, need);
    });
  const commands = view.missing.length > 0 ? forNeeds(view) : forStep(id, view);
  return commands.length > 0 ? [...new Set(commands)] : [`episode show ${id}`];
}

function forStep(id: string, view: StepView): string[] {
  if (isHeld(view)) return waysOutOf(id, view.id, view.last!).map(({ command }) => command);
  switch (view.state) {
    // Written off: all that is not known and not so is held.
    case 'unknown':
    case 'failed':
    case 'canceled':
    case 'rejected':
      return [retryCommand(id, view.id)];
    case 'ready':
      return [`episode generate ${id}`];
    case 'claimed':
    case 'sending':
      return [`episode wait ${id}`];
    // Whoever followed it may be gone, and `wait` only looks.
    case 'accepted':
    case 'running':
      return [`episode generate ${id}`];
    default:
      return view.gate === 'waiting' ? [approveCommand(id, view.id, view.take!.files![0]!)] : [];
  }
}

/**
 * Usable as it is; when nothing else is to do, it can be made anew. An assembly comes last: it is made of what the others are
 * by then, and would be stale again.
 */
function forStale(id: string, views: readonly StepView[]): string[] {
  const stale = views.filter(({ state, missing }) => state === 'stale' && missing.length === 0);
  const clips = stale.filter(({ step }) => step?.provider !== ASSEMBLY);
  if (clips.length > 0) return clips.map((view) => retryCommand(id, view.id));
  return stale.length > 0 ? [`episode reassemble ${id}`] : [];
}

export const approveCommand = (episodeId: string, step: string, file: OutputFile): string =>
  `episode approve ${episodeId} --step ${step} --sha256 ${file.sha256.slice(0, 12)}`;

/** The film and cover as they stand, for people and for `--json`. */
export const deliverablesOf = (episode: Episode) => deliverables(viewSteps(episode));
