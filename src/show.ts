import type { Episode } from './model/episode.ts';
import { isHeld, type StepView, viewSteps } from './model/status.ts';
import { approveCommand, nextCommands } from './next.ts';
import type { Port } from './port.ts';
import { waysOutOf } from './spend/ends.ts';
import { judged, readJudged } from './spend/recover.ts';
import type { Store } from './store/store.ts';

/** A state of a step that only evidence or a person leaves. */
export interface Hold {
  step: string;
  /** Nobody knows whether it was accepted; it was, and its provider no longer has it; its output waits for a person. */
  what: 'unknown' | 'lost' | 'approval';
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
    if (isHeld(view)) return [heldStep(episode, view)];
    if (view.gate !== 'waiting') return [];
    const take = view.take!;
    const commands = [approveCommand(episode.episode_id, view.id, take.files![0]!)];
    return [{ step: view.id, what: 'approval', since: take.finished_at!, at_risk: null, commands }];
  });
}

function heldStep(episode: Episode, { id, state, last }: StepView): Hold {
  const { attempt_id, sending_at, claim, remote } = last!;
  const row = episode.costs.find((candidate) => candidate.attempt_id === attempt_id);
  return {
    step: id,
    ...(state === 'unknown' ? { what: 'unknown', since: sending_at ?? claim.at } : { what: 'lost', since: remote!.at }),
    at_risk: row ? { amount: row.amount, unit: row.unit } : null,
    commands: waysOutOf(episode.episode_id, id, last!).map(({ command }) => command),
  };
}
