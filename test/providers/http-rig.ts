import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import * as z from 'zod/mini';
import { createHttpProvider, type HttpProviderOptions } from '../../src/providers/http/http-provider.ts';
import { Mapping } from '../../src/providers/http/mapping.ts';
import type { Lost, Submission, SubmitEvents, Task } from '../../src/providers/provider.ts';
import { recorder } from './exec-rig.ts';

export interface Received {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
  json: unknown;
}

const endings: (() => void)[] = [];
afterAll(() => {
  for (const end of endings.splice(0)) end();
});
/** Done after the tests of the file: `onTestFinished` would end what other concurrent tests still use. */
export const atEnd = (end: () => void): void => void endings.push(end);

export type Respond = (received: Received, response: ServerResponse, request: IncomingMessage) => unknown;

/** A real HTTP server on loopback that answers by `respond` and remembers what it was asked. */
export async function serve(respond: Respond) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    let json: unknown;
    try {
      json = JSON.parse(body.toString());
    } catch {}
    const one = { method: request.method!, url: request.url!, headers: request.headers, body, json };
    received.push(one);
    await respond(one, response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

export const answer =
  (status: number, body: unknown = {}, headers: Record<string, string> = {}): Respond =>
  (_received, response) => {
    const isText = typeof body === 'string' || Buffer.isBuffer(body);
    response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers });
    response.end(isText ? body : JSON.stringify(body));
  };

/** A small mapping with everything in it. */
export const MAPPING = {
  format: 1,
  provider: 'house',
  version: '1',
  kinds: ['video', 'image', 'text'],
  servers: { api: 'https://api.house.example/v1' },
  credentials: ['key'],
  auth: { type: 'header', name: 'Authorization', value: 'Key {credential.key}' },
  capabilities: { submit: 'async', cancel: 'always', min_poll_seconds: 0 },
  submit: {
    request: {
      method: 'POST',
      server: 'api',
      path: '/{+params.model}/jobs',
      body: { json: { input: { $rest: 'params' }, tag: '{client_ref}' } },
    },
    refused: [
      { when: { status: [403], at: '/detail', matches: 'locked' }, reason: 'insufficient_funds' },
      { when: { status: [429] }, reason: 'throttled' },
      { when: { status: [422] }, reason: 'invalid_input', billable: 'unknown' },
    ],
    ref: '/id',
    keep: { status_url: '/urls/status' },
    cost: { at: '/price', unit: 'USD', basis: 'quoted' },
  },
  status: {
    request: { server: 'api', path: '/jobs/{ref}', kept: 'status_url' },
    state: '/state',
    states: { waiting: 'queued', busy: 'running', ready: 'done', broken: 'error' },
    progress: { at: '/percent', of: 100 },
    cost: { at: '/price', unit: 'USD' },
  },
  result: {
    request: { server: 'api', path: '/jobs/{ref}/result' },
    result: { files: ['/files/*/url', '/file'], text: '/text' },
  },
  cancel: {
    request: { method: 'DELETE', server: 'api', path: '/jobs/{ref}' },
    when: [{ when: { status: [409] }, state: 'done', definite: true }],
  },
  lookup: {
    request: { server: 'api', path: '/jobs', query: { after: '{window.start}', page: '{page?}' } },
    list: { items: '/jobs', next: '/next', made_at: '/made' },
    ref: '/id',
    match: [{ at: '/input', equals: { $rest: 'params' } }],
    exact: [{ at: '/tag', equals: '{client_ref}' }],
  },
  cost: { request: { server: 'api', path: '/bills/{ref}' }, amount: { at: '/total', unit: { at: '/currency' } } },
  balance: { request: { server: 'api', path: '/me' }, amount: { at: '/limit', less: '/used', unit: 'credits' } },
  message: ['/detail', '/error'],
} as const;

export const SECRET = 'sk-house-0123456789/+=';

/** Made-up mapping parts, whatever they are, against a server. */
export async function house(
  respond: Respond,
  { mapping = {}, ...options }: { mapping?: object } & Partial<Omit<HttpProviderOptions, 'mapping'>> = {},
) {
  const server = await serve(respond);
  const out = mkdtempSync(join(tmpdir(), 'episode-http-'));
  atEnd(() => rmSync(out, { recursive: true, force: true }));
  const provider = createHttpProvider({
    name: 'house',
    mapping: z.parse(Mapping, { ...MAPPING, ...mapping }),
    servers: { api: `${server.address}/v1` },
    credentials: { key: SECRET },
    allowPrivate: false,
    now: Date.now,
    ...options,
  });
  const submission = (params: Record<string, unknown> = {}): Submission => ({
    attempt_id: 'att-1',
    client_ref: 'ep-1',
    kind: 'text',
    params: { model: 'acme/writer', prompt: 'a harbour', ...params },
    inputs: [],
    output_dir: out,
    checkpoint: null,
  });
  const task = (more: Partial<Task> = {}): Task => {
    const { attempt_id, client_ref, kind, params } = submission();
    const claimed_at = '2026-08-07T09:00:00Z';
    return { ref: 'job-1', checkpoint: null, attempt_id, client_ref, kind, params, claimed_at, ...more };
  };
  const lost = (more: Partial<Lost> = {}): Lost => {
    const { attempt_id, client_ref, kind, params } = submission();
    const claimed_at = '2026-08-07T09:00:00Z';
    return { attempt_id, client_ref, kind, params, claimed_at, fingerprint: 'f', ...more };
  };
  return {
    ...server,
    out,
    provider,
    task,
    lost,
    submit: (
      params?: Record<string, unknown>,
      events: SubmitEvents = recorder().events,
      more: Partial<Submission> = {},
    ) => provider.submit({ ...submission(params), ...more }, events, new AbortController().signal),
  };
}
