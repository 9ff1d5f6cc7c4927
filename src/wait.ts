import { EpisodeError, episodeClosed, mostImportant } from './errors.ts';
import type { Episode } from './model/episode.ts';
import { viewSteps } from './model/status.ts';
import type { Port } from './port.ts';
import { type Shown, show } from './show.ts';
import { standingOf } from './spend/ends.ts';
import type { Store } from './store/store.ts';

const POLL_MS = 1_000;

/**
 * Waits until an episode is complete, or until something of it waits for approval; starts and asks nothing.
 * Throws `OUTCOME_UNKNOWN` (11), `STEP_FAILED` (12), `STEP_NOT_READY` (14, rejected or written off), `EPISODE_CLOSED` (14)
 * when it cannot get there without a person,
 * `WAIT_TIMEOUT` (75) after `timeoutMs`.
 */
export async function wait(
  services: { store: Store; port: Port },
  episodeId: string,
  options: { for: 'complete' | 'approval'; timeoutMs: number },
): Promise<Shown> {
  const { port } = services;
  const deadline = port.now() + options.timeoutMs;
  for (;;) {
    const episode = await show(services, episodeId);
    if (isReached(episode, options.for)) return episode;
    const stuck = stuckOn(episode);
    if (stuck) throw stuck;
    if (port.now() >= deadline) throw timedOut(episode, options.for);
    await port.sleep(Math.min(POLL_MS, deadline - port.now()));
  }
}

const isReached = (episode: Shown, goal: 'complete' | 'approval'): boolean =>
  episode.status === 'complete' || (goal === 'approval' && episode.holds.some((hold) => hold.what === 'approval'));

function stuckOn(episode: Episode): EpisodeError | null {
  const id = episode.episode_id;
  if (episode.closed) return episodeClosed(id, episode.closed);
  const views = viewSteps(episode);
  if (views.some((view) => ['claimed', 'sending', 'accepted', 'running'].includes(view.state))) return null;
  return mostImportant(views.flatMap((view) => standingOf(view, id) ?? []));
}

const timedOut = (episode: Episode, goal: string): EpisodeError =>
  new EpisodeError(
    'WAIT_TIMEOUT',
    `${episode.episode_id} is ${episode.status}, not yet ${goal === 'approval' ? 'at a gate' : goal}`,
    {
      subject: episode.episode_id,
      hints: [`episode show ${episode.episode_id}`, `episode wait ${episode.episode_id} --for ${goal}`],
    },
  );
