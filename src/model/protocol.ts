import * as z from 'zod/mini';
import { decimal, sha256 } from './scalars.ts';

/**
 * The messages of `episode-provider/1`: what an adapter says of a submission and of a task.
 * Unknown fields are kept: a newer adapter may say more.
 */
const json = z.record(z.string(), z.unknown());

/** Money or another unit; `amount: null` is a price nobody knows, never `"0"`. */
export const Price = z.looseObject({
  amount: z.nullable(decimal),
  unit: z.string(),
  basis: z.optional(z.string()),
});
export type Price = z.infer<typeof Price>;

export const ProvidedFile = z.looseObject({
  path: z.string(),
  sha256: z.optional(sha256),
  mime: z.optional(z.string()),
  /** Says which deliverable the file is when one step makes both (the assembly's film and cover). */
  role: z.optional(z.enum(['media', 'cover'])),
});
export type ProvidedFile = z.infer<typeof ProvidedFile>;

const Billable = z.enum(['yes', 'no', 'unknown']);

export const SubmitOutcome = z.discriminatedUnion('outcome', [
  z.looseObject({
    outcome: z.literal('accepted'),
    ref: z.string().check(z.minLength(1)),
    state: z.optional(z.string()),
    cost: z.optional(Price),
  }),
  z.looseObject({
    outcome: z.literal('released'),
    reason: z.string(),
    message: z.optional(z.string()),
    retry_after: z.optional(z.number()),
    billable: z.optional(Billable),
    evidence: z.optional(json),
  }),
  z.looseObject({
    outcome: z.literal('unknown'),
    reason: z.string(),
    message: z.optional(z.string()),
    evidence: z.optional(json),
  }),
  z.looseObject({
    outcome: z.literal('completed'),
    ref: z.optional(z.string()),
    files: z.array(ProvidedFile).check(z.minLength(1)),
    cost: z.optional(Price),
  }),
]);
export type SubmitOutcome = z.infer<typeof SubmitOutcome>;

export const RemoteStatus = z.looseObject({
  state: z.enum(['queued', 'running', 'done', 'error', 'canceled', 'not_found', 'expired']),
  progress: z.optional(z.number()),
  reason: z.optional(z.string()),
  billable: z.optional(Billable),
  cost: z.optional(Price),
  next_poll_seconds: z.optional(z.number()),
});
export type RemoteStatus = z.infer<typeof RemoteStatus>;

export const Estimate = z.looseObject({
  amount: z.nullable(decimal),
  unit: z.string(),
  basis: z.optional(z.enum(['table', 'quoted', 'unknown'])),
  max: z.optional(z.nullable(decimal)),
});
export type Estimate = z.infer<typeof Estimate>;

export const Lookup = z.looseObject({
  found: z.enum(['present', 'absent', 'ambiguous', 'unsupported']),
  refs: z.optional(z.array(z.looseObject({ ref: z.string(), match: z.optional(z.enum(['exact', 'probable'])) }))),
  complete: z.optional(z.boolean()),
});
export type Lookup = z.infer<typeof Lookup>;

export const Cancellation = z.looseObject({
  state: z.string(),
  definite: z.boolean(),
  reason: z.optional(z.string()),
  billable: z.optional(Billable),
  cost: z.optional(Price),
});
export type Cancellation = z.infer<typeof Cancellation>;

export const Check = z.looseObject({
  auth: z.enum(['ok', 'bad', 'unknown']),
  balance: z.optional(z.looseObject({ amount: decimal, unit: z.string() })),
});
export type Check = z.infer<typeof Check>;

/** What the adapter says while it works; all but `progress` are acknowledged after they are durable. */
export const AdapterEvent = z.discriminatedUnion('event', [
  z.looseObject({ event: z.literal('checkpoint'), seq: z.int(), data: json }),
  z.looseObject({ event: z.literal('sending'), seq: z.int() }),
  z.looseObject({ event: z.literal('accepted'), seq: z.int(), ref: z.string().check(z.minLength(1)) }),
  z.looseObject({ event: z.literal('progress'), progress: z.number() }),
]);
export type AdapterEvent = z.infer<typeof AdapterEvent>;
