import { EpisodeError } from './errors.ts';
import { fingerprint } from './fingerprint.ts';
import { refuseLostKey } from './integrity.ts';
import type { Episode } from './model/episode.ts';
import { readEpisode, readLedger } from './record.ts';
import { ref, type Store } from './store/store.ts';

/** Why an episode exists: the key that made it, when, by whom, and from what its week follows. */
export interface Why {
  episode_id: string;
  week_id: string;
  sequence: number;
  allocation_key: string;
  key_sha256: string;
  allocation: Episode['allocation'];
  again_of: string | null;
  status: Episode['status'];
  events: Episode['events'];
}

/** Throws `EPISODE_NOT_FOUND` (66). */
export const whyEpisode = (store: Store, episodeId: string): Promise<Why> =>
  store.view(async (view) => explain(await readEpisode(view, episodeId), (await readLedger(view)).show));

/** By allocation key, whatever its source; a typed key first. Throws `KEY_NOT_FOUND` (66), `LEDGER_INCOMPLETE` (65) if it was lost. */
export const whyKey = (store: Store, key: string): Promise<Why> =>
  store.view(async (view) => {
    const ledger = await readLedger(view);
    const { show } = ledger;
    const hashes = ['typed', 'schedule'].map((source) => fingerprint({ show, source, key }));
    for (const hash of hashes) {
      const known = await view.get(ref('key', hash));
      if (known) return explain(await readEpisode(view, known.episode_id), show);
    }
    for (const hash of hashes) await refuseLostKey(view, ledger, hash, key);
    throw new EpisodeError('KEY_NOT_FOUND', `no episode has the key "${key}"`, {
      subject: key,
      hints: ['episode list --all', `episode allocate --key '${key.replaceAll("'", `'\\''`)}'  # makes one`],
    });
  });

function explain(episode: Episode, show: string): Why {
  const { episode_id, week_id, sequence, allocation_key, allocation, again_of, status, events } = episode;
  const key_sha256 = fingerprint({ show, source: allocation.source, key: allocation_key });
  return { episode_id, week_id, sequence, allocation_key, key_sha256, allocation, again_of, status, events };
}
