import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { EpisodeError } from '../../errors.ts';
import type { ProvidedFile, SubmitOutcome } from '../../model/protocol.ts';
import type { Provider, Submission, SubmitEvents } from '../provider.ts';
import type { Promised } from './promised.ts';

interface PureTrial {
  provider: Provider;
  /** Makes what the other one is given. */
  local: Provider;
  type: 'local' | 'assembly';
}

const SMALL = { width: 64, height: 64 };

/** A built-in provider: free, and done when it answers, so that all that can be asked of it is that it says so rightly. */
export async function certifyPure({ provider, local, type }: PureTrial): Promise<Promised[]> {
  const promises: Promised[] = [];
  const promise = (id: string, says: string, holds: boolean | null, seen: string): void =>
    void promises.push({ id, says, holds, seen });
  const scratch = await mkdtemp(join(tmpdir(), 'episode-certify-'));
  let submissions = 0;
  async function submission(kind: string, params: Record<string, unknown>, inputs: Submission['inputs'] = []) {
    submissions += 1;
    const output_dir = await mkdtemp(join(scratch, 'out-'));
    const ref = `certify-${submissions}`;
    return { attempt_id: ref, client_ref: ref, kind, params, inputs, output_dir, checkpoint: null };
  }
  const submit = (
    one: Submission,
    events: SubmitEvents = eventsOf(),
    by = provider,
    signal = new AbortController().signal,
  ) => by.submit(one, events, signal);

  try {
    const { capabilities } = await provider.describe();
    promise('sheet/pure', 'it is free and repeatable', capabilities.pure === true, `pure: ${capabilities.pure}`);
    promise('sheet/sync', 'it is done when it answers', capabilities.submit === 'sync', capabilities.submit);

    const wrong = await submit(await submission('image', { certify: true }));
    promise(
      'submit/invalid',
      'parameters that it does not know: released (invalid_input)',
      isReleased(wrong, 'invalid_input'),
      wordsOf(wrong),
    );
    const still = await submit(await submission('image', SMALL), eventsOf(), local);
    const inputs =
      type === 'assembly' && still.outcome === 'completed'
        ? [{ name: 'still', path: still.files[0]!.path, sha256: await hashOf(still.files[0]!) }]
        : [];
    const wanted: [string, Record<string, unknown>] =
      type === 'assembly' ? ['video', { ...SMALL, fps: 5, image_seconds: 1 }] : ['image', SMALL];
    const one = await submission(...wanted, inputs);
    const announced: string[] = [];
    const first = await submit(
      one,
      eventsOf((event) => announced.push(event)),
    );
    const second = await submit(await submission(...wanted, inputs));
    if (first.outcome !== 'completed' || second.outcome !== 'completed') {
      const isMachine = first.outcome === 'released' && first.reason === 'ffmpeg_missing';
      promise('submit/completed', 'it makes its files', isMachine ? null : false, messageOf(first));
    } else {
      promise('submit/completed', 'it makes its files', true, `${first.files.length} files`);
      const [ours, again] = await Promise.all([first, second].map(({ files }) => Promise.all(files.map(hashOf))));
      promise(
        'submit/same',
        'the same again gives the same bytes',
        String(ours) === String(again),
        ours!.map((hash) => hash.slice(0, 12)).join(', '),
      );
      const isInside = first.files.every(({ path }) => !relative(one.output_dir, path).startsWith('..'));
      promise('files/inside', 'files lie inside "output_dir"', isInside, `${first.files.length} files`);
      promise(
        'submit/silent',
        'it buys nothing, and announces nothing',
        announced.length === 0,
        announced.join(', ') || 'nothing',
      );
    }
    const stop = new AbortController();
    const aborted = submit(await submission(...wanted, inputs), eventsOf(), provider, stop.signal);
    stop.abort();
    const outcome = await aborted;
    promise('submit/stopped', 'stopped while it works: released', isReleased(outcome), wordsOf(outcome));
    const nowhere = { ...(await submission(...wanted, inputs)), output_dir: join(scratch, 'nowhere') };
    const broken = await submit(nowhere);
    promise('submit/broken', 'a render that fails: released', isReleased(broken), wordsOf(broken));
    const task = { ...(await submission(...wanted)), ref: 'certify-unknown-task', claimed_at: '2026-08-07T09:00:00Z' };
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
    return promises;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const isReleased = (outcome: SubmitOutcome, reason?: string): boolean =>
  outcome.outcome === 'released' && outcome.billable === 'no' && (reason === undefined || outcome.reason === reason);

const wordsOf = (outcome: SubmitOutcome): string =>
  'reason' in outcome ? `${outcome.outcome} (${outcome.reason})` : outcome.outcome;

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
