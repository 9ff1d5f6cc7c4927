import type { Attempt, Episode } from './model/episode.ts';
import { isHeld, type StepView, viewSteps } from './model/status.ts';
import { approveCommand, nextCommands } from './next.ts';
import type { Port } from './port.ts';
import { readEpisode } from './record.ts';
import { firstSentAt } from './spend/attempts.ts';
import { lookupText, waysOutOf } from './spend/ends.ts';
import { judged } from './spend/recover.ts';
import type { Store } from './store/store.ts';

/** A state of a step that only evidence or a person leaves. */
export interface Hold {
  step: string;
  /** Nobody knows whether it was accepted; it was, and its provider no longer has it; its output waits for a person. */
  what: 'unknown' | 'lost' | 'approval';
  since: string;
  /** What may have been charged without an answer. */
  at_risk: { amount: string | null; unit: string } | null;
  /** When its provider was last asked about it, and what it said; `null`: not asked since it is held. */
  asked: { at: string; said: string } | null;
  /** What the provider may know it by; `null` for an approval. */
  called: { client_ref: string; ref: string | null; evidence: Record<string, unknown> | null } | null;
  /** What ends it; each can be typed as it stands. */
  commands: string[];
}

/** The record as it stands: claims of dead commands already judged, though nothing is written. */
export type Shown = Episode & { holds: Hold[]; next: string[] };

/** Throws `EPISODE_NOT_FOUND` (66). */
export const show = async ({ store, port }: { store: Store; port: Port }, episodeId: string): Promise<Shown> =>
  shown(port, await store.view((view) => readEpisode(view, episodeId)));

export function shown(port: Port, recorded: Episode): Shown {
  const episode = judged(port, recorded);
  return { ...episode, holds: holdsOf(episode, port.now()), next: nextCommands(episode) };
}

function holdsOf(episode: Episode, now: number): Hold[] {
  return viewSteps(episode).flatMap((view): Hold[] => {
    if (isHeld(view)) return [heldStep(episode, view, now)];
    if (view.gate !== 'waiting') return [];
    const take = view.take!;
    const commands = [approveCommand(episode.episode_id, view.id, take.files![0]!)];
    const nothing = { at_risk: null, asked: null, called: null };
    return [{ step: view.id, what: 'approval', since: take.finished_at!, ...nothing, commands }];
  });
}

function heldStep(episode: Episode, { id, state, last }: StepView, now: number): Hold {
  const { attempt_id, client_ref, ref, remote, outcome } = last!;
  const row = episode.costs.find((candidate) => candidate.attempt_id === attempt_id);
  return {
    step: id,
    ...(state === 'unknown' ? { what: 'unknown', since: firstSentAt(last!) } : { what: 'lost', since: remote!.at }),
    at_risk: row ? { amount: row.amount, unit: row.unit } : null,
    asked: askedAbout(last!),
    called: { client_ref, ref, evidence: outcome?.evidence ?? null },
    commands: waysOutOf(episode.episode_id, id, last!, { now }).map(({ command }) => command),
  };
}

function askedAbout(attempt: Attempt): Hold['asked'] {
  const { ref, remote, lookup } = attempt;
  if (ref !== null) return remote && { at: remote.asked_at ?? remote.at, said: remote.state };
  return lookup ? { at: lookup.at, said: lookupText(attempt)! } : null;
}
