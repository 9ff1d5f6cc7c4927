import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EpisodeError } from '../../errors.ts';
import { SubmitOutcome } from '../../model/protocol.ts';
import type { HttpProviderOptions } from '../http/http-provider.ts';
import type { Mapping } from '../http/mapping.ts';
import type { Lost, Provider, Submission, SubmitEvents, Task } from '../provider.ts';
import { openFaultServer, type Received, type Reply, roundTrip, type Scene } from './fault-server.ts';
import { everythingIn, madeUp, watchFor } from './made-up.ts';
import { type Promised, Tally, within } from './promised.ts';
import { say } from './replies.ts';
import { type Intent, specimenOf } from './specimen.ts';

export interface HttpTrial {
  name: string;
  mapping: Mapping;
  create: (options: HttpProviderOptions) => Provider;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Random bytes in hexadecimal. */
  random: (bytes: number) => string;
  /** On top of the made-up ones. */
  params: Record<string, unknown>;
  /** Once aborted, the next trial throws. */
  interrupted: AbortSignal;
}

/** How long a provider waits that is to be seen waiting: again and longer where its request was not even there by then. */
const HASTY_MS = [250, 1_000, 4_000];
const PATIENT_MS = 20_000;
/** Of results: small, so that a bomb need not be big. */
export const RESULT_BYTES = 1024 * 1024;

export interface Submitted {
  /** `null` when it threw, or never answered. */
  outcome: SubmitOutcome | null;
  /** In a few words. */
  what: string;
  requests: Received[];
  /** References it announced as accepted. */
  accepted: string[];
  intent: Intent;
  outputDir: string;
}

export interface Asked<T> {
  answer: T | null;
  error: EpisodeError | null;
  what: string;
  requests: Received[];
}

export type How = { hasty?: boolean; servers?: Record<string, string>; allowPrivate?: boolean; scene?: Partial<Scene> };

/** A provider on a bench: what it is asked, what it is answered, and the promises that every trial is about. */
export async function openBench({ name, mapping, create, now, random, params, interrupted }: HttpTrial) {
  const [own, other, echo] = await Promise.all([openFaultServer(), openFaultServer(), openFaultServer()]);
  echo.play({ reply: say({ status: 200 }) });
  const scratch = await mkdtemp(join(tmpdir(), 'episode-certify-'));
  const specimen = specimenOf(mapping, own.origin, params);
  const credentials = Object.fromEntries(
    mapping.credentials.map((credential) => [credential, madeUp(credential, random)]),
  );
  const watch = watchFor(credentials);
  const at = (origin: string): Record<string, string> =>
    Object.fromEntries(Object.keys(mapping.servers).map((server) => [server, `${origin}/${server}`]));
  const bounded = { ...mapping, limits: { ...mapping.limits, result_bytes: RESULT_BYTES } };
  const inputs: Submission['inputs'] = [];
  for (const input of specimen.inputs) {
    const path = join(scratch, `input-${inputs.length}.png`);
    await writeFile(path, 'made up');
    inputs.push({ name: input, path, sha256: '0'.repeat(64) });
  }
  let rooms = 0;
  async function room(): Promise<string> {
    rooms += 1;
    return mkdtemp(join(scratch, `out-${rooms}-`));
  }

  const once = new Tally('submit/once', 'one submission makes at most one request, whatever becomes of it');
  const durable = new Tally('submit/sending-first', 'no byte is sent before "sending" is durable');
  const quiet = new Tally('submit/never-throws', 'every failure of a submission is an outcome of the protocol');
  const timely = new Tally('limits/time', 'no operation outlasts its time limit');
  const free = new Tally('free/errors', 'free operations fail as unreachable, protocol or credential, nothing else');
  const buying = new Tally('free/never-buys', 'no free operation repeats the request of a submission');
  const secret = new Tally(
    'secrets/nowhere',
    'the credential shows in no outcome, evidence, event or error, nor encoded',
  );
  /** The first submission that was accepted: free operations ask about it. */
  let bought: { intent: Intent; request: Received } | undefined;

  const provider = ({ servers = at(own.origin), allowPrivate = false }: How, timeoutMs: number): Provider =>
    create({
      name,
      mapping: bounded,
      servers,
      credentials,
      allowPrivate,
      now,
      timeoutMs,
    });

  const unseen = (trial: string, ...said: unknown[]): void => {
    const leak = watch.leak(said.map(everythingIn).join('\n'));
    secret.add(trial, leak === null ? null : `it shows {credential.${leak}}`);
  };

  async function patiently<T extends { requests: Received[] }>(
    { hasty = false }: How,
    attempt: (timeoutMs: number) => Promise<T>,
  ): Promise<T> {
    interrupted.throwIfAborted();
    if (!hasty) return attempt(PATIENT_MS);
    const [first, ...others] = HASTY_MS;
    let seen = await attempt(first!);
    for (const timeoutMs of others) if (seen.requests.length === 0) seen = await attempt(timeoutMs);
    return seen;
  }

  const submit = (trial: string, reply: Reply, how: How = {}): Promise<Submitted> =>
    patiently(how, (timeoutMs) => submitOnce(trial, reply, how, timeoutMs));

  async function submitOnce(trial: string, reply: Reply, how: How, timeoutMs: number): Promise<Submitted> {
    let isDurable = false;
    let early = 0;
    const { requests } = own.play({
      reply,
      ...how.scene,
      atFirstByte: () => {
        if (!isDurable) early += 1;
      },
    });
    const accepted: string[] = [];
    const said: unknown[] = [];
    const events: SubmitEvents = {
      started: async () => {},
      checkpoint: async (data) => void said.push(data),
      async sending() {
        // Twice as long as a request needs to get there that did not wait.
        await roundTrip(echo);
        await roundTrip(echo);
        isDurable = true;
      },
      async accepted(ref, kept) {
        accepted.push(ref);
        said.push(ref, kept);
      },
      progress: () => {},
    };
    const intent = specimen.intent();
    const outputDir = await room();
    const submission = { ...intent, inputs, output_dir: outputDir, checkpoint: null };
    const ended = await end(provider(how, timeoutMs).submit(submission, events, new AbortController().signal));
    const parsed = SubmitOutcome.safeParse('answer' in ended ? ended.answer : null);
    const outcome = parsed.success ? parsed.data : null;
    const isBought = outcome?.outcome === 'accepted' || outcome?.outcome === 'completed';
    if (isBought && requests[0]) bought ??= { intent, request: requests[0] };
    once.add(trial, requests.length > 1 ? `${requests.length} requests arrived` : null);
    durable.add(trial, early > 0 ? 'bytes arrived before it' : null);
    timely.add(trial, 'late' in ended ? 'it had not ended' : null);
    const what = outcome ? wordsOf(outcome) : 'error' in ended ? `it threw ${firstLine(ended.error)}` : 'no outcome';
    quiet.add(trial, outcome === null && !('late' in ended) ? what : null);
    unseen(trial, outcome, said, 'error' in ended ? ended.error : null);
    return { outcome, what, requests, accepted, intent, outputDir };
  }

  const ask = <T>(
    trial: string,
    reply: Reply,
    op: (provider: Provider) => Promise<T>,
    how: How = {},
  ): Promise<Asked<T>> => patiently(how, (timeoutMs) => askOnce(trial, reply, () => op(provider(how, timeoutMs)), how));

  async function askOnce<T>(trial: string, reply: Reply, op: () => Promise<T>, how: How): Promise<Asked<T>> {
    const { requests } = own.play({ reply, ...how.scene });
    const ended = await end(op());
    const answer = 'answer' in ended ? ended.answer : null;
    const thrown = 'error' in ended ? ended.error : null;
    const error = thrown instanceof EpisodeError ? thrown : null;
    timely.add(trial, 'late' in ended ? 'it had not ended' : null);
    const isAllowed = error !== null && ALLOWED.includes(error.code);
    free.add(trial, thrown === null || isAllowed ? null : `it threw ${error?.code ?? firstLine(thrown)}`);
    const isBuying = requests.some(({ method, path, body }) => {
      const { request } = bought ?? {};
      return request && method === request.method && path === request.path && body.equals(request.body);
    });
    buying.add(trial, isBuying ? 'it sent the very request of a submission' : null);
    unseen(trial, answer, thrown);
    const what = error
      ? error.code
      : thrown
        ? `it threw ${firstLine(thrown)}`
        : answer === null
          ? 'no answer'
          : brief(answer);
    return { answer, error, what, requests };
  }

  return {
    mapping,
    specimen,
    watch,
    own,
    other,
    at,
    room,
    submit,
    ask,
    now,
    promises: [] as Promised[],
    promise(id: string, says: string, holds: boolean | null, seen: string): void {
      this.promises.push({ id, says, holds, seen });
    },
    task: (ref: string, checkpoint: Task['checkpoint'] = null): Task => ({
      ref,
      checkpoint,
      claimed_at: new Date(now()).toISOString(),
      ...(bought?.intent ?? specimen.intent()),
    }),
    lost: (intent: Intent): Lost => ({
      ...intent,
      claimed_at: new Date(now()).toISOString(),
      fingerprint: '0'.repeat(64),
    }),
    tallies: (): Promised[] => [once, durable, quiet, free, buying, timely, secret].map((tally) => tally.promised()),
    async close(): Promise<void> {
      await Promise.all([own.close(), other.close(), echo.close()]);
      await rm(scratch, { recursive: true, force: true });
    },
  };
}
export type Bench = Awaited<ReturnType<typeof openBench>>;

const ALLOWED = ['PROVIDER_UNREACHABLE', 'PROVIDER_PROTOCOL', 'CREDENTIAL_REFUSED'];

/** Longer than any limit that is set here: what has not ended by then does not end. */
const LATE_MS = PATIENT_MS + 5_000;

type Ended<T> = { answer: T } | { error: unknown } | { late: true };

const end = <T>(running: Promise<T>): Promise<Ended<T>> =>
  within<Ended<T>, Ended<T>>(
    LATE_MS,
    running.then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error }),
    ),
    { late: true },
  );

const firstLine = (error: unknown): string => String(error instanceof Error ? error.message : error).split('\n')[0]!;

function wordsOf(outcome: SubmitOutcome): string {
  return 'reason' in outcome ? `${outcome.outcome} (${outcome.reason})` : outcome.outcome;
}

const brief = (answer: unknown): string => {
  const text = JSON.stringify(answer) ?? 'nothing';
  return text.length <= 120 ? text : `${text.slice(0, 120)}…`;
};
