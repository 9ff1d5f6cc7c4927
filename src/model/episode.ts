import * as z from 'zod/mini';
import { RecordedPlan } from './plan.ts';
import { Lookup, Outcome, Remote, Settlement } from './said.ts';
import { decimal, episodeId, name, sha256, showPath, timestamp, weekId } from './scalars.ts';
import { Sheet } from './sheet.ts';

/**
 * One episode's record, `state/<week>/<episode_id>.json`: the source of truth for its key, plan, attempts, remote
 * references, costs and approvals. `status` and each step's `state` follow from the rest (status.ts) and are stored
 * only for people who read the file.
 */
const json = z.record(z.string(), z.unknown());

const ProcessRecord = z.lazy(() =>
  z.looseObject({ host: z.string(), boot: z.string(), pid: z.int(), started: z.string() }),
);

export const InputRecord = z.lazy(() => z.looseObject({ name: z.string(), path: showPath, sha256 }));
export type InputRecord = z.infer<typeof InputRecord>;

export const OutputFile = z.lazy(() =>
  z.looseObject({
    path: showPath,
    sha256,
    bytes: z.int().check(z.minimum(0)),
    mime: z.nullable(z.string()),
    role: z.nullable(z.enum(['media', 'cover'])),
  }),
);
export type OutputFile = z.infer<typeof OutputFile>;

export const Attempt = z.lazy(() =>
  z.looseObject({
    attempt_id: z.string(),
    number: z.int().check(z.minimum(1)),
    verb: z.enum(['generate', 'retry', 'reassemble']),
    reason: z.nullable(z.string()),
    provider: name,
    kind: z.string(),
    params: json,
    inputs: z.array(InputRecord),
    /** Over provider, kind, params and the hashes of the inputs. */
    fingerprint: sha256,
    client_ref: z.string(),
    /** What the provider said of itself when this was claimed: a later version cannot reinterpret it. */
    sheet: Sheet,
    claim: z.looseObject({
      at: timestamp,
      by: z.string(),
      /** Random per claiming process: how a claimant finds its own claim again when its commit was in doubt. */
      token: z.string(),
      owner: ProcessRecord,
      lease_until: timestamp,
      /** The adapter process, known before it was told what to do. */
      adapter: z.nullable(ProcessRecord),
    }),
    checkpoint: z.nullable(json),
    sending_at: z.nullable(timestamp),
    ref: z.nullable(z.string()),
    outcome: z.nullable(Outcome),
    remote: z.nullable(Remote),
    files: z.nullable(z.array(OutputFile)),
    finished_at: z.nullable(timestamp),
    settlement: z.nullable(Settlement),
    rejection: z.nullable(z.looseObject({ at: timestamp, by: z.string(), reason: z.string() })),
    lookup: z.optional(Lookup),
    /** That its provider was asked to stop it, and what it answered. */
    cancellation: z.optional(z.looseObject({ at: timestamp, by: z.string(), state: z.string() })),
    /** Each time it was sent again under the same client reference; `sent_at`: when it was sent the time before. */
    resends: z.optional(
      z.array(z.looseObject({ at: timestamp, by: z.string(), evidence: z.string(), sent_at: timestamp })),
    ),
  }),
);
export type Attempt = z.infer<typeof Attempt>;

export const StepRecord = z.lazy(() => z.looseObject({ id: name, state: z.string(), attempts: z.array(Attempt) }));
export type StepRecord = z.infer<typeof StepRecord>;

/** One row an attempt. `amount: null` is a price nobody knows. `unit` is a currency, or credits that no budget in money counts. */
export const CostRow = z.lazy(() =>
  z.looseObject({
    attempt_id: z.string(),
    step: name,
    provider: name,
    state: z.enum(['reserved', 'settled', 'released', 'possible']),
    amount: z.nullable(decimal),
    unit: z.string(),
    basis: z.string(),
    /** Its provider says that this is what it charges. */
    final: z.optional(z.boolean()),
    /** What was reserved at the claim. It counts in a budget whose unit the charge itself is not in. */
    worst_case: z.optional(z.looseObject({ amount: z.nullable(decimal), unit: z.string() })),
    quantities: z.record(z.string(), decimal),
    at: timestamp,
  }),
);
export type CostRow = z.infer<typeof CostRow>;

const Approval = z.lazy(() =>
  z.looseObject({
    step: name,
    attempt_id: z.string(),
    files: z.array(z.looseObject({ path: showPath, sha256 })),
    by: z.string(),
    at: timestamp,
  }),
);

const Event = z.looseObject({ at: timestamp, by: z.string(), event: z.string() });
export type Event = z.infer<typeof Event>;

export const EpisodeStatus = z.enum([
  'allocated',
  'planned',
  'generating',
  'awaiting-approval',
  'held',
  'failed',
  'complete',
  'closed',
]);
export type EpisodeStatus = z.infer<typeof EpisodeStatus>;

export const Episode = z.looseObject({
  format: z.literal(1),
  revision: z.int().check(z.minimum(1)),
  episode_id: episodeId,
  week_id: weekId,
  sequence: z.int().check(z.minimum(0)),
  allocation_key: z.string(),
  allocation: z.looseObject({
    source: z.string(),
    schedule: z.nullable(z.string()),
    slot: z.nullable(z.string()),
    time_zone: z.string(),
    /** Of a plan given by hand; `null` when none was. */
    plan_sha256: z.nullable(sha256),
    inputs_sha256: sha256,
    issued_at: z.nullable(timestamp),
    key_is_stable: z.nullable(z.string()),
    allocated_at: timestamp,
    allocated_by: z.string(),
  }),
  again_of: z.nullable(episodeId),
  plan: z.nullable(RecordedPlan),
  plan_sha256: z.nullable(sha256),
  status: EpisodeStatus,
  steps: z.array(StepRecord),
  costs: z.array(CostRow),
  artifacts: z.array(OutputFile),
  approvals: z.array(Approval),
  publications: z.array(json),
  migration: z.nullable(json),
  completed_at: z.nullable(timestamp),
  closed: z.nullable(z.looseObject({ at: timestamp, by: z.string(), reason: z.string() })),
  events: z.array(Event),
});
export type Episode = z.infer<typeof Episode>;

/** As exact as a `decimal`, and as large as many of them together. */
const sum = z.string().check(z.regex(/^(0|[1-9][0-9]*)(\.[0-9]+)?$/, 'an exact decimal like "0.40"'));

/** Sum of one unit's cost rows; units are never added to each other. `unpriced` rows are in no sum. */
const Total = z.lazy(() =>
  z.looseObject({
    unit: z.string(),
    settled: sum,
    /** Sent or about to be, not settled yet. */
    reserved: sum,
    /** May have been charged; nobody knows. */
    possible: sum,
    unpriced: z.int(),
  }),
);
export type Total = z.infer<typeof Total>;

/** A completed episode in its week's group, `history/<week>.json`. */
export const HistoryRecord = z.lazy(() =>
  z.looseObject({
    episode_id: episodeId,
    week_id: weekId,
    sequence: z.int(),
    allocation_key: z.string(),
    title: z.nullable(z.string()),
    completed_at: timestamp,
    media_sha256: z.nullable(sha256),
    cover_sha256: z.nullable(sha256),
    cost: z.array(Total),
    references: z.array(z.looseObject({ step: name, provider: name, ref: z.string() })),
    receipts: z.array(json),
    migration: z.nullable(json),
  }),
);
export type HistoryRecord = z.infer<typeof HistoryRecord>;

export const History = z.looseObject({
  format: z.literal(1),
  revision: z.int().check(z.minimum(1)),
  week_id: weekId,
  episodes: z.array(HistoryRecord),
});
export type History = z.infer<typeof History>;
