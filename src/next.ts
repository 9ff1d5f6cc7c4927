import { retryCommand, waysOut } from './errors.ts';
import type { Episode, OutputFile } from './model/episode.ts';
import { ASSEMBLY } from './model/plan.ts';
import type { StepView } from './model/status.ts';
import { deliverables, viewSteps } from './model/status.ts';

/** Commands that bring this episode on and can be typed as they stand, most useful first; none when there is nothing to do. */
export function nextCommands(episode: Episode): string[] {
  const id = episode.episode_id;
  if (episode.closed) return [];
  if (!episode.plan) return [`episode plan ${id} --file FILE`];
  const views = viewSteps(episode);
  const commands = views.flatMap((view) => forStep(id, view));
  return [...new Set(commands.length > 0 ? commands : views.flatMap((view) => forStale(id, view)))];
}

function forStep(id: string, view: StepView): string[] {
  switch (view.state) {
    case 'unknown':
      return view.writtenOff
        ? [retryCommand(id, view.id)]
        : waysOut(id, view.id, view.last!.provider).map(({ command }) => command);
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

/** Usable as it is; when nothing else is to do, it can be made anew. An assembly is made of what the others are by then. */
function forStale(id: string, view: StepView): string[] {
  if (view.state !== 'stale' || view.missing.length > 0) return [];
  return view.step?.provider === ASSEMBLY ? [`episode reassemble ${id}`] : [retryCommand(id, view.id)];
}

export const approveCommand = (episodeId: string, step: string, file: OutputFile): string =>
  `episode approve ${episodeId} --step ${step} --sha256 ${file.sha256.slice(0, 12)}`;

/** The film and cover as they stand, for people and for `--json`. */
export const deliverablesOf = (episode: Episode) => deliverables(viewSteps(episode));
