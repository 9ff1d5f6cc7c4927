import { waysOut } from './errors.ts';
import type { Episode } from './model/episode.ts';
import { viewSteps } from './model/status.ts';
import { approveCommand, nextCommands } from './next.ts';
import type { Port } from './port.ts';
import { judged, readJudged } from './spend/recover.ts';
import type { Store } from './store/store.ts';

/** A state of a step that only evidence or a person leaves. */
export interface Hold {
  step: string;
  what: 'unknown' | 'approval';
  since: string;
  /** What may have been charged without an answer. */
  at_risk: { amount: string | null; unit: string } | null;
  /** What ends it; each can be typed as it stands. */
  commands: string[];
}

/** The record as it stands: claims of dead commands already judged, though nothing is written. */
export type Shown = Episode & { holds: Hold[]; next: string[] };

/** Throws `EPISODE_NOT_FOUND` (66). */
export const show = async (services: { store: Store; port: Port }, episodeId: string): Promise<Shown> =>
  withHolds(await readJudged(services, episodeId));

export const shown = (port: Port, recorded: Episode): Shown => withHolds(judged(port, recorded));

const withHolds = (episode: Episode): Shown => ({
  ...episode,
  holds: holdsOf(episode),
  next: nextCommands(episode),
});

function holdsOf(episode: Episode): Hold[] {
  return viewSteps(episode).flatMap((view): Hold[] => {
    if (view.state === 'unknown' && !view.writtenOff) {
      const row = episode.costs.find((candidate) => candidate.attempt_id === view.last!.attempt_id);
      return [
        {
          step: view.id,
          what: 'unknown',
          since: view.last!.sending_at ?? view.last!.claim.at,
          at_risk: row ? { amount: row.amount, unit: row.unit } : null,
          commands: waysOut(episode.episode_id, view.id, view.last!.provider).map(({ command }) => command),
        },
      ];
    }
    if (view.gate !== 'waiting') return [];
    const take = view.take!;
    const commands = [approveCommand(episode.episode_id, view.id, take.files![0]!)];
    return [{ step: view.id, what: 'approval', since: take.finished_at!, at_risk: null, commands }];
  });
}
