import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EpisodeError } from '../../errors.ts';
import { SubmitOutcome } from '../../model/protocol.ts';
import type { HttpProviderOptions } from '../http/http-provider.ts';
import type { Mapping } from '../http/mapping.ts';
import type { Lost, Provider, Submission, SubmitEvents, Task } from '../provider.ts';
import { type FaultServer, openFaultServer, type Received, type Reply, roundTrip, type Scene } from './fault-server.ts';
import { everythingIn, madeUp, watchFor } from './made-up.ts';
import { type Promised, Tally, within, wordsOf } from './promised.ts';
import { say } from './replies.ts';
import { type Intent, type Specimen, specimenOf } from './specimen.ts';

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
/** Longer than any limit that is set here: what has not ended by then does not end. */
const LATE_MS = PATIENT_MS + 5_000;
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
}

export interface Asked<T> {
  answer: T | null;
  error: EpisodeError | null;
  what: string;
  requests: Received[];
}

export type How = { hasty?: boolean; servers?: Record<string, string>; allowPrivate?: boolean; scene?: Partial<Scene> };

/** The promises that every trial is about, in the order in which they are told. */
const tallies = () => ({
  once: new Tally('submit/once', 'one submission makes at most one request, whatever becomes of it'),
  durable: new Tally('submit/sending-first', 'no byte is sent before "sending" is durable'),
  quiet: new Tally('submit/never-throws', 'every failure of a submission is an outcome of the protocol'),
  free: new Tally('free/errors', 'free operations fail as unreachable, protocol or credential, nothing else'),
  buying: new Tally('free/never-buys', 'no free operation repeats the request of a submission'),
  timely: new Tally('limits/time', 'no operation outlasts its time limit'),
  secret: new Tally('secrets/nowhere', 'the credential shows in no outcome, evidence, event or error, nor encoded'),
});

/** What a trial stands on: it is opened before it, and closed after the last. */
interface Stage {
  own: FaultServer;
  other: FaultServer;
  echo: FaultServer;
  scratch: string;
  inputs: Submission['inputs'];
}

/** A provider on a bench: what it is asked, what it is answered, and what was seen of its promises. */
export class Bench {
  readonly mapping: Mapping;
  readonly specimen: Specimen;
  readonly now: () => number;
  readonly watch: ReturnType<typeof watchFor>;
  /** Stands in the place of all servers of the mapping. */
  readonly own: FaultServer;
  /** Nobody's that the mapping names. */
  readonly other: FaultServer;
  private readonly trial: HttpTrial;
  private readonly stage: Stage;
  private readonly credentials: Record<string, string>;
  private readonly promises: Promised[] = [];
  private readonly tallies = tallies();
  private rooms = 0;
  /** The first submission that was accepted: free operations ask about it. */
  private bought: { intent: Intent; request: Received } | undefined;

  static async open(trial: HttpTrial): Promise<Bench> {
    const [own, other, echo] = await Promise.all([openFaultServer(), openFaultServer(), openFaultServer()]);
    echo.play({ reply: say({ status: 200 }) });
    const specimen = specimenOf(trial.mapping, own.origin, trial.params);
    const scratch = await mkdtemp(join(tmpdir(), 'episode-certify-'));
    const path = join(scratch, 'input.png');
    await writeFile(path, 'made up');
    const inputs = specimen.inputs.map((name) => ({ name, path, sha256: '0'.repeat(64) }));
    return new Bench(trial, specimen, { own, other, echo, scratch, inputs });
  }

  private constructor(trial: HttpTrial, specimen: Specimen, stage: Stage) {
    const { mapping, now, random } = trial;
    const credentials = mapping.credentials.map((name) => [name, madeUp(name, random)]);
    this.trial = trial;
    this.mapping = mapping;
    this.now = now;
    this.specimen = specimen;
    this.stage = stage;
    this.own = stage.own;
    this.other = stage.other;
    this.credentials = Object.fromEntries(credentials);
    this.watch = watchFor(this.credentials);
  }

  async close(): Promise<void> {
    const { own, other, echo, scratch } = this.stage;
    await Promise.all([own.close(), other.close(), echo.close()]);
    await rm(scratch, { recursive: true, force: true });
  }

  promise(id: string, says: string, holds: boolean | null, seen: string): void {
    this.promises.push({ id, says, holds, seen });
  }

  promised(): Promised[] {
    return [...this.promises, ...Object.values(this.tallies).map((tally) => tally.promised())];
  }

  /** One submission, and what it says of the promises that every submission is about. */
  submit(trial: string, reply: Reply, how: How = {}): Promise<Submitted> {
    return this.patiently(how, (timeoutMs) => this.submitOnce(trial, reply, how, timeoutMs));
  }

  /** One free operation, and what it says of the promises that every free operation is about. */
  ask<T>(trial: string, reply: Reply, op: (provider: Provider) => Promise<T>, how: How = {}): Promise<Asked<T>> {
    return this.patiently(how, (timeoutMs) => this.askOnce(trial, reply, () => op(this.provider(how, timeoutMs)), how));
  }

  task(ref: string, checkpoint: Task['checkpoint'] = null): Task {
    const intent = this.bought?.intent ?? this.specimen.intent();
    return { ref, checkpoint, claimed_at: new Date(this.now()).toISOString(), ...intent };
  }

  lost(intent: Intent): Lost {
    return { ...intent, claimed_at: new Date(this.now()).toISOString(), fingerprint: '0'.repeat(64) };
  }

  /** All servers of the mapping, in one place. */
  at(origin: string): Record<string, string> {
    return Object.fromEntries(Object.keys(this.mapping.servers).map((server) => [server, `${origin}/${server}`]));
  }

  /** An empty directory. */
  async room(): Promise<string> {
    this.rooms += 1;
    const path = join(this.stage.scratch, `out-${this.rooms}`);
    await mkdir(path);
    return path;
  }

  private provider({ servers = this.at(this.own.origin), allowPrivate = false }: How, timeoutMs: number): Provider {
    const { name, mapping, create, now } = this.trial;
    const bounded = { ...mapping, limits: { ...mapping.limits, result_bytes: RESULT_BYTES } };
    return create({ name, mapping: bounded, servers, credentials: this.credentials, allowPrivate, now, timeoutMs });
  }

  private async patiently<T extends { requests: Received[] }>(
    { hasty = false }: How,
    attempt: (timeoutMs: number) => Promise<T>,
  ): Promise<T> {
    this.trial.interrupted.throwIfAborted();
    if (!hasty) return attempt(PATIENT_MS);
    const [first, ...others] = HASTY_MS;
    let seen = await attempt(first!);
    for (const timeoutMs of others) if (seen.requests.length === 0) seen = await attempt(timeoutMs);
    return seen;
  }

  private async submitOnce(trial: string, reply: Reply, how: How, timeoutMs: number): Promise<Submitted> {
    const heard: Heard = { sending: null, isDurable: false, isEarly: false, accepted: [], said: [] };
    const { requests } = this.own.play({
      reply,
      ...how.scene,
      atFirstByte: () => {
        heard.isEarly ||= !heard.isDurable;
      },
    });
    const intent = this.specimen.intent();
    const submission = { ...intent, inputs: this.stage.inputs, output_dir: await this.room(), checkpoint: null };
    const running = this.provider(how, timeoutMs).submit(submission, this.hearing(heard), new AbortController().signal);
    const ended = await end(running);
    // Whoever did not wait for it leaves it behind; the next trial, or the end of the bench, is not its place.
    await heard.sending;
    const parsed = SubmitOutcome.safeParse('answer' in ended ? ended.answer : null);
    const outcome = parsed.success ? parsed.data : null;
    const what = outcome ? wordsOf(outcome) : 'error' in ended ? `it threw ${firstLine(ended.error)}` : 'no outcome';
    const isBought = outcome?.outcome === 'accepted' || outcome?.outcome === 'completed';
    if (isBought && requests[0]) this.bought ??= { intent, request: requests[0] };
    const { once, durable, quiet } = this.tallies;
    once.add(trial, requests.length > 1 ? `${requests.length} requests arrived` : null);
    durable.add(trial, heard.isEarly ? 'bytes arrived before it' : null);
    quiet.add(trial, outcome === null && !('late' in ended) ? what : null);
    this.tallyEnd(trial, ended, heard.said);
    return { outcome, what, requests, accepted: heard.accepted, intent };
  }

  /** The events of a submission; "sending" takes twice as long as a request needs to get there that did not wait. */
  private hearing(heard: Heard): SubmitEvents {
    const { echo } = this.stage;
    return {
      started: async () => {},
      checkpoint: async (data) => void heard.said.push(data),
      sending() {
        heard.sending = (async () => {
          await roundTrip(echo);
          await roundTrip(echo);
          heard.isDurable = true;
        })();
        return heard.sending;
      },
      async accepted(ref, kept) {
        heard.accepted.push(ref);
        heard.said.push(ref, kept);
      },
      progress: () => {},
    };
  }

  private async askOnce<T>(trial: string, reply: Reply, op: () => Promise<T>, how: How): Promise<Asked<T>> {
    const { requests } = this.own.play({ reply, ...how.scene });
    const ended = await end(op());
    const answer = 'answer' in ended ? ended.answer : null;
    const thrown = 'error' in ended ? ended.error : null;
    const error = thrown instanceof EpisodeError ? thrown : null;
    const { free, buying } = this.tallies;
    const isAllowed = thrown === null || (error !== null && ALLOWED.includes(error.code));
    free.add(trial, isAllowed ? null : `it threw ${error?.code ?? firstLine(thrown)}`);
    const buys = requests.some((request) => this.isBuying(request));
    buying.add(trial, buys ? 'it sent the very request of a submission' : null);
    this.tallyEnd(trial, ended, []);
    const threw = error ? error.code : thrown ? `it threw ${firstLine(thrown)}` : null;
    return { answer, error, what: threw ?? (answer === null ? 'no answer' : brief(answer)), requests };
  }

  private isBuying({ method, path, body }: Received): boolean {
    const request = this.bought?.request;
    return request !== undefined && method === request.method && path === request.path && body.equals(request.body);
  }

  private tallyEnd(trial: string, ended: Ended<unknown>, said: unknown[]): void {
    const { timely, secret } = this.tallies;
    timely.add(trial, 'late' in ended ? 'it had not ended' : null);
    const leak = this.watch.leak([...said, ...Object.values(ended)].map(everythingIn).join('\n'));
    secret.add(trial, leak === null ? null : `it shows {credential.${leak}}`);
  }
}

/** What a provider announced while it submitted. */
interface Heard {
  sending: Promise<void> | null;
  isDurable: boolean;
  /** Bytes arrived before "sending" was durable. */
  isEarly: boolean;
  accepted: string[];
  said: unknown[];
}

const ALLOWED = ['PROVIDER_UNREACHABLE', 'PROVIDER_PROTOCOL', 'CREDENTIAL_REFUSED'];

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

const brief = (answer: unknown): string => {
  const text = JSON.stringify(answer) ?? 'nothing';
  return text.length <= 120 ? text : `${text.slice(0, 120)}…`;
};
