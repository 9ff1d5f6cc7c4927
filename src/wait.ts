import { EpisodeError, episodeClosed, mostImportant, planMissing } from './errors.ts';
import type { Episode } from './model/episode.ts';
import { isAtWork, viewSteps } from './model/status.ts';
import type { Port } from './port.ts';
import { type Shown, show } from './show.ts';
import { standingOf } from './spend/ends.ts';
import type { Store } from './store/store.ts';

const POLL_MS = 1_000;
/**
 * Between two steps a command that works has no claim: it asks the provider for its sheet and a price, up to 30 s each, and
 * hashes the inputs. A record that nobody works on for longer than that was left.
 */
const BETWEEN_STEPS_MS = 90_000;

/**
 * Waits until an episode is complete, or until something of it waits for approval; starts and asks nothing. A gate is
 * waited at for completion: a person may approve meanwhile, and that goes on.
 * Throws `OUTCOME_UNKNOWN` (11), `STEP_FAILED` (12), `STEP_NOT_READY` (14: rejected, written off, or nobody works on it),
 * `PLAN_MISSING`, `EPISODE_CLOSED` (14) when it cannot get there without a person, `WAIT_TIMEOUT` (75) after `timeoutMs`.
 */
export async function wait(
  services: { store: Store; port: Port; note: (line: string) => void },
  episodeId: string,
  options: { for: 'complete' | 'approval'; timeoutMs: number },
): Promise<Shown> {
  const { port } = services;
  const deadline = port.now() + options.timeoutMs;
  let seen = { revision: 0, at: 0 };
  const told = new Set<string>();
  for (;;) {
    const episode = await show(services, episodeId);
    const now = port.now();
    if (isReached(episode, options.for)) return episode;
    const stuck = stuckOn(episode);
    if (stuck) throw stuck;
    if (episode.revision !== seen.revision) seen = { revision: episode.revision, at: now };
    if (isLeft(episode, now - seen.at)) throw nobodyWorks(episode);
    for (const { what, step, commands } of episode.holds) {
      if (what === 'approval' && !told.has(step))
        services.note(`waiting for a person: ${step} wants approval: ${commands[0]}`);
      told.add(step);
    }
    if (now >= deadline) throw timedOut(episode, options.for);
    await port.sleep(Math.min(POLL_MS, deadline - now));
  }
}

const isReached = (episode: Shown, goal: 'complete' | 'approval'): boolean =>
  episode.status === 'complete' || (goal === 'approval' && episode.holds.some((hold) => hold.what === 'approval'));

function stuckOn(episode: Episode): EpisodeError | null {
  const id = episode.episode_id;
  if (episode.closed) return episodeClosed(id, episode.closed);
  if (!episode.plan) return planMissing(id);
  const views = viewSteps(episode);
  if (views.some(isAtWork)) return null;
  return mostImportant(views.flatMap((view) => standingOf(view, id) ?? []));
}

/** Whether nobody works on it: nothing was ever sent, or something is ready and was left so for longer than a moment. */
function isLeft(episode: Shown, unchangedMs: number): boolean {
  if (viewSteps(episode).some(isAtWork) || episode.holds.length > 0) return false;
  return episode.status === 'planned' || unchangedMs >= BETWEEN_STEPS_MS;
}

const nobodyWorks = ({ episode_id, status, next }: Shown): EpisodeError =>
  new EpisodeError('STEP_NOT_READY', `${episode_id} is ${status}, and nobody works on it: waiting changes nothing`, {
    subject: episode_id,
    hints: next,
  });

const timedOut = ({ episode_id, status, next }: Shown, goal: string): EpisodeError =>
  new EpisodeError('WAIT_TIMEOUT', `${episode_id} is ${status}, not yet ${goal === 'approval' ? 'at a gate' : goal}`, {
    subject: episode_id,
    hints: [
      ...next.filter((command) => !command.startsWith('episode wait ')),
      `episode show ${episode_id}`,
      `episode wait ${episode_id} --for ${goal}`,
    ],
  });
