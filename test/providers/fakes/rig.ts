import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createHttpProvider } from '../../../src/providers/http/http-provider.ts';
import { loadMapping } from '../../../src/providers/http/load.ts';
import type { Lost, Provider, Submission, Task } from '../../../src/providers/provider.ts';
import { installed, run } from '../../media/rig.ts';
import { recorder } from '../exec-rig.ts';
import { type Asked, media } from './server.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** The mapping that comes with the program under this name, or the example to copy. */
const fileOf = (name: string): string =>
  join(
    ROOT,
    ['fal', 'replicate', 'elevenlabs'].includes(name) ? 'src/providers/http/mappings' : 'docs/mappings',
    `${name}.json`,
  );

/** What a step asks for. */
export interface Order {
  kind: string;
  params: Record<string, unknown>;
  inputs?: Submission['inputs'];
  attempt?: string;
}

/** A provider by one of our mappings, whose servers are fakes. */
export async function deskOf(
  name: string,
  { servers, credentials }: { servers: Record<string, string>; credentials: Record<string, string> },
) {
  const read = async () => JSON.parse(readFileSync(fileOf(name), 'utf8'));
  const mapping = await loadMapping(name, { mapping: './mapping.json', env: Object.keys(credentials), servers }, read);
  const provider: Provider = createHttpProvider({
    name,
    mapping,
    servers,
    credentials,
    allowPrivate: true,
    now: Date.now,
    interrupted: new AbortController().signal,
  });
  const directory = (): string => {
    const made = mkdtempSync(join(tmpdir(), `episode-${name}-`));
    onTestFinished(() => rmSync(made, { recursive: true, force: true }));
    return made;
  };
  const intent = ({ kind, params, attempt = 'att-1' }: Order) => ({
    attempt_id: attempt,
    client_ref: `ep-${attempt}`,
    kind,
    params,
  });
  return {
    provider,
    /** Its outcome, and the task under which it is asked about from then on. */
    async submit(order: Order) {
      let task: Task = { ...intent(order), ref: '', checkpoint: null, claimed_at: new Date().toISOString() };
      const { events, log } = recorder({
        accepted: async (ref: string, kept: Task['checkpoint'] = null) => {
          task = { ...task, ref, checkpoint: kept };
        },
      });
      const { inputs = [] } = order;
      const submission = { ...intent(order), inputs, output_dir: directory(), checkpoint: null };
      const outcome = await provider.submit(submission, events, new AbortController().signal);
      expect(log[0] ?? 'nothing', 'nothing is sent before it is announced').toMatch(/^(sending|nothing)$/);
      return { outcome, task };
    },
    /** What is asked about when only its reference is known. */
    task: (order: Order, ref: string): Task => ({
      ...intent(order),
      ref,
      checkpoint: null,
      claimed_at: new Date().toISOString(),
    }),
    lost: (order: Order, claimedAt = new Date()): Lost => ({
      ...intent(order),
      claimed_at: claimedAt.toISOString(),
      fingerprint: 'f',
    }),
    /** The bytes of its one result; fails when they cannot be decoded. */
    async bring(task: Task): Promise<Buffer> {
      const files = await provider.fetch(task, directory());
      if (files === 'expired') throw new Error('the result has expired');
      expect(files).toHaveLength(1);
      return decoded(files[0]!.path);
    },
    fetch: (task: Task) => provider.fetch(task, directory()),
    /** A file that a step is given. */
    async picture(): Promise<string> {
      const path = join(directory(), 'still.png');
      writeFileSync(path, (await media()).image);
      return path;
    },
  };
}

export async function decoded(path: string): Promise<Buffer> {
  await run(installed[0]!.path, ['-v', 'error', '-xerror', '-i', path, '-f', 'null', '-']);
  return readFileSync(path);
}

/** What of a request its API looks at. Which headers that are is the API's, so the test says it. */
export const essence = ({ method, path, query, headers, json }: Asked, names: readonly string[]) => ({
  method,
  path,
  query: Object.fromEntries([...query].sort()),
  headers: Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))),
  json,
});

/** What a task is said to be, the next times it is asked. */
export async function statesOf(provider: Provider, task: Task, times: number): Promise<string[]> {
  const states: string[] = [];
  for (let time = 0; time < times; time += 1) states.push((await provider.status(task)).state);
  return states;
}

export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => new Error(`no failure, but ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
