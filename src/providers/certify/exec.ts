import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EpisodeError } from '../../errors.ts';
import { Cancellation, Lookup, Price, RemoteStatus, SubmitOutcome } from '../../model/protocol.ts';
import { PROTOCOL, type Sheet } from '../../model/sheet.ts';
import { type ExecBench, type ExecTrial, request, submissionOf } from './exec-bench.ts';
import { tryKills } from './exec-kills.ts';
import { type Heard, retold, talk } from './exec-talk.ts';
import { everythingIn, madeUp, UNKNOWN_REF, watchFor } from './made-up.ts';
import { type Promised, Tally } from './promised.ts';

const GRACE_MS = 5_000;

const PARTS = ['input', 'kills', 'unknown', 'files'] as const;
type Part = (typeof PARTS)[number];

/**
 * Tries an executable adapter with made-up values for its variables. It is really started, in the show's directory, with an
 * empty directory as its HOME, so that it finds no credential of its own there. `parts`: all that is tried beside its sheet
 * and one submission.
 */
export async function certifyExec(trial: ExecTrial, parts: readonly Part[] = PARTS): Promise<Promised[]> {
  const { name, command, cwd, port, graceMs = GRACE_MS } = trial;
  const promises: Promised[] = [];
  const promise: ExecBench['promise'] = (id, says, holds, seen) => {
    trial.interrupted?.throwIfAborted();
    promises.push({ id, says, holds, seen });
  };
  const scratch = await mkdtemp(join(tmpdir(), 'episode-certify-'));
  const secrets = Object.fromEntries(trial.variables.map((variable) => [variable, madeUp(variable, port.random)]));
  const env = { ...secrets, HOME: scratch };
  const notes: string[] = [];
  const provider = trial.create({ ...trial, env, onNote: (line) => notes.push(line) });
  const watch = watchFor(secrets);
  const secret = new Tally('secrets/nowhere', 'the values of its variables show in nothing that it says, nor encoded');
  const unseen = (what: string, said: unknown): void => {
    const leak = watch.leak(everythingIn(said));
    secret.add(what, leak === null ? null : `it shows $${leak}`);
  };
  const gone = new Tally('process/group', 'nothing of its process group outlives an operation');
  try {
    let sheet: Sheet;
    try {
      sheet = await provider.describe();
    } catch (error) {
      if (!(error instanceof EpisodeError)) throw error;
      // Whether it can be started at all is the configuration's, not the protocol's.
      if (error.code === 'PROVIDER_CONFIGURATION') throw error;
      promise('sheet/valid', `"describe" answers a sheet of ${PROTOCOL}`, false, error.message);
      return promises;
    }
    promise('sheet/valid', `"describe" answers a sheet of ${PROTOCOL}`, true, `${sheet.provider} ${sheet.version}`);
    const started = { command, cwd, env, graceMs };
    const bench: ExecBench = { ...trial, started, provider, sheet, scratch, promise, unseen, gone };
    if (parts.includes('input')) await tryInput(bench);
    const events = await trySubmit(bench);
    if (parts.includes('kills')) await tryKills(bench, events);
    if (parts.includes('unknown')) await tryUnknown(bench);
    if (parts.includes('files')) await tryWhole(bench);
    unseen('stderr', notes);
    for (const [id, says] of NOT_OBSERVABLE)
      promise(id, says, null, `${name} sends by itself; nobody sees it from here`);
    return [...promises, gone.promised(), secret.promised()];
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const NOT_OBSERVABLE = [
  ['sending/before-ack', 'nothing that costs money is sent before "sending" is acknowledged'],
  ['sending/once', 'one submission makes at most one request that can cost money'],
  ['sending/no-retry', 'it never sends again by itself, and follows no redirect'],
  ['sending/released', 'what it calls released was not accepted'],
] as const;

/** It ended by itself, and claimed no success. */
const hasGivenUp = ({ answer, isLate }: Heard): boolean => !isLate && answer?.ok !== true;

async function tryInput({ started, promise }: ExecBench): Promise<void> {
  const trials: [string, string, object[], boolean][] = [
    ['nothing', 'no request at all: it ends', [], false],
    ['no-request', 'a line that is no request: an error, or its end', [['certify', 'no request']], true],
    ['unknown-op', 'an operation that it does not know: an error, or its end', [request('certify', {})], true],
  ];
  for (const [id, says, said, isOpen] of trials) {
    // What waits for more input after garbage gets its end.
    const heard = await talk(started, said, { isOpen: isOpen && id !== 'no-request', onEvent: () => false });
    promise(`input/${id}`, says, hasGivenUp(heard) && heard.events.length === 0, retold(heard));
  }
  const long = request('status', { ref: UNKNOWN_REF, checkpoint: { certify: 'x'.repeat(1_000_000) } });
  const heard = await talk(started, [long]);
  promise('input/long', 'a request of nearly 1 MiB is read and answered', heard.answer !== null, retold(heard));
}

/** One whole submission as it goes; the events it announced. */
async function trySubmit(bench: ExecBench): Promise<string[]> {
  const { started, sheet, promise } = bench;
  const heard = await talk(started, [request('submit', await submissionOf(bench, 'whole'))]);
  const { events, answer, breach } = heard;
  promise(
    'lines/limit',
    'every line is an event or an answer of the protocol, of at most 1 MiB',
    breach === null,
    breach ?? retold(heard),
  );
  const outcome = answer?.ok ? SubmitOutcome.safeParse(answer.result) : null;
  promise('submit/outcome', '"submit" answers an outcome', outcome?.success ?? (answer ? null : false), retold(heard));
  const names = events.map(({ event }) => event);
  const ascending = events.every(({ seq }, index) => index === 0 || seq > events[index - 1]!.seq);
  const isOnce = ['sending', 'accepted'].every((name) => names.filter((one) => one === name).length <= 1);
  promise(
    'submit/order',
    'events come once, with ascending numbers',
    events.length === 0 ? null : ascending && isOnce,
    names.join(', ') || 'it announced nothing',
  );
  if (!outcome?.success) return names;
  const { data } = outcome;
  if (sheet.capabilities.announces_sending) {
    const sending = names.indexOf('sending');
    const accepted = names.indexOf('accepted');
    const isSent = data.outcome !== 'released' || accepted >= 0;
    const isRight = sending >= 0 && (accepted < 0 || sending < accepted);
    promise(
      'submit/announces',
      '"sending" comes before anything is accepted, as its sheet promises',
      isSent ? isRight : sending >= 0 || null,
      names.join(', ') || data.outcome,
    );
  }
  const announced = events.find((event) => event.event === 'accepted');
  if (announced?.event === 'accepted') {
    const agrees =
      (data.outcome === 'accepted' || data.outcome === 'completed') && (data.ref ?? announced.ref) === announced.ref;
    promise('submit/reference', 'its outcome agrees with the reference that it announced', agrees, retold(heard));
  }
  return names;
}

/** Everything about a task that nobody has. */
async function tryUnknown(bench: ExecBench): Promise<void> {
  const { started, sheet, promise, port } = bench;
  const { capabilities } = sheet;
  const found = {
    client_ref: 'certify-nobody',
    claimed_at: new Date(port.now()).toISOString(),
    fingerprint: '0'.repeat(64),
  };
  const trials: [string, object, boolean, string, (result: unknown) => boolean][] = [
    [
      'status',
      { ref: UNKNOWN_REF },
      true,
      'not_found',
      (result) => RemoteStatus.safeParse(result).data?.state === 'not_found',
    ],
    [
      'lookup',
      found,
      capabilities.lookup?.supported === true,
      'not present',
      (result) => !['present', undefined].includes(Lookup.safeParse(result).data?.found),
    ],
    [
      'cancel',
      { ref: UNKNOWN_REF },
      (capabilities.cancel ?? 'none') !== 'none',
      'nothing definite',
      (result) => Cancellation.safeParse(result).data?.definite === false,
    ],
    [
      'cost',
      { ref: UNKNOWN_REF },
      (capabilities.cost ?? 'none') !== 'none',
      'a price, or null',
      (result) => Price.safeParse(result).success,
    ],
  ];
  for (const [op, args, isOffered, wanted, isRight] of trials) {
    const says = `"${op}" of a task that nobody has: ${wanted}`;
    if (!isOffered) {
      promise(`unknown/${op}`, says, null, 'its sheet does not offer it');
      continue;
    }
    const heard = await talk(started, [request(op, args)]);
    const { answer } = heard;
    // With made-up credentials an error may be all that it can say.
    promise(`unknown/${op}`, says, answer === null ? false : answer.ok ? isRight(answer.result) : null, retold(heard));
  }
  const fetched = await talk(started, [
    request('fetch', { ref: UNKNOWN_REF, output_dir: await mkdtemp(join(bench.scratch, 'out-')) }),
  ]);
  promise(
    'unknown/fetch',
    '"fetch" of a task that nobody has: an error',
    !fetched.isLate && fetched.answer?.ok !== true,
    retold(fetched),
  );
}

/** As many times as a task is asked about until it is done, without waiting between. */
const POLLS = 4;

/** A submission through to its files, where made-up credentials get as far as that. */
async function tryWhole(bench: ExecBench): Promise<void> {
  const { provider, promise, scratch } = bench;
  const says = 'files lie inside "output_dir"';
  const submission = { ...(await submissionOf(bench, 'files')), checkpoint: null };
  const outcome = await provider.submit(submission, quietly, new AbortController().signal);
  bench.unseen('submit', outcome);
  if (outcome.outcome === 'completed') return promise('files/inside', says, true, `${outcome.files.length} files`);
  if (outcome.outcome === 'unknown' && outcome.reason === 'protocol')
    return promise('files/inside', says, false, outcome.message ?? '');
  if (outcome.outcome !== 'accepted')
    return promise('files/inside', says, null, `the outcome was ${outcome.outcome} (${outcome.reason})`);
  const task = { ...submission, ref: outcome.ref, claimed_at: new Date(bench.port.now()).toISOString() };
  try {
    for (let poll = 1; poll <= POLLS; poll += 1) {
      const status = await provider.status(task);
      bench.unseen('status', status);
      if (status.state === 'done') {
        const files = await provider.fetch(task, await mkdtemp(join(scratch, 'out-')));
        bench.unseen('fetch', files);
        return promise(
          'files/inside',
          says,
          files === 'expired' ? null : true,
          files === 'expired' ? files : `${files.length} files`,
        );
      }
    }
    promise('files/inside', says, null, 'the task was not done at once');
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    bench.unseen('an error', error);
    promise('files/inside', says, error.code === 'PROVIDER_PROTOCOL' ? false : null, error.message);
  }
}

const quietly = {
  started: async () => {},
  checkpoint: async () => {},
  sending: async () => {},
  accepted: async () => {},
  progress: () => {},
};
