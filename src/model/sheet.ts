import * as z from 'zod/mini';
import { name } from './scalars.ts';

export const PROTOCOL = 'episode-provider/1';

/** What a provider can do and promises, as its sheet and mapping files say it. */
export const Capabilities = z.lazy(() =>
  z.looseObject({
    submit: z.enum(['async', 'sync']),
    announces_sending: z.optional(z.boolean()),
    idempotent_submit: z.optional(
      z.looseObject({ supported: z.boolean(), window_seconds: z.optional(z.nullable(z.number())) }),
    ),
    lookup: z.optional(
      z.looseObject({
        supported: z.boolean(),
        window_seconds: z.optional(z.nullable(z.number())),
        settle_seconds: z.optional(z.nullable(z.number())),
        proves: z.optional(z.looseObject({ present: z.boolean(), absent: z.boolean() })),
      }),
    ),
    cancel: z.optional(z.enum(['none', 'before_start', 'always'])),
    estimate: z.optional(z.enum(['none', 'table', 'quoted'])),
    cost: z.optional(z.enum(['none', 'derived', 'reported', 'final_later'])),
    balance: z.optional(z.boolean()),
    progress: z.optional(z.enum(['none', 'percent'])),
    min_poll_seconds: z.optional(z.number()),
    result: z.optional(
      z.looseObject({ expiry_seconds: z.optional(z.nullable(z.number())), refreshable: z.optional(z.boolean()) }),
    ),
    /** Free and repeatable: a crashed attempt is run again instead of held. */
    pure: z.optional(z.boolean()),
  }),
);

/** What a provider says it can do and promises. Unknown fields are kept: a newer adapter may say more. */
export const Sheet = z.lazy(() =>
  z.looseObject({
    protocol: z.literal(PROTOCOL),
    provider: name,
    version: z.string(),
    kinds: z.array(z.string()),
    capabilities: Capabilities,
  }),
);
export type Sheet = z.infer<typeof Sheet>;
