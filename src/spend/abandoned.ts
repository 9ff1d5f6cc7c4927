import { namesIn, statIn } from '../durable.ts';
import { readEpisode } from '../record.ts';
import { findAttempt } from './attempts.ts';
import { isFree } from './budget.ts';
import type { SpendServices } from './spend-services.ts';
import { clearRoom } from './take.ts';

/**
 * Removes what renders of killed commands left of this episode. Only what is free is removed: a room of a paid attempt may
 * hold the one copy of its result, and a render of a living command is its own.
 */
export async function clearAbandoned(
  { store, port, root }: Pick<SpendServices, 'store' | 'port' | 'root'>,
  episodeId: string,
): Promise<void> {
  const partial = `episodes/${episodeId}/.partial`;
  // A link in its place leads out of the show.
  if ((await statIn(port.disk, root, partial))?.type !== 'directory') return;
  const rooms = await namesIn(port.disk, root, partial);
  if (rooms.length === 0) return;
  const episode = await store.view((view) => readEpisode(view, episodeId));
  for (const room of rooms) {
    const attempt = findAttempt(episode, room.slice(0, room.lastIndexOf('-')));
    if (!attempt || !isFree(attempt.sheet) || port.liveness(attempt.claim.owner) !== 'gone') continue;
    await clearRoom(port.disk, `${root}/${partial}/${room}`);
  }
}
