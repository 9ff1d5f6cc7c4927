import { keyOnSeveralEpisodes, ledgerIncomplete } from './errors.ts';
import type { Ledger, Week } from './model/ledger.ts';
import { type Kind, type Ref, ref, type View } from './store/store.ts';

/** What must agree in a ledger before it is believed: a part that was lost or restored alone must not look like news. */

/** What a key on record cannot be without. Throws `LEDGER_INCOMPLETE` (65) naming the file that is missing. */
export async function getRecorded<K extends Kind>(view: View, name: Ref<K>, key: string, episodeId: string) {
  const document = await view.get(name);
  if (document) return document;
  const file = view.nameOf(name);
  throw ledgerIncomplete(file, `${file} is missing: key "${key}" made ${episodeId}`);
}

/** Throws `KEY_ON_SEVERAL_EPISODES` (65). */
export function refuseSeveral(key: string, index: Week, hash: string): void {
  const having = Object.keys(index.episodes).filter((episodeId) => index.episodes[episodeId] === hash);
  if (having.length > 1) throw keyOnSeveralEpisodes(key, index.week_id, having);
}

/**
 * Before an episode is made for a key that is not on record: the index of its week, the names of the records and the
 * week's history must tell the same story, ID by ID, or a lost file would look like a new key. Throws `LEDGER_INCOMPLETE`.
 */
export async function refuseIncomplete(
  view: View,
  {
    ledger,
    weekId,
    index,
    hash,
    key,
  }: { ledger: Ledger; weekId: string; index: Week | undefined; hash: string; key: string },
): Promise<void> {
  const file = view.nameOf(ref('week', weekId));
  const indexed = new Set(Object.keys(index?.episodes ?? {}));
  for (const [episodeId, having] of Object.entries(index?.episodes ?? {})) {
    if (having !== hash) continue;
    const lost = view.nameOf(ref('key', hash));
    throw ledgerIncomplete(lost, `${lost} is missing: key "${key}" made ${episodeId}`);
  }
  const recorded = new Set(await view.list('episode', weekId));
  const history = (await view.get(ref('history', weekId)))?.episodes.map((record) => record.episode_id) ?? [];
  const unknown = [...recorded, ...history].find((episodeId) => !indexed.has(episodeId));
  if (unknown !== undefined) throw ledgerIncomplete(file, `${unknown} is on record, and ${file} does not know it`);
  const lost = [...indexed].find((episodeId) => !recorded.has(episodeId));
  if (lost !== undefined) {
    const missing = view.nameOf(ref('episode', lost));
    throw ledgerIncomplete(missing, `${missing} is missing`);
  }
  refuseForgotten(view, ledger, weekId, index);
}

/** A week that had episodes keeps its index for ever, and the ledger knows every such week. */
function refuseForgotten(view: View, ledger: Ledger, weekId: string, index: Week | undefined): void {
  const file = view.nameOf(ref('week', weekId));
  const known = ledger.weeks.includes(weekId);
  if (known && !index) throw ledgerIncomplete(file, `${file} is missing: ${weekId} has had episodes`);
  if (known || !index) return;
  const ledgerFile = view.nameOf(ref('ledger', ''));
  throw ledgerIncomplete(ledgerFile, `${file} is there, and ${ledgerFile} does not know that week`);
}
