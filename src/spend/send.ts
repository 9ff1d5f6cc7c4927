import { asEpisodeError, claimGivenUp, EpisodeError, stateNotSaved } from '../errors.ts';
import type { Attempt, Episode, OutputFile } from '../model/episode.ts';
import type { SubmitOutcome } from '../model/protocol.ts';
import type { Provider, SubmitEvents } from '../providers/provider.ts';
import { readEpisode, saveEpisode } from '../record.ts';
import { findAttempt, withAttempt, withFiles, withOutcome } from './attempts.ts';
import { isFree } from './budget.ts';
import { giveBack, type Reserve } from './reserve.ts';
import type { SpendServices } from './spend-services.ts';
import { clearRoom, makeFirstRoom, placeTake } from './take.ts';

/** A claimed attempt and where its output goes. */
export interface Target {
  episodeId: string;
  step: string;
  role: OutputFile['role'];
  attempt: Attempt;
}

/** One change of an episode that is about one attempt, in a transaction of its own. */
export async function changeAttempt(
  { store, port }: Pick<SpendServices, 'store' | 'port'>,
  { episodeId, step, attempt }: Omit<Target, 'role'>,
  event: string,
  change: (episode: Episode, at: string) => Episode,
): Promise<Episode> {
  return store.transact(async (transaction) => {
    const episode = await readEpisode(transaction, episodeId);
    const at = new Date(port.now()).toISOString();
    const changed = change(episode, at);
    if (changed === episode) return episode;
    return saveEpisode(transaction, changed, { at, by: port.user, event, step, attempt_id: attempt.attempt_id });
  });
}

/**
 * Sends a claimed attempt, once, and records what came of it (transaction 2). A provider that answers with the result
 * itself has its files verified and placed first, and recorded together with the outcome.
 * Throws `STATE_NOT_SAVED` (11) when the ledger cannot take an answer that may have cost money, and whatever kept the
 * output from being a take; the attempt's record says then what became of it.
 */
export async function send(
  services: SpendServices,
  target: Target,
  provider: Provider,
  reserve: Reserve,
): Promise<void> {
  const { port, root } = services;
  const { sheet } = target.attempt;
  const room = await prepareRoom(services, target, reserve);
  const submitted = await submit(services, target, provider, `${root}/${room}`);
  const result =
    submitted.outcome.outcome === 'completed' ? await place(services, target, submitted.outcome, room) : submitted;
  await giveBack(port, root, reserve);
  await recordAtLast(services, target, result);
  if (isFree(sheet) || !result.error) await clearRoom(port.disk, `${root}/${room}`);
  if (result.error) throw result.error;
}

/** A ledger that is only busy is waited for: this is the one answer that nobody gives again. */
const PATIENCE = 10;

async function recordAtLast(services: SpendServices, target: Target, result: Result): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await record(services, target, result);
    } catch (error) {
      if (error instanceof EpisodeError && error.exit === 75 && attempt < PATIENCE) continue;
      if (isFree(target.attempt.sheet)) throw error;
      throw stateNotSaved(target.episodeId, target.step, answerOf(target.attempt, result), error);
    }
  }
}

function answerOf(attempt: Attempt, { outcome, kept = [] }: Result) {
  const said = isResend(attempt) ? notOfBoth(outcome) : outcome;
  const { ref, reason, evidence } = said as { ref?: unknown; reason?: unknown; evidence?: { ref?: unknown } };
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return {
    outcome: said.outcome,
    ref: text(ref) ?? text(evidence?.ref),
    clientRef: attempt.client_ref,
    reason: text(reason),
    files: kept,
  };
}

interface Result {
  outcome: SubmitOutcome;
  files?: OutputFile[];
  /** Where the files of a paid result lie, absolute. */
  kept?: string[];
  /** What the person must be told; the outcome is recorded all the same. */
  error?: unknown;
}

/** Nothing has been asked for yet: a failure here gives the claim back. */
async function prepareRoom(services: SpendServices, target: Target, reserve: Reserve): Promise<string> {
  try {
    return await makeFirstRoom(services, target.episodeId, target.attempt.attempt_id);
  } catch (error) {
    await giveBack(services.port, services.root, reserve);
    // Where the ledger cannot take even that, the claim is judged once this command is gone.
    await record(services, target, { outcome: notSent((error as Error).message) }).catch(() => {});
    throw error;
  }
}

const notSent = (message: string): SubmitOutcome => ({
  outcome: 'released',
  reason: 'not_sent',
  message,
  billable: 'no',
});

/** How far this submission provably got. */
interface Seen {
  /** The adapter was not told what to do: its start could not be recorded. */
  heldBack: boolean;
  sending: boolean;
  ref: string | null;
}

async function submit(services: SpendServices, target: Target, provider: Provider, outputDir: string): Promise<Result> {
  const { attempt } = target;
  const seen: Seen = { heldBack: false, sending: false, ref: null };
  // Money that is on its way is waited for; what is free is simply done again.
  const signal = isFree(attempt.sheet) ? services.interrupted : new AbortController().signal;
  const submission = {
    attempt_id: attempt.attempt_id,
    client_ref: attempt.client_ref,
    kind: attempt.kind,
    params: attempt.params,
    inputs: attempt.inputs.map((input) => ({
      name: input.name,
      path: `${services.root}/${input.path}`,
      sha256: input.sha256,
    })),
    output_dir: outputDir,
    checkpoint: attempt.checkpoint,
  };
  try {
    return { outcome: await provider.submit(submission, recording(services, target, seen), signal) };
  } catch (error) {
    return { outcome: afterThrow(attempt, seen, error), error: asEpisodeError(error, `episodes/${target.episodeId}`) };
  }
}

/** Each event is durable in the ledger before the adapter goes on. */
function recording(services: SpendServices, target: Target, seen: Seen): SubmitEvents {
  const { attempt_id, claim } = target.attempt;
  const change = async (event: string, fields: (at: string) => Partial<Attempt>): Promise<void> => {
    await changeAttempt(services, target, event, (episode, at) => {
      // Whoever took this command for dead may have sent again: from then on it must not send.
      if (!seen.sending && !isOurs(findAttempt(episode, attempt_id), claim))
        throw claimGivenUp(target.episodeId, target.step, attempt_id);
      return withAttempt(episode, attempt_id, (attempt) => ({ ...attempt, ...fields(at) }));
    });
  };
  return {
    async started(adapter) {
      seen.heldBack = true;
      await change('adapter started', () => ({ claim: { ...claim, adapter: { ...adapter } } }));
      seen.heldBack = false;
    },
    checkpoint: (data) => change('checkpoint', () => ({ checkpoint: data })),
    async sending() {
      await change('sending', (at) => ({ sending_at: at }));
      seen.sending = true;
    },
    async accepted(ref, kept) {
      seen.ref = ref;
      await changeAttempt(services, target, 'accepted', (episode, at) => {
        const known =
          findAttempt(episode, attempt_id)?.outcome === null
            ? withAttempt(episode, attempt_id, (attempt) => ({ ...attempt, ref }))
            : withOutcome(episode, attempt_id, { outcome: 'accepted', ref }, at);
        return kept ? withAttempt(known, attempt_id, (attempt) => ({ ...attempt, checkpoint: kept })) : known;
      });
    },
    progress: (fraction) => services.progress(target.step, fraction),
  };
}

const isOurs = (known: Attempt | undefined, { token }: Attempt['claim']): boolean =>
  known?.outcome === null && known.claim.token === token;

/** A submission that threw instead of answering: only what provably sent nothing is released. */
function afterThrow(attempt: Attempt, seen: Seen, error: unknown): SubmitOutcome {
  const message = (error as Error).message;
  if (isFree(attempt.sheet)) return { outcome: 'released', reason: 'crashed', message, billable: 'no' };
  if (seen.ref !== null) return { outcome: 'accepted', ref: seen.ref };
  const announces = attempt.sheet.capabilities.announces_sending === true;
  if (seen.heldBack || (announces && !seen.sending)) return notSent(message);
  return { outcome: 'unknown', reason: 'adapter_error', message };
}

/** Files of a result that came with the answer. What cannot be placed is not lost: the room stays, and it is said where. */
async function place(
  services: SpendServices,
  target: Target,
  outcome: Extract<SubmitOutcome, { outcome: 'completed' }>,
  room: string,
): Promise<Result> {
  try {
    const files = await placeTake(services, target, outcome.files);
    return { outcome, files, kept: files.map(({ path }) => `${services.root}/${path}`) };
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    const { message } = error;
    if (isFree(target.attempt.sheet)) {
      const reason = error.code === 'CANNOT_WRITE' ? 'disk_full' : 'render_failed';
      return { outcome: { outcome: 'released', reason, message, billable: 'no' }, error };
    }
    if (error.exit === 76) return { outcome: { ...outcome, reason: 'not_whole', message }, error };
    const evidence = { room, ...(outcome.ref !== undefined && { ref: outcome.ref }) };
    const kept = outcome.files.map(({ path }) => path);
    return { outcome: { outcome: 'unknown', reason: 'result_not_placed', message, evidence }, kept, error };
  }
}

async function record(services: SpendServices, target: Target, { outcome, files }: Result): Promise<void> {
  const { attempt_id } = target.attempt;
  await changeAttempt(services, target, outcome.outcome, (episode, at) => {
    const before = findAttempt(episode, attempt_id);
    // Recorded already, by a commit that was in doubt.
    if (before?.files) return episode;
    const known = withOutcome(episode, attempt_id, before && isResend(before) ? notOfBoth(outcome) : outcome, at);
    // The cost came with the outcome: the row is settled by now.
    return files ? withFiles(known, attempt_id, files, undefined, at) : known;
  });
}

const isResend = ({ resends }: Attempt): boolean => (resends?.length ?? 0) > 0;

/** That one of two submissions under one reference bought nothing says nothing of the other. */
function notOfBoth(outcome: SubmitOutcome): SubmitOutcome {
  if (outcome.outcome !== 'released') return outcome;
  const { reason, message = reason, evidence } = outcome;
  return {
    outcome: 'unknown',
    reason: 'sent_again',
    message: `sent again, and that bought nothing (${message}); what became of the first time is still not known`,
    ...(evidence && { evidence }),
  };
}
