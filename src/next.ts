import { waysOut } from './errors.ts';
import type { Episode, OutputFile } from './model/episode.ts';
import type { StepView } from './model/status.ts';
import { deliverables, viewSteps } from './model/status.ts';

/** Ready commands that bring this episode on, most useful first; none when there is nothing to do. */
export function nextCommands(episode: Episode): string[] {
  const id = episode.episode_id;
  if (episode.closed) return [];
  if (!episode.plan) return [`episode plan ${id} --file FILE`];
  const views = viewSteps(episode);
  const commands = views.flatMap((view) => forStep(episode, view));
  if (commands.length > 0) return [...new Set(commands)];
  return views.some((view) => view.state === 'stale') ? [`episode reassemble ${id}`] : [];
}

function forStep({ episode_id: id }: Episode, view: StepView): string[] {
  if (view.state === 'unknown') {
    return view.writtenOff ? [`episode retry ${id} --step ${view.id} --reason "…"`] : waysOut(id, view.id);
  }
  switch (view.state) {
    case 'failed':
    case 'canceled':
    case 'rejected':
      return [`episode retry ${id} --step ${view.id} --reason "…"`];
    case 'ready':
      return [`episode generate ${id}`];
    case 'claimed':
    case 'sending':
    case 'accepted':
    case 'running':
      return [`episode wait ${id}`];
    default:
      return view.gate === 'waiting' ? [approveCommand(id, view.id, view.take!.files![0]!)] : [];
  }
}

export const approveCommand = (episodeId: string, step: string, file: OutputFile): string =>
  `episode approve ${episodeId} --step ${step} --sha256 ${file.sha256.slice(0, 12)}`;

/** The film and cover as they stand, for people and for `--json`. */
export const deliverablesOf = (episode: Episode) => deliverables(viewSteps(episode));
