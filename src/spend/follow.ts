import { EpisodeError, stillRunning } from '../errors.ts';
import type { Attempt } from '../model/episode.ts';
import type { Price, RemoteStatus } from '../model/protocol.ts';
import { attemptState } from '../model/status.ts';
import type { Provider } from '../providers/provider.ts';
import { readEpisode } from '../record.ts';
import { findAttempt, withFiles, withRemote } from './attempts.ts';
import { changeAttempt, type Target } from './send.ts';
import type { SpendServices } from './services.ts';
import { clearRoom, makeRoom, placeTake } from './take.ts';

const POLL_SECONDS = 5;

/**
 * Waits for an accepted task and brings its result home; never pays. Resolves when the attempt has ended, well or not.
 * Throws `STILL_RUNNING` (75) after `deadline` (milliseconds since the epoch) or when interrupted, and, with the task
 * still accepted, `PROVIDER_UNREACHABLE` (69), `PROVIDER_PROTOCOL`, `MEDIA_NOT_WHOLE` (76): the result can be asked for again.
 */
export async function follow(
  services: SpendServices,
  target: Target,
  provider: Provider,
  deadline: number,
): Promise<void> {
  const { attempt } = target;
  const ref = attempt.ref!;
  for (;;) {
    const status = await provider.status(ref, attempt.checkpoint);
    if (status.progress !== undefined) services.progress(target.step, status.progress);
    await recordStatus(services, target, status);
    if (status.state === 'done') return fetchResult(services, target, provider, status.cost);
    if (status.state === 'error' || status.state === 'canceled') return;
    const now = services.port.now();
    if (now >= deadline || services.interrupted.aborted)
      throw stillRunning(target.episodeId, target.step, attempt.provider, ref);
    const waitMs = 1000 * (status.next_poll_seconds ?? attempt.sheet.capabilities.min_poll_seconds ?? POLL_SECONDS);
    await services.port.sleep(Math.min(waitMs, deadline - now), services.interrupted);
  }
}

/** Only what changes what people see is written: a transaction for each poll would say nothing new. */
async function recordStatus(services: SpendServices, target: Target, status: RemoteStatus): Promise<void> {
  await changeAttempt(services, target, `remote: ${status.state}`, (episode, at) => {
    const known = findAttempt(episode, target.attempt.attempt_id)!;
    if (known.files || (known.remote?.state === status.state && known.remote.reason === (status.reason ?? null)))
      return episode;
    return withRemote(episode, known.attempt_id, status, at);
  });
}

async function fetchResult(
  services: SpendServices,
  target: Target,
  provider: Provider,
  reported: Price | undefined,
): Promise<void> {
  const { port, root, store } = services;
  const { episodeId, attempt } = target;
  const room = await makeRoom(services, episodeId, attempt.attempt_id);
  try {
    const delivered = await provider.fetch(attempt.ref!, `${root}/${room}`);
    if (delivered === 'expired') throw expired(target);
    // Another command may have brought it home meanwhile; one take is enough.
    const known = await store.view((view) => readEpisode(view, episodeId));
    if (attemptState(findAttempt(known, attempt.attempt_id)!) === 'succeeded') return;
    const price = reported ?? (await finalCost(provider, attempt));
    const files = await placeTake(services, target, delivered);
    await changeAttempt(services, target, 'succeeded', (episode, at) => {
      const current = findAttempt(episode, attempt.attempt_id)!;
      return current.files ? episode : withFiles(episode, attempt.attempt_id, files, price, at);
    });
  } finally {
    await clearRoom(port.disk, `${root}/${room}`);
  }
}

async function finalCost(provider: Provider, attempt: Attempt): Promise<Price | undefined> {
  const kind = attempt.sheet.capabilities.cost ?? 'none';
  return kind === 'none' || !provider.cost ? undefined : provider.cost(attempt.ref!);
}

const expired = ({ episodeId, step, attempt }: Target): EpisodeError =>
  new EpisodeError(
    'PROVIDER_UNREACHABLE',
    `${attempt.provider} made ${step} of ${episodeId} (ref ${attempt.ref}), and its result has expired there`,
    {
      subject: `${episodeId}/${step}`,
      hints: [
        `episode reconcile ${episodeId} --step ${step}          asks for it again; free`,
        `episode settle ${episodeId} --step ${step} --write-off --evidence "…"          gives it up; then: episode retry`,
      ],
    },
  );
