import { EpisodeError } from '../errors.ts';
import type { Attempt, Episode } from '../model/episode.ts';
import { weekOfEpisode } from '../model/episode-id.ts';
import type { Lookup, SubmitOutcome } from '../model/protocol.ts';
import type * as said from '../model/said.ts';
import type { Port } from '../port.ts';
import type { Provider } from '../providers/provider.ts';
import { readEpisode, readLedger } from '../record.ts';
import type { View } from '../store/store.ts';
import { lastSentMs, taskOf, withLookup, withOutcome, withoutRepeat } from './attempts.ts';
import { isListedStill } from './ends.ts';
import { isAdapterGone } from './recover.ts';
import { changeAttempt, type Target } from './send.ts';
import type { SpendServices } from './spend-services.ts';

type Sought = Omit<Target, 'role'>;

interface Finding {
  lookup: said.Lookup;
  /** What it proves; `null`: nothing. */
  outcome: SubmitOutcome | null;
}

/**
 * Asks its provider for a submission whose answer was lost. Free, and writes nothing. Throws `PROVIDER_UNREACHABLE` (69),
 * `PROVIDER_PROTOCOL` (76), and what keeps the provider from being asked at all (78).
 */
export async function lookUp(services: SpendServices, { episodeId, attempt }: Sought): Promise<Finding> {
  const { store, port } = services;
  const found = await ask(await services.provider(attempt.provider), attempt);
  const all = found.refs ?? [];
  const taken = all.length === 0 ? NOBODYS : await store.browse((view) => refsOfOthers(view, episodeId, attempt));
  const refs = all.filter(({ ref }) => !taken.has(ref));
  return {
    lookup: {
      at: new Date(port.now()).toISOString(),
      found: found.found,
      refs: refs.map(({ ref }) => ref),
      complete: found.complete === true,
    },
    outcome: judge({ ...found, refs }, refs.length < all.length, attempt, port),
  };
}

/** A provider looks around the time at which something was sent: where that was several times, it is asked about each. */
async function ask(provider: Provider, attempt: Attempt): Promise<Lookup> {
  if (!provider.lookup) return { found: 'unsupported' };
  const { fingerprint, claim, resends = [] } = attempt;
  let complete = true;
  for (const claimed_at of [claim.at, ...resends.map(({ at }) => at)]) {
    const found = await provider.lookup({ ...taskOf(attempt), fingerprint, claimed_at });
    if (found.found !== 'absent') return found;
    complete &&= found.complete === true;
  }
  return { found: 'absent', complete };
}

/** Records that it was asked, and what that proved. */
export const recordFinding = (
  services: SpendServices,
  target: Sought,
  { lookup, outcome }: Finding,
): Promise<Episode> => {
  const { attempt_id } = target.attempt;
  const event = `looked up: ${outcome?.outcome ?? lookup.found}`;
  return changeAttempt(services, target, event, (known, at) => {
    const asked = withLookup(withoutRepeat(known, attempt_id, event), attempt_id, lookup);
    return outcome ? withOutcome(asked, attempt_id, outcome, at) : asked;
  });
};

/** What a lookup proves, by the sheet that was stored with the claim; `null` when it proves nothing. */
function judge(
  found: Lookup & { refs: NonNullable<Lookup['refs']> },
  leftOut: boolean,
  attempt: Attempt,
  port: Port,
): SubmitOutcome | null {
  const exact = found.refs.filter((candidate) => candidate.match !== 'probable');
  // Ambiguous only because of what others have: what is left is ours.
  if (found.found === 'present' || (found.found === 'ambiguous' && leftOut))
    return exact.length === 1 ? { outcome: 'accepted', ref: exact[0]!.ref } : null;
  const { lookup } = attempt.sheet.capabilities;
  const settledMs = lastSentMs(attempt) + 1000 * (lookup?.settle_seconds ?? 0);
  const isProof = found.found === 'absent' && found.complete === true && lookup?.proves?.absent === true;
  // An adapter that outlived its command may be sending right now.
  if (
    !isProof ||
    !isListedStill(attempt, port.now()) ||
    port.now() < settledMs ||
    attempt.settlement ||
    !isAdapterGone(port, attempt)
  )
    return null;
  return {
    outcome: 'released',
    reason: 'not_sent',
    message: 'the provider proves that it has no such task',
    billable: 'no',
  };
}

const NOBODYS: ReadonlySet<string> = new Set();

/** A lookup reaches back for hours: what ran at the same time is of the newest weeks, or of the same one. */
const WEEKS = 8;

/** References at the same provider that other attempts have: one task answers one intent. */
async function refsOfOthers(
  view: View,
  episodeId: string,
  { attempt_id, provider }: Attempt,
): Promise<ReadonlySet<string>> {
  const { weeks } = await readLedger(view);
  const refs = new Set<string>();
  for (const week of new Set([...[...weeks].sort().slice(-WEEKS), weekOfEpisode(episodeId)])) {
    for (const id of await view.list('episode', week)) {
      const episode = await readEpisode(view, id).catch(noneIfDamaged);
      for (const attempt of episode?.steps.flatMap(({ attempts }) => attempts) ?? []) {
        const isOther = attempt.attempt_id !== attempt_id && attempt.provider === provider;
        if (isOther && attempt.ref !== null) refs.add(attempt.ref);
      }
    }
  }
  return refs;
}

/** A record that cannot be read stops what depends on it; nothing else. */
function noneIfDamaged(error: unknown): null {
  if (error instanceof EpisodeError) return null;
  throw error;
}
