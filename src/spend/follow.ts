import { asEpisodeError, EpisodeError, wayLines, waysHome } from '../errors.ts';
import type { Attempt } from '../model/episode.ts';
import type { Price, RemoteStatus } from '../model/protocol.ts';
import type { Provider } from '../providers/provider.ts';
import { readEpisode } from '../record.ts';
import { findAttempt, taskOf, withFiles, withRemote } from './attempts.ts';
import { askCharge } from './charge.ts';
import { goingOn } from './ends.ts';
import { changeAttempt, type Target } from './send.ts';
import type { SpendServices } from './spend-services.ts';
import { clearRoom, discardTake, makeRoom, placeTake } from './take.ts';

const POLL_SECONDS = 5;
/** So many polls in a row may stay without an answer: one that fails in half an hour of polling says nothing of the task. */
const UNANSWERED = 5;
/** A provider that says 0 must not keep a processor busy, nor one that says a year keep the result. */
const SHORTEST_POLL_MS = 20;
const LONGEST_POLL_MS = 10 * 60_000;

/**
 * Waits for an accepted task and brings its result home; never pays. Resolves when the attempt has ended, well or not.
 * A poll that gets no answer is tried again a few times. Throws `STILL_RUNNING` (75) after `deadline` (milliseconds since
 * the epoch) or when interrupted, and, with the task still accepted, `OUTCOME_UNKNOWN` (11) when its provider has lost it,
 * `PROVIDER_UNREACHABLE` (69), `PROVIDER_PROTOCOL`, `MEDIA_NOT_WHOLE` (76): the result can be asked for again, or given up.
 */
export async function follow(
  services: SpendServices,
  target: Target,
  provider: Provider,
  deadline: number,
): Promise<void> {
  const { port, interrupted } = services;
  const { attempt } = target;
  for (let unanswered = 0; ; ) {
    const status = await provider.status(taskOf(attempt)).catch((error: unknown) => {
      unanswered += 1;
      const isPatient =
        isUnreachable(error) && unanswered < UNANSWERED && port.now() < deadline && !interrupted.aborted;
      if (isPatient) return null;
      throw withWaysHome(error, target);
    });
    if (status === null) {
      await port.sleep(Math.min(pollMs(attempt, {}), deadline - port.now()), interrupted);
      continue;
    }
    unanswered = 0;
    if (status.progress !== undefined) services.progress(target.step, status.progress);
    const now = port.now();
    const isOver = now >= deadline || interrupted.aborted || status.state === 'expired';
    // A provider may not know yet what it has just accepted: that counts when it is said to the end.
    const isNews = isOver || status.state !== 'not_found';
    const current = isNews ? await recordStatus(services, target, status) : await currentAttempt(services, target);
    if (!isAwaited(current, attempt)) return;
    if (status.state === 'done') return fetchResult(services, target, provider, status.cost);
    if (status.state === 'error' || status.state === 'canceled') return;
    if (isOver) throw goingOn(current, target.episodeId, target.step);
    await port.sleep(Math.min(pollMs(attempt, status), deadline - now), interrupted);
  }
}

const isUnreachable = (error: unknown): boolean =>
  error instanceof EpisodeError && error.code === 'PROVIDER_UNREACHABLE';

function pollMs({ sheet }: Attempt, { next_poll_seconds }: Pick<RemoteStatus, 'next_poll_seconds'>): number {
  const seconds = Math.max(next_poll_seconds ?? 0, sheet.capabilities.min_poll_seconds ?? POLL_SECONDS);
  return Math.min(Math.max(1000 * seconds, SHORTEST_POLL_MS), LONGEST_POLL_MS);
}

/** Neither brought home by another command meanwhile nor, by a person, known under another reference. */
const isAwaited = (current: Attempt, { ref }: Attempt): boolean => current.files === null && current.ref === ref;

async function currentAttempt({ store }: SpendServices, { episodeId, attempt }: Target): Promise<Attempt> {
  const known = await store.view((view) => readEpisode(view, episodeId));
  return findAttempt(known, attempt.attempt_id)!;
}

/**
 * Only what changes what people see is written, progress in tenths: a transaction for each poll would say nothing new;
 * nor does it say anything that a task is done whose result is known to have expired. Resolves to the attempt as it is.
 */
async function recordStatus(services: SpendServices, target: Target, status: RemoteStatus): Promise<Attempt> {
  const { attempt_id } = target.attempt;
  const tenths = (progress: number | null | undefined): number => Math.floor(10 * (progress ?? 0));
  const isKnown = ({ remote }: Attempt): boolean =>
    (remote?.state === 'expired' && status.state === 'done') ||
    (remote?.state === status.state &&
      remote.reason === (status.reason ?? null) &&
      tenths(remote.progress) >= tenths(status.progress));
  const isNoNews = (current: Attempt): boolean => !isAwaited(current, target.attempt) || isKnown(current);
  const current = await currentAttempt(services, target);
  if (isNoNews(current)) return current;
  const episode = await changeAttempt(services, target, `remote: ${status.state}`, (known, at) =>
    isNoNews(findAttempt(known, attempt_id)!) ? known : withRemote(known, attempt_id, status, at),
  );
  return findAttempt(episode, attempt_id)!;
}

async function fetchResult(
  services: SpendServices,
  target: Target,
  provider: Provider,
  reported: Price | undefined,
): Promise<void> {
  const { port, root } = services;
  const { episodeId, step, attempt } = target;
  const { attempt_id } = attempt;
  const room = await makeRoom(services, episodeId, attempt_id);
  try {
    const delivered = await provider.fetch(taskOf(attempt), `${root}/${room}`);
    const isGone = delivered === 'expired';
    const current = isGone
      ? await recordStatus(services, target, { state: 'expired' })
      : await currentAttempt(services, target);
    if (!isAwaited(current, attempt)) return;
    if (isGone) throw goingOn(current, episodeId, step);
    const price = reported ?? (await askCharge(services, target));
    const files = await placeTake(services, target, delivered);
    const episode = await changeAttempt(services, target, 'succeeded', (known, at) =>
      isAwaited(findAttempt(known, attempt_id)!, attempt) ? withFiles(known, attempt_id, files, price, at) : known,
    );
    const recorded = findAttempt(episode, attempt_id)!.files;
    if (recorded?.[0]?.path !== files[0]!.path) await discardTake(port.disk, root, files);
  } catch (error) {
    throw withWaysHome(error, target);
  } finally {
    await clearRoom(port.disk, `${root}/${room}`);
  }
}

/** What cannot be had now stays with the provider: it can be asked for again, or given up. */
export function withWaysHome(error: unknown, { episodeId, step, attempt }: Omit<Target, 'role'>): unknown {
  if (!(error instanceof EpisodeError) || ![69, 76].includes(error.exit))
    return asEpisodeError(error, `episodes/${episodeId}`);
  const { code, message, hints, details } = error;
  return new EpisodeError(code, `step ${step} of ${episodeId}: ${message}`, {
    subject: `${episodeId}/${step}`,
    hints: [...hints, ...wayLines(waysHome(episodeId, step, attempt.ref!))],
    details,
    cause: error,
  });
}
