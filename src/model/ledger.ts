import * as z from 'zod/mini';
import { episodeId, sha256, timestamp, weekId } from './scalars.ts';

/** `state/ledger.json`: which ledger this is. `show` is the namespace of its keys, frozen at `init`. */
export const Ledger = z.looseObject({
  format: z.literal(1),
  ledger_id: z.string().check(z.minLength(1)),
  show: z.string().check(z.minLength(1)),
  created_at: timestamp,
  /** Every week that ever had an episode: a week whose records are lost as a whole is not taken for a new one. */
  weeks: z.array(weekId),
});
export type Ledger = z.infer<typeof Ledger>;

/** `state/<week>/week.json`: the index that makes a lost key or episode file visible. */
export const Week = z.looseObject({
  format: z.literal(1),
  revision: z.int().check(z.minimum(1)),
  week_id: weekId,
  /** Highest sequence ever used in this week. */
  highest: z.int().check(z.minimum(0)),
  /** Episode ID -> hash of its allocation key. */
  episodes: z.record(episodeId, sha256),
});
export type Week = z.infer<typeof Week>;

/** `state/keys/<sha256>.json`: an allocation key and the one episode it has. Kept for ever. */
export const Key = z.looseObject({
  format: z.literal(1),
  show: z.string(),
  source: z.string(),
  key: z.string(),
  episode_id: episodeId,
  week_id: weekId,
  created_at: timestamp,
});
export type Key = z.infer<typeof Key>;
