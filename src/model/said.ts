import * as z from 'zod/mini';
import { sha256, timestamp } from './scalars.ts';

/** What providers and people said of an attempt, as its record keeps it. */

/** How a submission ended. `message`, `billable`, `retry_after` and `evidence` are what the provider said. */
export const Outcome = z.lazy(() =>
  z.looseObject({
    outcome: z.enum(['accepted', 'completed', 'released', 'unknown']),
    at: timestamp,
    reason: z.nullable(z.string()),
    message: z.optional(z.string()),
    billable: z.optional(z.enum(['yes', 'no', 'unknown'])),
    retry_after: z.optional(z.number()),
    evidence: z.optional(z.record(z.string(), z.unknown())),
  }),
);

export const Remote = z.lazy(() =>
  z.looseObject({
    state: z.enum(['queued', 'running', 'done', 'error', 'canceled', 'not_found', 'expired']),
    progress: z.nullable(z.number()),
    reason: z.nullable(z.string()),
    billable: z.optional(z.enum(['yes', 'no', 'unknown'])),
    at: timestamp,
    /** Of a task that is lost: when its provider last said the same. */
    asked_at: z.optional(timestamp),
  }),
);

/** What a provider last said when it was asked for a submission whose answer was lost. */
export const Lookup = z.lazy(() =>
  z.looseObject({
    at: timestamp,
    found: z.enum(['present', 'absent', 'ambiguous', 'unsupported']),
    /** Candidates, without the tasks of other attempts. */
    refs: z.array(z.string()),
    /** Whether it looked at all it has of that time. */
    complete: z.boolean(),
  }),
);
export type Lookup = z.infer<typeof Lookup>;

export const Settlement = z.lazy(() =>
  z.looseObject({
    form: z.enum(['accepted', 'not_accepted', 'write_off']),
    at: timestamp,
    by: z.string(),
    evidence: z.string(),
    ref: z.nullable(z.string()),
    /** Files that the person brought as its output, by name and hash; copies of them are the take. */
    files: z.optional(z.array(z.looseObject({ name: z.string(), sha256 }))),
  }),
);
export type Settlement = z.infer<typeof Settlement>;
