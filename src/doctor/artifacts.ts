import { whyChanged } from '../artifacts.ts';
import { restoring } from '../errors.ts';
import type { Episode } from '../model/episode.ts';
import { viewSteps, withDerived } from '../model/status.ts';
import { ref } from '../store/store.ts';
import { type Diagnosis, fromError, hint, type Patient } from './diagnosis.ts';
import type { Records } from './records.ts';

/** What episodes say of themselves and of their files, and what is not so. */
export async function artifactsAndStates(patient: Patient, { view, episodes }: Records): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const episode of episodes.values()) {
    found.push(...statesOf(episode, view.nameOf(ref('episode', episode.episode_id))));
    if (!episode.closed) found.push(...(await artifactsOf(patient, episode)));
  }
  return found;
}

/** Takes that others are made of or that people look at, by name and size: hashing them all takes minutes. */
async function artifactsOf({ port, root }: Patient, episode: Episode): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const { take } of viewSteps(episode)) {
    for (const file of take?.files ?? []) {
      const changed = await whyChanged(port, root, file);
      if (!changed) continue;
      const fix = restoring(file.path);
      // Nothing waits for it any more, and somebody may have needed the room.
      const isDone = episode.status === 'complete';
      found.push(isDone ? hint('artifacts', changed.message, fix) : { ...fromError('artifacts', changed), fix });
    }
  }
  return found;
}

const COMPARE =
  'compare the file with a backup; commands go by the rest of it, and the next one that changes it writes this anew';

/** `status` and the states of steps follow from the rest, and stand there for people only: whoever changed them meant more. */
function statesOf(episode: Episode, file: string): Diagnosis[] {
  const derived = withDerived(episode);
  const said = new Map(episode.steps.map(({ id, state }) => [id, state]));
  const differing = [
    ['status', episode.status, derived.status],
    ...derived.steps.map(({ id, state }) => [`step ${id}`, said.get(id) ?? 'nothing', state]),
  ].filter(([, written, follows]) => written !== follows);
  if (differing.length === 0) return [];
  const what = differing.map(([name, written, follows]) => `${name} is ${written}, and ${follows} by the rest of it`);
  return [hint('ledger', `${file}: ${what.join('; ')}`, COMPARE)];
}
