import { prepareDirectory } from '../artifacts.ts';
import { EpisodeError, stateNotSaved } from '../errors.ts';
import type { Attempt, Episode, OutputFile } from '../model/episode.ts';
import type { SubmitOutcome } from '../model/protocol.ts';
import type { Provider, SubmitEvents } from '../providers/provider.ts';
import { readEpisode, saveEpisode } from '../record.ts';
import { ref } from '../store/store.ts';
import { withAttempt, withFiles, withOutcome } from './attempts.ts';
import { isFree } from './budget.ts';
import type { SpendServices } from './services.ts';
import { clearRoom, makeRoom, placeTake } from './take.ts';

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
export async function send(services: SpendServices, target: Target, provider: Provider): Promise<void> {
  const { attempt } = target;
  const room = await prepareRoom(services, target);
  const submitted = await submit(services, target, provider, `${services.root}/${room}`);
  const result =
    submitted.outcome.outcome === 'completed' ? await place(services, target, submitted.outcome, room) : submitted;
  try {
    await record(services, target, result);
  } catch (error) {
    const ref = 'ref' in result.outcome ? (result.outcome.ref as string | undefined) : undefined;
    throw isFree(attempt.sheet) ? error : stateNotSaved(target.episodeId, target.step, ref ?? submitted.ref, error);
  }
  if (isFree(attempt.sheet) || !result.error) await clearRoom(services.port.disk, `${services.root}/${room}`);
  if (result.error) throw result.error;
}

interface Result {
  outcome: SubmitOutcome;
  files?: OutputFile[];
  /** What the person must be told; the outcome is recorded all the same. */
  error?: unknown;
}

/** Nothing has been asked for yet: a failure here gives the claim back. */
async function prepareRoom(services: SpendServices, target: Target): Promise<string> {
  try {
    const stamp = await services.store.view(async (view) => ({
      ledger_id: (await view.get(ref('ledger', '')))!.ledger_id,
      episode_id: target.episodeId,
      head: view.head,
    }));
    await prepareDirectory(services.port, services.root, stamp);
    return await makeRoom(services, target.episodeId, target.attempt.attempt_id);
  } catch (error) {
    await record(services, target, { outcome: notSent((error as Error).message) });
    throw error;
  }
}

const notSent = (message: string): SubmitOutcome => ({
  outcome: 'released',
  reason: 'not_sent',
  message,
  billable: 'no',
});

async function submit(
  services: SpendServices,
  target: Target,
  provider: Provider,
  outputDir: string,
): Promise<Result & { ref: string | null }> {
  const { attempt } = target;
  const seen = { sending: false, ref: null as string | null };
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
    return { outcome: await provider.submit(submission, recording(services, target, seen), signal), ref: seen.ref };
  } catch (error) {
    return { outcome: afterThrow(attempt, seen.sending, error), error, ref: seen.ref };
  }
}

/** Each event is durable in the ledger before the adapter goes on. */
function recording(
  services: SpendServices,
  target: Target,
  seen: { sending: boolean; ref: string | null },
): SubmitEvents {
  const change = async (event: string, fields: (at: string) => Partial<Attempt>): Promise<void> => {
    await changeAttempt(services, target, event, (episode, at) =>
      withAttempt(episode, target.attempt.attempt_id, (attempt) => ({ ...attempt, ...fields(at) })),
    );
  };
  return {
    started: (adapter) =>
      change('adapter started', () => ({ claim: { ...target.attempt.claim, adapter: { ...adapter } } })),
    checkpoint: (data) => change('checkpoint', () => ({ checkpoint: data })),
    async sending() {
      await change('sending', (at) => ({ sending_at: at }));
      seen.sending = true;
    },
    async accepted(accepted) {
      seen.ref = accepted;
      await change('accepted', () => ({ ref: accepted }));
    },
    progress: (fraction) => services.progress(target.step, fraction),
  };
}

/** A submission that threw instead of answering: only what provably sent nothing is released. */
function afterThrow(attempt: Attempt, sending: boolean, error: unknown): SubmitOutcome {
  const message = (error as Error).message;
  if (isFree(attempt.sheet)) return { outcome: 'released', reason: 'crashed', message, billable: 'no' };
  if (attempt.sheet.capabilities.announces_sending === true && !sending) return notSent(message);
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
    return { outcome, files: await placeTake(services, target, outcome.files) };
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    const { message } = error;
    if (isFree(target.attempt.sheet)) {
      return { outcome: { outcome: 'released', reason: 'render_failed', message, billable: 'no' }, error };
    }
    if (error.exit === 76) return { outcome: { ...outcome, reason: 'not_whole', message }, error };
    return { outcome: { outcome: 'unknown', reason: 'result_not_placed', message, evidence: { room } }, error };
  }
}

async function record(services: SpendServices, target: Target, { outcome, files }: Result): Promise<void> {
  const { attempt_id } = target.attempt;
  await changeAttempt(services, target, outcome.outcome, (episode, at) => {
    const known = withOutcome(episode, attempt_id, outcome, at);
    // The cost came with the outcome: the row is settled by now.
    return files ? withFiles(known, attempt_id, files, undefined, at) : known;
  });
}
