import { straysOf } from './artifacts.ts';
import { clockBehind, type EpisodeError, keyInOtherWeek, keyInputMismatch } from './errors.ts';
import { fingerprint } from './fingerprint.ts';
import { readKeyed, refuseIncomplete } from './integrity.ts';
import type { Episode, EpisodeStatus } from './model/episode.ts';
import { episodeIdOf } from './model/episode-id.ts';
import type { Key, Ledger } from './model/ledger.ts';
import type { Plan } from './model/plan.ts';
import { deriveStatus, withDerived } from './model/status.ts';
import type { Port } from './port.ts';
import { readLedger } from './record.ts';
import { ref, type Store, type Transaction, type View } from './store/store.ts';

/** Who asks for an episode, and for which week. Validated by the command line. */
export interface AllocateRequest {
  /** Which kind of key it is: a typed `friday@…` is not the scheduled one. */
  source: 'typed' | 'schedule';
  key: string;
  /** The week that was asked for, or follows from a slot that was: a key on record must be in it. `null`: any. */
  week: string | null;
  /** Else the week of a new episode: that of the schedule's slot or of now, in its zone; asked for only when it matters. */
  currentWeek: () => string | Promise<string>;
  /** Whether that week follows from this machine's clock alone, which must then not be behind the ledger. */
  byClock: boolean;
  schedule: string | null;
  slot: string | null;
  timeZone: string;
  /** Given by hand: part of what makes two requests the same. */
  plan: Plan | null;
  /** The schedule's: frozen when the episode is made, and not compared. */
  schedulePlan: Plan | null;
  /** When the request was first made, RFC 3339, where that is known. */
  issuedAt: string | null;
  /** Why a key that looks as if it changed on a retry does not. */
  keyIsStable: string | null;
  /** Why a new key of this shape must not be taken; never said of a key on record. */
  refuseNew: () => EpisodeError | null | Promise<EpisodeError | null>;
}

export interface Allocation {
  verdict: 'proceed' | 'replay';
  episode_id: string;
  week_id: string;
  sequence: number;
  allocation_key: string;
  availability: 'present';
  status: EpisodeStatus;
  created_at: string;
}

/** How far behind the newest record a clock may be and still be believed. */
export const CLOCK_TOLERANCE_MS = 5 * 60_000;

/**
 * The episode of this key: the one it already has, or a new one, recorded before this returns.
 * Throws `KEY_IN_OTHER_WEEK`, `KEY_INPUT_MISMATCH` (10), `KEY_ON_SEVERAL_EPISODES`, `LEDGER_INCOMPLETE` (65),
 * `UNSTABLE_KEY` (64), `CLOCK_BEHIND` (75); nothing is created then.
 */
export async function allocate(
  services: { store: Store; port: Port; root: string },
  request: AllocateRequest,
): Promise<Allocation> {
  // A retry is answered without the lock: nothing is written, and a busy ledger must not fail it.
  const known = await services.store.view((view) => findKnown(view, request));
  if (known) return known;
  return services.store.transact(
    async (transaction) => (await findKnown(transaction, request)) ?? (await create(services, transaction, request)),
  );
}

interface Named {
  ledger: Ledger;
  hash: string;
}

async function nameKey(view: View, request: AllocateRequest): Promise<Named> {
  const ledger = await readLedger(view);
  return { ledger, hash: fingerprint({ show: ledger.show, source: request.source, key: request.key }) };
}

/** The original answer to this key, after checking that the request means the same; `null` for a key not on record. */
async function findKnown(view: View, request: AllocateRequest): Promise<Allocation | null> {
  const { hash } = await nameKey(view, request);
  const key = await view.get(ref('key', hash));
  if (!key) return null;
  const episode = await readKeyed(view, hash, key);
  if (request.week !== null && request.week !== key.week_id) {
    throw keyInOtherWeek(request.key, key.episode_id, key.week_id, request.week);
  }
  const differing = differingInputs(episode, request);
  if (differing.length > 0) {
    const { schedule, plan_sha256 } = episode.allocation;
    const without = new Set([...(schedule === null ? ['schedule'] : []), ...(plan_sha256 === null ? ['plan'] : [])]);
    throw keyInputMismatch(request.key, key.episode_id, differing, without);
  }
  return answer('replay', episode);
}

/** An input that a retry leaves out matches. */
function differingInputs({ allocation }: Episode, request: AllocateRequest): string[] {
  const differing: string[] = [];
  if (request.schedule !== null && request.schedule !== allocation.schedule) differing.push('schedule');
  if (request.plan !== null && fingerprint(request.plan) !== allocation.plan_sha256) differing.push('plan');
  return differing;
}

async function create(
  { port, root }: { port: Port; root: string },
  transaction: Transaction,
  request: AllocateRequest,
): Promise<Allocation> {
  const { ledger, hash } = await nameKey(transaction, request);
  const weekId = request.week ?? (await request.currentWeek());
  const index = await transaction.get(ref('week', weekId));
  await refuseIncomplete(transaction, { ledger, weekId, index, hash, key: request.key });
  const highest = index?.highest ?? -1;
  const recorded = new Set(Object.keys(index?.episodes ?? {}));
  for await (const stray of straysOf(port, root, { week_id: weekId, highest, recorded })) throw stray;
  const refusal = await request.refuseNew();
  if (refusal) throw refusal;
  const now = port.now();
  if (request.byClock && now < transaction.headAt - CLOCK_TOLERANCE_MS) {
    throw clockBehind(iso(now), iso(transaction.headAt));
  }

  const episode = newEpisode(request, weekId, highest + 1, iso(now), port.user);
  const key: Key = {
    format: 1,
    show: ledger.show,
    source: request.source,
    key: request.key,
    episode_id: episode.episode_id,
    week_id: weekId,
    created_at: iso(now),
  };
  await transaction.create(ref('key', hash), key);
  await transaction.create(ref('episode', episode.episode_id), episode);
  if (!index) transaction.put(ref('ledger', ''), { ...ledger, weeks: [...ledger.weeks, weekId].sort() });
  transaction.put(ref('week', weekId), {
    ...(index ?? { format: 1, week_id: weekId }),
    revision: (index?.revision ?? 0) + 1,
    highest: highest + 1,
    episodes: { ...index?.episodes, [episode.episode_id]: hash },
  });
  return answer('proceed', episode);
}

const iso = (ms: number): string => new Date(ms).toISOString();

function newEpisode(request: AllocateRequest, weekId: string, sequence: number, at: string, by: string): Episode {
  const plan = request.plan ?? request.schedulePlan;
  const inputs = { schedule: request.schedule, again_of: null, plan: request.plan && fingerprint(request.plan) };
  const episode: Episode = {
    format: 1,
    revision: 1,
    episode_id: episodeIdOf(weekId, sequence),
    week_id: weekId,
    sequence,
    allocation_key: request.key,
    allocation: {
      source: request.source,
      schedule: request.schedule,
      slot: request.slot,
      time_zone: request.timeZone,
      plan_sha256: inputs.plan,
      inputs_sha256: fingerprint(inputs),
      issued_at: request.issuedAt,
      key_is_stable: request.keyIsStable,
      allocated_at: at,
      allocated_by: by,
    },
    again_of: null,
    plan,
    plan_sha256: plan && fingerprint(plan),
    status: 'allocated',
    steps: [],
    costs: [],
    artifacts: [],
    approvals: [],
    publications: [],
    migration: null,
    completed_at: null,
    closed: null,
    events: [{ at, by, event: 'allocated' }],
  };
  return withDerived(episode);
}

const answer = (verdict: Allocation['verdict'], episode: Episode): Allocation => ({
  verdict,
  episode_id: episode.episode_id,
  week_id: episode.week_id,
  sequence: episode.sequence,
  allocation_key: episode.allocation_key,
  availability: 'present',
  status: deriveStatus(episode),
  created_at: episode.allocation.allocated_at,
});
