import * as z from 'zod/mini';
import { recordDamaged } from '../errors.ts';
import { readRecord } from '../json/record.ts';
import { format } from '../json/strict-json.ts';
import { Episode, History } from '../model/episode.ts';
import { episodeIdOf } from '../model/episode-id.ts';
import { describeIssues } from '../model/issues.ts';
import { Key, Ledger, Week } from '../model/ledger.ts';
import { faultsOfPlan } from '../model/plan.ts';
import type { Documents, Kind, Ref } from './store.ts';

const SCHEMAS: { [K in Kind]: z.core.$ZodType<Documents[K]> } = {
  ledger: Ledger,
  week: Week,
  episode: Episode,
  key: Key,
  history: History,
};

/** A document as the bytes of its file. */
export const encode = (document: Documents[Kind]): Buffer => Buffer.from(format(document));

/**
 * The bytes of a file as the document that `ref` names. `file` is what messages call it.
 * Throws `RECORD_DAMAGED` or `FORMAT_NEWER`; never upgrades, never fills in.
 */
export async function decode<K extends Kind>(ref: Ref<K>, bytes: Uint8Array, file: string): Promise<Documents[K]> {
  const value = await readRecord(bytes, file);
  const result = z.safeParse(SCHEMAS[ref.kind] as z.core.$ZodType<Documents[K]>, value);
  if (!result.success) throw recordDamaged(file, describeIssues(result.error)[0]!);
  const fault = faultOf[ref.kind](ref.id, result.data);
  if (fault) throw recordDamaged(file, fault);
  return result.data;
}

/** A document under another's name, or one that contradicts itself, is damage too. */
const faultOf: { [K in Kind]: (id: string, document: Documents[K]) => string | null } = {
  ledger: () => null,
  key: () => null,
  week: (id, week) => misnamed(id, week.week_id),
  history: (id, history) => misnamed(id, history.week_id),
  episode: (id, { episode_id, week_id, sequence, plan }) => {
    if (episode_id !== episodeIdOf(week_id, sequence)) return 'episode_id, week_id and sequence disagree';
    const fault = plan && faultsOfPlan(plan, new Set(plan.steps.map((step) => step.provider)))[0];
    return fault ? `plan: ${fault}` : misnamed(id, episode_id);
  },
};

const misnamed = (id: string, said: string): string | null => (said === id ? null : `it says it is ${said}`);
