import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { EpisodeError } from '../../errors.ts';
import type { ProvidedFile, SubmitOutcome } from '../../model/protocol.ts';
import type { Provider, Submission, SubmitEvents } from '../provider.ts';
import { UNKNOWN_REF } from './made-up.ts';
import { type Promised, wordsOf } from './promised.ts';

interface PureTrial {
  provider: Provider;
  /** Makes what the other one is given. */
  local: Provider;
  type: 'local' | 'assembly';
}

/** What it is asked to make. */
type Wanted = Pick<Submission, 'kind' | 'params' | 'inputs'>;

interface PureBench {
  provider: Provider;
  scratch: string;
  /** Something that it can make. */
  good: Wanted;
  promise(id: string, says: string, holds: boolean | null, seen: string): void;
}

const SMALL = { width: 64, height: 64 };
const STILL: Wanted = { kind: 'image', params: SMALL, inputs: [] };

/** A built-in provider: free, and done when it answers, so that all that can be asked of it is that it says so rightly. */
export async function certifyPure({ provider, local, type }: PureTrial): Promise<Promised[]> {
  const promises: Promised[] = [];
  const scratch = await mkdtemp(join(tmpdir(), 'episode-certify-'));
  try {
    const bench: PureBench = {
      provider,
      scratch,
      good: type === 'assembly' ? await filmOf(local, scratch) : STILL,
      promise: (id, says, holds, seen) => void promises.push({ id, says, holds, seen }),
    };
    await trySheet(bench);
    await tryInvalid(bench);
    await tryTwice(bench);
    await tryStopped(bench);
    await tryBroken(bench);
    await tryUnknown(bench);
    return promises;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** A film of one still; of none where the machine cannot make it. */
async function filmOf(local: Provider, scratch: string): Promise<Wanted> {
  const still = await submit(local, await submissionOf(scratch, STILL));
  const file = still.outcome === 'completed' ? still.files[0]! : null;
  return {
    kind: 'video',
    params: { ...SMALL, fps: 5, image_seconds: 1 },
    inputs: file ? [{ name: 'still', path: file.path, sha256: await hashOf(file) }] : [],
  };
}

async function trySheet({ provider, promise }: PureBench): Promise<void> {
  const { capabilities } = await provider.describe();
  promise('sheet/pure', 'it is free and repeatable', capabilities.pure === true, `pure: ${capabilities.pure}`);
  promise('sheet/sync', 'it is done when it answers', capabilities.submit === 'sync', capabilities.submit);
}

async function tryInvalid({ provider, scratch, promise }: PureBench): Promise<void> {
  const unknown = await submissionOf(scratch, { kind: 'image', params: { certify: true }, inputs: [] });
  const outcome = await submit(provider, unknown);
  const says = 'parameters that it does not know: released (invalid_input)';
  promise('submit/invalid', says, isReleased(outcome, 'invalid_input'), wordsOf(outcome));
}

/** What it makes lies where it should, is announced to nobody, and is the same the second time. */
async function tryTwice({ provider, scratch, good, promise }: PureBench): Promise<void> {
  const announced: string[] = [];
  const one = await submissionOf(scratch, good);
  const first = await submit(
    provider,
    one,
    eventsOf((event) => announced.push(event)),
  );
  const second = await submit(provider, await submissionOf(scratch, good));
  if (first.outcome !== 'completed' || second.outcome !== 'completed') {
    const isMachine = first.outcome === 'released' && first.reason === 'ffmpeg_missing';
    return promise('submit/completed', 'it makes its files', isMachine ? null : false, messageOf(first));
  }
  const files = `${first.files.length} files`;
  promise('submit/completed', 'it makes its files', true, files);
  const [ours, again] = await Promise.all([first, second].map((made) => Promise.all(made.files.map(hashOf))));
  const hashes = ours!.map((hash) => hash.slice(0, 12)).join(', ');
  promise('submit/same', 'the same again gives the same bytes', String(ours) === String(again), hashes);
  const isInside = first.files.every(({ path }) => !relative(one.output_dir, path).startsWith('..'));
  promise('files/inside', 'files lie inside "output_dir"', isInside, files);
  const said = announced.join(', ') || 'nothing';
  promise('submit/silent', 'it buys nothing, and announces nothing', announced.length === 0, said);
}

async function tryStopped({ provider, scratch, good, promise }: PureBench): Promise<void> {
  const stop = new AbortController();
  const stopped = submit(provider, await submissionOf(scratch, good), eventsOf(), stop.signal);
  stop.abort();
  const outcome = await stopped;
  promise('submit/stopped', 'stopped while it works: released', isReleased(outcome), wordsOf(outcome));
}

async function tryBroken({ provider, scratch, good, promise }: PureBench): Promise<void> {
  const nowhere = { ...(await submissionOf(scratch, good)), output_dir: join(scratch, 'nowhere') };
  const outcome = await submit(provider, nowhere);
  promise('submit/broken', 'a render that fails: released', isReleased(outcome), wordsOf(outcome));
}

async function tryUnknown({ provider, scratch, good, promise }: PureBench): Promise<void> {
  const submission = await submissionOf(scratch, good);
  const task = { ...submission, ref: UNKNOWN_REF, claimed_at: '2026-08-07T09:00:00Z' };
  for (const [op, ask] of [
    ['status', () => provider.status(task)],
    ['fetch', () => provider.fetch(task, scratch)],
  ] as const) {
    const code = await ask().then(
      () => 'an answer',
      (error: unknown) => (error instanceof EpisodeError ? error.code : String(error)),
    );
    promise(`unknown/${op}`, `it has no task to ask about (${op})`, code === 'PROVIDER_PROTOCOL', code);
  }
}

/** With a directory of its own, and a name that no other has. */
async function submissionOf(scratch: string, wanted: Wanted): Promise<Submission> {
  const output_dir = await mkdtemp(join(scratch, 'out-'));
  const ref = `certify-${output_dir.slice(-6)}`;
  return { ...wanted, attempt_id: ref, client_ref: ref, output_dir, checkpoint: null };
}

const submit = (
  provider: Provider,
  submission: Submission,
  events = eventsOf(),
  signal = new AbortController().signal,
): Promise<SubmitOutcome> => provider.submit(submission, events, signal);

const isReleased = (outcome: SubmitOutcome, reason?: string): boolean =>
  outcome.outcome === 'released' && outcome.billable === 'no' && (reason === undefined || outcome.reason === reason);

const messageOf = (outcome: SubmitOutcome): string =>
  'message' in outcome ? `${wordsOf(outcome)}: ${outcome.message}` : wordsOf(outcome);

const hashOf = async ({ path }: ProvidedFile): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

const eventsOf = (tell: (event: string) => void = () => {}): SubmitEvents => ({
  started: async () => tell('started'),
  checkpoint: async () => tell('checkpoint'),
  sending: async () => tell('sending'),
  accepted: async () => tell('accepted'),
  progress: () => {},
});
