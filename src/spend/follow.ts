import { asEpisodeError, EpisodeError, stillRunning } from '../errors.ts';
import { attemptState } from '../model/attempt.ts';
import type { Attempt } from '../model/episode.ts';
import type { Price, RemoteStatus } from '../model/protocol.ts';
import type { Provider } from '../providers/provider.ts';
import { readEpisode } from '../record.ts';
import { findAttempt, withFiles, withRemote } from './attempts.ts';
import { changeAttempt, type Target } from './send.ts';
import type { SpendServices } from './spend-services.ts';
import { clearRoom, discardTake, makeRoom, placeTake } from './take.ts';

const POLL_SECONDS = 5;
/** A provider that says 0 must not keep a processor busy, nor one that says a year keep the result. */
const SHORTEST_POLL_MS = 20;
const LONGEST_POLL_MS = 10 * 60_000;

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
    const says = status.state === 'not_found' || status.state === 'expired' ? status.state : undefined;
    if (now >= deadline || services.interrupted.aborted)
      throw stillRunning(target.episodeId, target.step, attempt.provider, ref, says);
    await services.port.sleep(Math.min(pollMs(attempt, status), deadline - now), services.interrupted);
  }
}

function pollMs({ sheet }: Attempt, { next_poll_seconds }: RemoteStatus): number {
  const seconds = Math.max(next_poll_seconds ?? 0, sheet.capabilities.min_poll_seconds ?? POLL_SECONDS);
  return Math.min(Math.max(1000 * seconds, SHORTEST_POLL_MS), LONGEST_POLL_MS);
}

/** Only what changes what people see is written, progress in tenths: a transaction for each poll would say nothing new. */
async function recordStatus(services: SpendServices, target: Target, status: RemoteStatus): Promise<void> {
  const { attempt_id } = target.attempt;
  const tenths = (progress: number | null | undefined): number => Math.floor(10 * (progress ?? 0));
  const isKnown = ({ files, remote }: Attempt): boolean =>
    files !== null ||
    (remote?.state === status.state &&
      remote.reason === (status.reason ?? null) &&
      tenths(remote.progress) >= tenths(status.progress));
  const known = await services.store.view((view) => readEpisode(view, target.episodeId));
  if (isKnown(findAttempt(known, attempt_id)!)) return;
  await changeAttempt(services, target, `remote: ${status.state}`, (episode, at) =>
    isKnown(findAttempt(episode, attempt_id)!) ? episode : withRemote(episode, attempt_id, status, at),
  );
}

async function fetchResult(
  services: SpendServices,
  target: Target,
  provider: Provider,
  reported: Price | undefined,
): Promise<void> {
  const { port, root, store } = services;
  const { episodeId, attempt } = target;
  const { attempt_id } = attempt;
  const isHere = async (): Promise<boolean> => {
    const known = await store.view((view) => readEpisode(view, episodeId));
    return attemptState(findAttempt(known, attempt_id)!) === 'succeeded';
  };
  const room = await makeRoom(services, episodeId, attempt_id);
  try {
    const delivered = await provider.fetch(attempt.ref!, `${root}/${room}`);
    if (delivered === 'expired') throw expired(target);
    // Another command may have brought it home meanwhile; one take is enough.
    if (await isHere()) return;
    const price = reported ?? (await finalCost(services, target, provider));
    const files = await placeTake(services, target, delivered);
    const episode = await changeAttempt(services, target, 'succeeded', (known, at) =>
      findAttempt(known, attempt_id)!.files ? known : withFiles(known, attempt_id, files, price, at),
    );
    const recorded = findAttempt(episode, attempt_id)!.files!;
    if (recorded[0]!.path !== files[0]!.path) await discardTake(port.disk, root, files);
  } catch (error) {
    throw withWaysOut(error, target);
  } finally {
    await clearRoom(port.disk, `${root}/${room}`);
  }
}

/** What it cost is asked for beside the result, and never in its way. */
async function finalCost(
  { note }: SpendServices,
  { step, attempt }: Target,
  provider: Provider,
): Promise<Price | undefined> {
  if ((attempt.sheet.capabilities.cost ?? 'none') === 'none' || !provider.cost) return undefined;
  try {
    return await provider.cost(attempt.ref!);
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    note(`${attempt.provider} does not say what ${step} cost; it is recorded at its worst case: ${error.message}`);
    return undefined;
  }
}

/** A result that is not whole stays with the provider: it can be asked for again, or given up. */
function withWaysOut(error: unknown, { episodeId, step }: Target): unknown {
  if (!(error instanceof EpisodeError) || error.exit !== 76) return asEpisodeError(error, `episodes/${episodeId}`);
  const { code, message, subject, hints, details } = error;
  return new EpisodeError(code, message, {
    ...(subject !== null && { subject }),
    hints: [...hints, ...resultHints(episodeId, step)],
    details,
    cause: error,
  });
}

const resultHints = (episodeId: string, step: string): string[] => [
  `episode reconcile ${episodeId} --step ${step}  # asks for it again; free`,
  `episode settle ${episodeId} --step ${step} --write-off --evidence "…"  # gives it up; then: episode retry`,
];

const expired = ({ episodeId, step, attempt }: Target): EpisodeError =>
  new EpisodeError(
    'PROVIDER_UNREACHABLE',
    `${attempt.provider} made ${step} of ${episodeId} (ref ${attempt.ref}), and its result has expired there`,
    { subject: `${episodeId}/${step}`, hints: resultHints(episodeId, step) },
  );
