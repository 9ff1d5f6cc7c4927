import { EpisodeError } from '../errors.ts';
import type { Episode, History } from '../model/episode.ts';
import type { Key, Ledger, Week } from '../model/ledger.ts';
import { type Documents, type Kind, type Ref, ref, type Store, type View } from '../store/store.ts';
import { artifactsAndStates } from './artifacts.ts';
import { contradictions } from './contradictions.ts';
import { type Diagnosis, fromError, ok, type Patient } from './diagnosis.ts';
import { changedSettings } from './settings.ts';

/** Every record that can be read. */
export interface Records {
  view: View;
  /** Absent: lost or damaged; so with an index that is not in `weeks`. */
  ledger: Ledger | undefined;
  /** `undefined` for a week that the ledger knows and that has no index. */
  weeks: Map<string, Week | undefined>;
  episodes: Map<string, Episode>;
  keys: Map<string, Key>;
  histories: Map<string, History>;
}

/** One error for each file that is to be mended: the first that is noted is the most telling. */
export type Note = (error: EpisodeError) => void;

/** What a writer that got in between may have torn apart is looked at again. */
const LOOKS = 5;

/**
 * Reads every record, and asks of all of them what verbs ask of the few that they need: whatever stops one of those is
 * found here, in its words and with its fix. One damaged file never hides another.
 */
export async function records(patient: Patient): Promise<Diagnosis[]> {
  try {
    for (let look = 1; ; look += 1) {
      const { found, head } = await lookThrough(patient);
      if (look === LOOKS || found.every(({ state }) => state === 'ok') || head === (await headOf(patient.store)))
        return found;
    }
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    return [fromError('ledger', error)];
  }
}

/** `null` when the newest transaction is damaged, which another look does not change. */
const headOf = (store: Store): Promise<number | null> =>
  store.salvage(async (view, damage) => (damage ? null : view.head));

async function lookThrough(patient: Patient): Promise<{ found: Diagnosis[]; head: number | null }> {
  const { store } = patient;
  return store.salvage(async (view, damage) => {
    const faults = new Map<string, EpisodeError>();
    const note: Note = (error) => {
      const about = error.subject ?? error.message;
      if (!faults.has(about)) faults.set(about, error);
    };
    for (const error of await store.inspect()) note(error);
    const loaded = await load(view, note);
    await contradictions(patient, loaded, { isWhole: damage === null }, note);
    const wrong = [...faults.values()].map((error) => fromError('ledger', error));
    const { weeks, episodes, keys, histories } = loaded;
    const count = 1 + weeks.size + episodes.size + keys.size + histories.size;
    const whole = [ok('ledger', `${count} records, transaction ${view.head}`)];
    const found = [
      ...(wrong.length > 0 ? wrong : whole),
      ...(await artifactsAndStates(patient, loaded)),
      ...changedSettings(patient, loaded),
    ];
    return { found, head: damage ? null : view.head };
  });
}

async function load(view: View, note: Note): Promise<Records> {
  const read = async <K extends Kind>(name: Ref<K>): Promise<{ document: Documents[K] | undefined } | null> => {
    try {
      return { document: await view.get(name) };
    } catch (error) {
      if (!(error instanceof EpisodeError)) throw error;
      note(error);
      return null;
    }
  };
  const readAll = async <K extends Kind>(kind: K, ids: readonly string[]) => {
    const all = new Map<string, Documents[K]>();
    for (const id of ids) {
      const seen = await read(ref(kind, id));
      if (seen?.document) all.set(id, seen.document);
    }
    return all;
  };
  const ledger = (await read(ref('ledger', '')))?.document;
  const weeks: Records['weeks'] = new Map();
  const episodes: Records['episodes'] = new Map();
  for (const weekId of new Set([...(ledger?.weeks ?? []), ...(await view.list('week'))])) {
    const seen = await read(ref('week', weekId));
    if (seen) weeks.set(weekId, seen.document);
    for (const [id, episode] of await readAll('episode', await view.list('episode', weekId))) episodes.set(id, episode);
  }
  const keys = await readAll('key', await view.list('key'));
  return { view, ledger, weeks, episodes, keys, histories: await readAll('history', await view.list('history')) };
}
