import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import type { ProcessIdentity } from '../../src/port.ts';
import { createExecProvider, type ExecProviderOptions } from '../../src/providers/exec/exec-provider.ts';
import type { Submission, SubmitEvents, Task } from '../../src/providers/provider.ts';

export const ADAPTER = fileURLToPath(new URL('../../fixtures/bin/adapter.mjs', import.meta.url));

/** State letter and process group of a process, from `/proc/PID/stat`; `undefined` once it was reaped. */
function processStat(pid: number): { state: string; group: number } | undefined {
  if (!existsSync(`/proc/${pid}/stat`)) return undefined;
  const [state = '', , group] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  return { state, group: Number(group) };
}

export const groupOf = (pid: number): number | undefined => processStat(pid)?.group;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves as soon as `condition` holds; fails after 20 s. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`still not: ${what}`);
    await sleep(5);
  }
}

/** Reaped, so that its end has also been reported to its parent. */
export const untilReaped = (pid: number): Promise<void> => until(() => !processStat(pid), `${pid} reaped`);

/** Dead; an orphan may stay a zombie where nothing reaps. */
export const untilDead = (pid: number): Promise<void> =>
  until(() => ['Z', 'X', undefined].includes(processStat(pid)?.state), `${pid} dead`);

/** A task that was accepted under this reference. */
export const task = (ref: string, checkpoint: Task['checkpoint'] = null): Task => ({
  ref,
  checkpoint,
  attempt_id: 'att-1',
  client_ref: 'client-1',
  kind: 'text',
  params: {},
  claimed_at: '2026-08-07T09:00:00Z',
});

/** A ledger that takes everything, and what it was told in order. */
export function recorder(overrides: Partial<SubmitEvents> = {}) {
  const log: string[] = [];
  let pid = 0;
  const told =
    <A extends unknown[]>(name: string, then?: (...args: A) => unknown) =>
    async (...args: A): Promise<void> => {
      log.push(name);
      await then?.(...args);
    };
  const events: SubmitEvents = {
    started: told('started', (process: ProcessIdentity) => {
      pid = process.pid;
      return overrides.started?.(process);
    }),
    checkpoint: told('checkpoint', overrides.checkpoint),
    sending: told('sending', overrides.sending),
    accepted: told('accepted', overrides.accepted),
    progress: (fraction) => overrides.progress?.(fraction),
  };
  return { events, log, pid: () => pid };
}

export const NEVER = new AbortController().signal;

const roots: string[] = [];
afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

/** A show's root with an output directory, and a provider that speaks to the scripted adapter. */
export function rig(scenario: object = {}, options: Partial<ExecProviderOptions> = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'exec-')));
  roots.push(root);
  const home = join(root, 'adapter-home');
  const out = join(root, 'out');
  mkdirSync(home);
  mkdirSync(out);
  const scenarioFile = join(root, 'scenario.json');
  const script = (next: object): void => writeFileSync(scenarioFile, JSON.stringify(next));
  script(scenario);

  const notes: string[] = [];
  const provider = createExecProvider({
    name: 'house',
    command: [ADAPTER],
    cwd: root,
    onNote: (line) => notes.push(line),
    identify: (pid) => ({ host: 'here', boot: 'now', pid, started: '1' }),
    ...options,
    env: { ADAPTER_HOME: home, ADAPTER_SCENARIO: scenarioFile, ...options.env },
  });

  const read = (name: string): string => (existsSync(join(home, name)) ? readFileSync(join(home, name), 'utf8') : '');
  const records = (name: string) =>
    read(name)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  const submission = (params: Record<string, unknown> = {}): Submission => ({
    attempt_id: 'attempt-1',
    client_ref: 'client-1',
    kind: 'text',
    params,
    inputs: [],
    output_dir: out,
    checkpoint: null,
  });

  let attempts = 0;
  /** One of many submissions to the same provider, with a scenario of its own. */
  async function attempt(own: object, events = recorder().events) {
    attempts += 1;
    const attempt_id = `attempt-${attempts}`;
    const outcome = await provider.submit({ ...submission({ scenario: own }), attempt_id }, events, NEVER);
    const mine = (record: { attempt_id: string }) => record.attempt_id === attempt_id;
    return {
      outcome,
      submissions: records('submissions.jsonl').filter(mine),
      faults: records('fired.jsonl').filter(mine),
    };
  }

  return {
    provider,
    root,
    out,
    notes,
    script,
    submission,
    attempt,
    submit: (params?: Record<string, unknown>, events = recorder().events, signal = NEVER) =>
      provider.submit(submission(params), events, signal),
    /** Submissions that would be charged. */
    submissions: () => records('submissions.jsonl'),
    /** Scripted faults that happened: a fault that did not is no proof of anything. */
    fired: (point: string): { time: string }[] => records('fired.jsonl').filter((fault) => fault.point === point),
    dump: () => JSON.parse(read('dump.json')),
    grandchild: () => Number(read('grandchild.pid')),
  };
}
