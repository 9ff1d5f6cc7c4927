import { isStamped, straysOf, weeksNamed } from '../artifacts.ts';
import { EpisodeError } from '../errors.ts';
import { faultsOfWeek, readKeyed, whyKeyLost } from '../integrity.ts';
import type { Week } from '../model/ledger.ts';
import { readLedger, whyNotInHistory } from '../record.ts';
import type { Patient } from './diagnosis.ts';
import type { Note, Records } from './records.ts';

/**
 * What contradicts each other although each can be read: a week and its index, keys and what they made, completed episodes
 * and history, artifacts and the ledger. `isWhole`: the newest transaction is not damaged, so that its number counts.
 */
export async function contradictions(
  patient: Pick<Patient, 'port' | 'root'>,
  records: Records,
  { isWhole }: { isWhole: boolean },
  note: Note,
): Promise<void> {
  const { view, ledger } = records;
  if (!ledger) await noting(note, () => readLedger(view));
  for (const weekId of await weeksToAsk(patient, records, note)) {
    const index = records.weeks.get(weekId);
    if (ledger) await notingAll(note, faultsOfWeek(view, ledger, weekId, index));
    await notingAll(note, lostKeys(records, index));
    const recorded = new Set(Object.keys(index?.episodes ?? {}));
    const known = { week_id: weekId, highest: index?.highest ?? -1, recorded };
    await notingAll(note, straysOf(patient.port, patient.root, known));
  }
  for (const [hash, key] of records.keys) await noting(note, () => readKeyed(view, hash, key));
  for (const episode of records.episodes.values()) {
    const { episode_id, week_id } = episode;
    const group = records.histories.get(week_id);
    const lost = whyNotInHistory(view, episode, new Set(group?.episodes.map((record) => record.episode_id)));
    if (lost) note(lost);
    if (!ledger || !isWhole) continue;
    const stamp = { ledger_id: ledger.ledger_id, episode_id, head: view.head };
    await noting(note, () => isStamped(patient.port, patient.root, stamp));
  }
}

/** All weeks that anything speaks of; not one whose index is damaged, which has been said and explains the rest. */
async function weeksToAsk(
  { port, root }: Pick<Patient, 'port' | 'root'>,
  { view, ledger, weeks, histories }: Records,
  note: Note,
): Promise<string[]> {
  const listed = [...(ledger?.weeks ?? []), ...(await view.list('week'))];
  const damaged = new Set(listed.filter((weekId) => !weeks.has(weekId)));
  const named = (await noting(note, () => weeksNamed(port, root))) ?? [];
  return [...new Set([...weeks.keys(), ...histories.keys(), ...named])].filter((weekId) => !damaged.has(weekId)).sort();
}

async function* lostKeys({ view, episodes }: Records, index: Week | undefined): AsyncGenerator<EpisodeError> {
  for (const [episodeId, hash] of Object.entries(index?.episodes ?? {})) {
    const lost = await whyKeyLost(view, index!, hash, episodes.get(episodeId)?.allocation_key ?? '?');
    if (lost) yield lost;
  }
}

/** What stops it is noted, and nothing else stops. */
async function noting<T>(note: Note, look: () => Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    note(error);
    return null;
  }
}

async function notingAll(note: Note, faults: AsyncIterable<EpisodeError>): Promise<void> {
  await noting(note, async () => {
    for await (const fault of faults) note(fault);
  });
}
