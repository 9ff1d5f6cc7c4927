import { EpisodeError, episodeClosed } from './errors.ts';
import { findStep } from './generate.ts';
import { attemptState } from './model/attempt.ts';
import type { Config } from './model/config.ts';
import type { Attempt, Episode, OutputFile } from './model/episode.ts';
import type { Port } from './port.ts';
import { readEpisode, saveEpisode } from './record.ts';
import { findAttempt, withFiles, withSettlement } from './spend/attempts.ts';
import { hashOwn, lastName, type OwnFile, placeOwn } from './spend/own-output.ts';
import { judged, recoverClaims } from './spend/recover.ts';
import { reportOf, type SpendAnswer, stepResults } from './spend/report.ts';
import type { Target } from './spend/send.ts';
import {
  attemptToSettle,
  isSettledAs,
  mayHaveOutput,
  maySettle,
  refuseTaken,
  type SettleForm,
  unsettleable,
} from './spend/settleable.ts';
import type { SpendServices } from './spend/spend-services.ts';
import { discardTake } from './spend/take.ts';
import type { Transaction } from './store/store.ts';

interface Said {
  by: string;
  evidence: string;
}

/**
 * Records what a person knows of a held step, with who, when and the evidence. Sends nothing and pays nothing.
 * `accepted`: the task is followed from now on. `not_accepted`: the step is ready again. `write_off`: it stays unknown,
 * its cost possible, and `retry` may pay once more. The same again changes nothing; something else corrects what was said
 * as long as no output came of it, and both stay in the events. `take`: of the attempt with that number.
 * Throws `EPISODE_NOT_FOUND` (66), `STEP_NOT_FOUND` (64), `ATTEMPT_IN_FLIGHT` (75) while it is being sent,
 * `STEP_NOT_READY` (14) when there is nothing to settle.
 */
export async function settle(
  { store, port, config }: Pick<SpendServices, 'store' | 'port' | 'config'>,
  episodeId: string,
  step: string,
  said: SettleForm & Said & { take?: number | null },
): Promise<SpendAnswer> {
  const { take = null } = said;
  const episode = await store.transact(async (transaction) => {
    const known = judged(port, await readEpisode(transaction, episodeId));
    const view = findStep(known, step);
    const attempt = attemptToSettle(known, step, { ...said, take });
    if (attempt && isSettledAs(attempt, said)) return known;
    if (!attempt || !maySettle(attempt, said.form)) throw unsettleable(known, view, attempt, take);
    if (said.form === 'accepted') refuseTaken(known, attempt, step, said.ref);
    const at = new Date(port.now()).toISOString();
    const { by, evidence } = said;
    const settlement = { form: said.form, at, by, evidence, ref: said.form === 'accepted' ? said.ref : null };
    return saveEpisode(transaction, withSettlement(known, attempt.attempt_id, settlement), {
      at,
      by,
      event: `settled: ${said.form}`,
      step,
      attempt_id: attempt.attempt_id,
      ...(settlement.ref !== null && { ref: settlement.ref }),
      evidence,
    });
  });
  return answer(config, episode, step);
}

const answer = (
  { currency }: Config,
  episode: Episode,
  step: string,
  verdict: 'proceed' | 'replay' = 'proceed',
  failures: EpisodeError[] = [],
): SpendAnswer => reportOf({ episode, steps: stepResults(episode, new Map([[step, verdict]])), failures }, currency);

/**
 * Sends a held step once more under the same reference, where its provider promises to count that once (`resend` of
 * spend/). The same again after it was accepted changes nothing. Throws what `resend` throws, and `STEP_NOT_READY` (14)
 * for a step that is not held so.
 */
export async function settleByResend(
  services: SpendServices,
  episodeId: string,
  step: string,
  said: Said,
): Promise<SpendAnswer> {
  await recoverClaims(services, episodeId);
  const known = await services.store.view((view) => readEpisode(view, episodeId));
  if (known.closed) throw episodeClosed(episodeId, known.closed);
  const view = findStep(known, step);
  const state = view.last && attemptState(view.last);
  if (state !== 'unknown') {
    const isDone = view.last?.resends !== undefined && ['accepted', 'running', 'succeeded'].includes(state ?? '');
    if (isDone) return answer(services.config, known, step, 'replay');
    throw unsettleable(known, view, view.last ?? undefined);
  }
  const { resend } = await import('./spend/resend.ts');
  const { episode, sent, failures } = await resend(services, episodeId, view, said);
  if (!sent) services.note(`${view.last!.provider} has ${step}; nothing was sent again`);
  return answer(services.config, episode, step, sent ? 'proceed' : 'replay', failures);
}

/**
 * Records that a step was accepted under `ref`, and that these files are its output: for a provider that gives its result
 * with the answer, or no longer has it. They are copied, decoded and hashed like fetched ones; the person's stay where
 * they are. The cost is settled at its worst case unless it is known. The same again changes nothing.
 * Throws what `settle` throws, and `MEDIA_NOT_WHOLE` (76), `CANNOT_WRITE` (73); nothing is recorded then.
 */
export async function settleWithOutput(
  services: Pick<SpendServices, 'store' | 'port' | 'config' | 'root' | 'media'>,
  episodeId: string,
  step: string,
  said: Said & { ref: string; output: readonly OwnFile[] },
): Promise<SpendAnswer> {
  const { store, port, config, root } = services;
  const known = judged(port, await store.view((view) => readEpisode(view, episodeId)));
  const view = findStep(known, step);
  const attempts = known.steps.find((record) => record.id === step)?.attempts ?? [];
  const attempt = attempts.findLast((one) => mayHaveOutput(one, said.ref));
  if (!attempt) {
    const hashes = await Promise.all(said.output.map((own) => hashOwn(services, own)));
    if (attempts.some((one) => isDelivered(one, said.ref, hashes))) return answer(config, known, step, 'replay');
    throw unsettleable(known, view, attempts.at(-1));
  }
  refuseTaken(known, attempt, step, said.ref);

  const target = { episodeId, step, role: view.step?.role ?? null, attempt };
  const files = await placeOwn(services, target, said.output);
  const recorded = await store.transact((transaction) =>
    recordOutput(transaction, port, target, said, files).catch(refusalOf),
  );
  if (!(recorded instanceof EpisodeError)) return answer(config, recorded, step);
  // Only a refusal says that nothing was recorded: of any other error the take may be on record, and it stays.
  await discardTake(port.disk, root, files);
  throw recorded;
}

function refusalOf(error: unknown): EpisodeError {
  if (error instanceof EpisodeError) return error;
  throw error;
}

const isDelivered = ({ ref, files }: Attempt, wanted: string, hashes: readonly string[]): boolean =>
  ref === wanted && files?.map(({ sha256 }) => sha256).join() === hashes.join();

async function recordOutput(
  transaction: Transaction,
  port: Port,
  { episodeId, step, attempt: { attempt_id } }: Target,
  { ref, by, evidence, output }: Said & { ref: string; output: readonly OwnFile[] },
  files: OutputFile[],
): Promise<Episode> {
  const known = judged(port, await readEpisode(transaction, episodeId));
  const attempt = findAttempt(known, attempt_id)!;
  // Recorded already, by a commit that was in doubt.
  if (attempt.files?.[0]?.path === files[0]!.path) return known;
  if (!mayHaveOutput(attempt, ref)) throw unsettleable(known, findStep(known, step), attempt);
  refuseTaken(known, attempt, step, ref);
  const at = new Date(port.now()).toISOString();
  const brought = files.map(({ sha256 }, index) => ({ name: lastName(output[index]!.name), sha256 }));
  const settled = withSettlement(known, attempt_id, { form: 'accepted', at, by, evidence, ref, files: brought });
  return saveEpisode(transaction, withFiles(settled, attempt_id, files, undefined, at), {
    at,
    by,
    event: 'settled: accepted, with its output',
    step,
    attempt_id,
    ref,
    files: brought,
    evidence,
  });
}
