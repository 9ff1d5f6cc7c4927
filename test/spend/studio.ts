import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { answer, MAPPING, type Respond, serve } from '../providers/http-rig.ts';
import { episode, makeShow, type Answer as Printed, type RunOptions, start } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { ID } from './rig.ts';

export const SECRET = 'sk-live-"quoted"/+=%41 key';
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A provider whose tasks are done at once, with a show that uses it. */
export async function makeStudio(
  respond: Partial<Record<'submit' | 'status' | 'result' | 'file' | 'list', Respond>> = {},
) {
  const tasks = new Map<string, { tag: string; input: unknown; made: string }>();
  const server = await serve((received, response, request) => {
    const { method, url, json } = received;
    const say = (status: number, body: unknown) => answer(status, body)(received, response, request);
    if (!url.startsWith('/f/') && received.headers.authorization !== `Key ${SECRET}`)
      return say(401, { detail: 'bad key' });
    if (method === 'POST') {
      const { tag, input } = json as { tag: string; input: unknown };
      const id = `job-${tasks.size + 1}`;
      tasks.set(id, { tag, input, made: new Date().toISOString() });
      return (respond.submit ?? (() => say(201, { id, price: 0.04 })))(received, response, request);
    }
    if (url.startsWith('/f/')) {
      return (respond.file ?? answer(200, PNG, { 'content-type': 'image/png' }))(received, response, request);
    }
    if (url.endsWith('/result')) {
      return (respond.result ?? (() => say(200, { files: [{ url: `http://${received.headers.host}/f/still.png` }] })))(
        received,
        response,
        request,
      );
    }
    if (url.startsWith('/v1/jobs?')) {
      return (respond.list ?? (() => say(200, { jobs: [...tasks].map(([id, task]) => ({ id, ...task })) })))(
        received,
        response,
        request,
      );
    }
    if (url.startsWith('/v1/bills/')) return say(200, { total: 0.0399, currency: 'USD' });
    return (respond.status ?? (() => say(200, { state: 'ready' })))(received, response, request);
  });
  const studio = {
    type: 'http',
    mapping: './mappings/studio.json',
    env: ['STUDIO_KEY'],
    servers: { api: `${server.address}/v1` },
  };
  const root = await makeShow({ config: { budget: { per_episode: '1.00' }, providers: { studio } } });
  mkdirSync(join(root, 'mappings'));
  writeFileSync(join(root, 'mappings/studio.json'), JSON.stringify({ ...MAPPING, provider: 'studio' }));
  const plan = {
    format: 1,
    steps: [
      {
        id: 's1',
        provider: 'studio',
        kind: 'image',
        params: { model: 'acme/painter', prompt: 'a harbour' },
        estimate: { amount: '0.05', unit: 'USD' },
      },
    ],
  };
  writeFileSync(join(root, 'plan.json'), JSON.stringify(plan));
  const withKey = (options: RunOptions = {}) => ({ ...options, env: { STUDIO_KEY: SECRET, ...options.env } });
  const line = (...args: string[]) => runLine(root, args, { env: { STUDIO_KEY: SECRET } });
  async function allocate(key: string): Promise<string> {
    const allocated = await line('allocate', '--key', key, '--week', '2026-W32', '--plan', 'plan.json');
    expect([allocated.code, allocated.stderr]).toEqual([0, '']);
    return allocated.stdout.trim();
  }
  await allocate('release-1');
  return {
    root,
    tasks,
    received: server.received,
    submissions: () => server.received.filter(({ method }) => method === 'POST').length,
    /** A process of the program. */
    run: (...args: string[]) => episode(root, args, withKey()),
    /** The same answer in this process. */
    line,
    start: (args: string[], options?: RunOptions) => start(root, args, withKey(options)),
    async json(code: number, ...args: string[]): Promise<Printed> {
      const ran = await line(...args, '--json');
      expect({ code: ran.code, said: ran.code === code ? '' : ran.stderr }).toEqual({ code, said: '' });
      return ran.json;
    },
    allocate,
    record: (id = ID) => JSON.parse(readFileSync(join(root, `state/2026-W32/${id}.json`), 'utf8')),
  };
}
