import * as z from 'zod/mini';
import { recordDamaged } from '../errors.ts';
import { fingerprint } from '../fingerprint.ts';
import { readRecord } from '../json/record.ts';
import { format } from '../json/strict-json.ts';
import { episodeIdOf, sequenceOf, weekOfEpisode } from '../model/episode-id.ts';
import { describeIssues } from '../model/issues.ts';
import { Key, Ledger, Week } from '../model/ledger.ts';
import { faultsOfPlan } from '../model/plan.ts';
import type { Documents, Kind, Ref } from './store.ts';

/** The schema of an episode is large, and a new allocation reads none. */
const SCHEMAS: { [K in Kind]: () => Promise<z.core.$ZodType<Documents[K]>> } = {
  ledger: async () => Ledger,
  week: async () => Week,
  key: async () => Key,
  episode: async () => (await import('../model/episode.ts')).Episode,
  history: async () => (await import('../model/episode.ts')).History,
};

/** A document as the bytes of its file. */
export const encode = (document: Documents[Kind]): Buffer => Buffer.from(format(document));

/**
 * The bytes of a file as the document that `ref` names. `file` is what messages call it.
 * Throws `RECORD_DAMAGED` or `FORMAT_NEWER`; never upgrades, never fills in.
 */
export async function decode<K extends Kind>(ref: Ref<K>, bytes: Uint8Array, file: string): Promise<Documents[K]> {
  const value = await readRecord(bytes, file);
  const schema = (await SCHEMAS[ref.kind]()) as z.core.$ZodType<Documents[K]>;
  const result = z.safeParse(schema, value);
  if (!result.success) throw recordDamaged(file, describeIssues(result.error)[0]!);
  const fault = faultOf[ref.kind](ref.id, result.data);
  if (fault) throw recordDamaged(file, fault);
  return result.data;
}

/** A document under another's name, or one that contradicts itself, is damage too. */
const faultOf: { [K in Kind]: (id: string, document: Documents[K]) => string | null } = {
  ledger: () => null,
  key: (id, { show, source, key, episode_id, week_id }) => {
    if (fingerprint({ show, source, key }) !== id) return `it is the record of another key ("${key}")`;
    return weekOfEpisode(episode_id) === week_id ? null : 'episode_id and week_id disagree';
  },
  week: (id, { week_id, highest, episodes }) => {
    const ids = Object.keys(episodes);
    const foreign = ids.find((episodeId) => weekOfEpisode(episodeId) !== week_id);
    if (foreign !== undefined) return `it holds ${foreign} of another week`;
    const beyond = ids.find((episodeId) => sequenceOf(episodeId) > highest);
    if (beyond !== undefined) return `it holds ${beyond} and calls ${highest} its highest sequence`;
    return misnamed(id, week_id);
  },
  history: (id, { week_id, episodes }) => {
    const foreign = episodes.find((record) => record.episode_id !== episodeIdOf(week_id, record.sequence));
    return foreign ? `it holds ${foreign.episode_id}, whose week or sequence disagrees` : misnamed(id, week_id);
  },
  episode: (id, { episode_id, week_id, sequence, plan }) => {
    if (episode_id !== episodeIdOf(week_id, sequence)) return 'episode_id, week_id and sequence disagree';
    const fault = plan && faultsOfPlan(plan, new Set(plan.steps.map((step) => step.provider)))[0];
    return fault ? `plan: ${fault}` : misnamed(id, episode_id);
  },
};

const misnamed = (id: string, said: string): string | null => (said === id ? null : `it says it is ${said}`);
