import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EpisodeError } from '../../src/errors.ts';
import { recorder } from './exec-rig.ts';
import { answer, atEnd, house, MAPPING, type Respond, SECRET, serve } from './http-rig.ts';

const failure = async (promise: Promise<unknown>): Promise<EpisodeError> => {
  const error = await promise.then(
    (value) => new Error(`no failure, but ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof EpisodeError)) throw error;
  return error;
};

const accepted = answer(201, { id: 'job-1' });

describe.concurrent('one submission', () => {
  it('sends what the mapping says, once, after "sending" was made durable', async () => {
    const at = await house((received, response, request) => {
      // Whether the event had resolved is known by the time the request is here.
      expect(log).toEqual(['sending']);
      accepted(received, response, request);
    });
    const { events, log } = recorder();
    expect(await at.submit({ steps: 4, style: null }, events)).toEqual({ outcome: 'accepted', ref: 'job-1' });
    expect(log).toEqual(['sending', 'accepted']);
    expect(at.received).toHaveLength(1);
    expect(at.received[0]).toMatchObject({
      method: 'POST',
      url: '/v1/acme/writer/jobs',
      headers: {
        authorization: `Key ${SECRET}`,
        'content-type': 'application/json',
        connection: 'close',
        'accept-encoding': 'identity',
      },
      json: { input: { prompt: 'a harbour', steps: 4, style: null }, tag: 'ep-1' },
    });
  });

  it('is held to every condition of a rule', async () => {
    const refused = [{ when: { at: '/detail', equals: ['locked', 'closed'], matches: '^clo' }, reason: 'x' }];
    const mapping = { submit: { ...MAPPING.submit, refused } };
    for (const [detail, outcome] of [
      ['closed', 'released'],
      ['locked', 'unknown'],
      ['clover', 'unknown'],
    ]) {
      const at = await house(answer(409, { detail }), { mapping });
      expect([detail, (await at.submit()).outcome]).toEqual([detail, outcome]);
    }
  });

  it('goes without a part that its values do not have', async () => {
    const mapping = {
      variables: { app: { of: '{params.org?}', matches: '^[^/]+' } },
      submit: {
        ...MAPPING.submit,
        request: { ...MAPPING.submit.request, path: '/jobs', query: { app: '{variables.app?}' } },
      },
    };
    const at = await house(accepted, { mapping });
    await at.submit();
    await at.submit({ org: 'acme/eu' });
    expect(at.received.map(({ url }) => url)).toEqual(['/v1/jobs', '/v1/jobs?app=acme']);
  });

  it('that no header can carry is not sent', async () => {
    const at = await house(accepted, { credentials: { key: 'sk-\u201ccurly\u201d' } });
    expect(await at.submit()).toMatchObject({ outcome: 'released', reason: 'not_sent' });
    expect(at.received).toEqual([]);
  });

  it('whose text comes as text is a result, and one that comes as a web page is none', async () => {
    const mapping = {
      capabilities: { submit: 'sync' },
      status: undefined,
      submit: { request: MAPPING.submit.request, result: 'bytes' },
    };
    const text = await house(answer(200, 'a harbour', { 'content-type': 'text/plain' }), { mapping });
    const outcome = await text.submit();
    expect(outcome).toMatchObject({ outcome: 'completed', files: [{ mime: 'text/plain' }] });
    expect(readFileSync((outcome as { files: { path: string }[] }).files[0]!.path, 'utf8')).toBe('a harbour');
    const page = await house(answer(200, '<p>sign in', { 'content-type': 'text/html' }), { mapping });
    expect(await page.submit()).toMatchObject({ outcome: 'unknown', reason: 'no_result' });
  });

  it('whose result the disk does not take is the fault of the disk', async () => {
    const mapping = {
      capabilities: { submit: 'sync' },
      status: undefined,
      submit: { request: MAPPING.submit.request, result: 'bytes' },
    };
    const at = await house(answer(200, Buffer.from('film'), { 'content-type': 'video/mp4' }), { mapping });
    rmSync(at.out, { recursive: true });
    await expect(at.submit()).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('sends nothing when "sending" cannot be made durable', async () => {
    const at = await house(accepted);
    const { events } = recorder({ sending: () => Promise.reject(new Error('disk full')) });
    await expect(at.submit({}, events)).rejects.toThrow('disk full');
    expect(at.received).toEqual([]);
  });

  it('makes the reference durable, with what the mapping keeps, before it answers', async () => {
    const at = await house(answer(200, { id: 'job-9', price: 0.0421, urls: { status: 'https://x.example/s' } }));
    const kept: unknown[] = [];
    const { events } = recorder({ accepted: async (...told) => void kept.push(told) });
    const outcome = await at.submit({}, events);
    expect(kept).toEqual([['job-9', { status_url: 'https://x.example/s' }]]);
    expect(outcome).toEqual({
      outcome: 'accepted',
      ref: 'job-9',
      cost: { amount: '0.0421', unit: 'USD', basis: 'quoted' },
    });
  });

  it.each([
    ['a parameter that its path needs', { model: undefined }, /needs params\.model/],
    ['a path that climbs out', { model: '../admin' }, /usable params\.model/],
  ])('is refused before anything is sent without %s', async (_what, params, message) => {
    const at = await house(accepted);
    const { events, log } = recorder();
    expect(await at.submit(params, events)).toMatchObject({
      outcome: 'released',
      reason: 'invalid_input',
      billable: 'no',
      message: expect.stringMatching(message),
    });
    expect([at.received, log]).toEqual([[], []]);
  });

  it('is refused for a kind that the provider does not make', async () => {
    const at = await house(accepted);
    expect(await at.submit({}, recorder().events, { kind: 'audio' })).toMatchObject({
      outcome: 'released',
      reason: 'invalid_input',
    });
    expect(at.received).toEqual([]);
  });

  it.each([400, 401, 402, 403, 404, 405, 410, 413, 414, 415, 422, 431, 451, 429])(
    'answered %i was not accepted',
    async (status) => {
      const at = await house(answer(status, { detail: 'no' }));
      const outcome = await at.submit();
      expect(outcome).toMatchObject({
        outcome: 'released',
        message: `no (status ${status})`,
        billable: status === 422 ? 'unknown' : 'no',
      });
      expect(at.received).toHaveLength(1);
    },
  );

  it('is throttled with the time to wait, in seconds or as a date', async () => {
    const at = await house(answer(429, {}, { 'retry-after': '30' }));
    expect(await at.submit()).toMatchObject({ reason: 'throttled', retry_after: 30 });
    const later = new Date(Date.parse('2026-08-07T09:00:00Z') + 90_000).toUTCString();
    const dated = await house(answer(429, {}, { 'retry-after': later }), {
      now: () => Date.parse('2026-08-07T09:00:00Z'),
    });
    expect(await dated.submit()).toMatchObject({ reason: 'throttled', retry_after: 90 });
  });

  it('without funds is told by the body, where the mapping says so', async () => {
    const at = await house(answer(403, { detail: 'User is locked. Reason: balance' }));
    expect(await at.submit()).toMatchObject({ outcome: 'released', reason: 'insufficient_funds' });
    const other = await house(answer(403, { detail: 'not yours' }));
    expect(await other.submit()).toMatchObject({ outcome: 'released', reason: 'auth' });
  });

  it.each([408, 409, 418, 423, 425, 499, 500, 502, 503, 504, 529, 301, 302, 303, 307, 308])(
    'answered %i may have been accepted, and is not sent again',
    async (status) => {
      const at = await house((received, response, request) => {
        answer(status, { detail: 'locked' }, { location: '/v1/elsewhere' })(received, response, request);
      });
      const outcome = await at.submit();
      expect(outcome).toMatchObject({ outcome: 'unknown', reason: status < 400 ? 'redirect' : `http_${status}` });
      expect(at.received).toHaveLength(1);
    },
  );

  it.each<[string, number, unknown, string]>([
    ['JSON without a reference', 200, { ok: true }, 'no_ref'],
    ['an empty reference', 200, { id: '' }, 'no_ref'],
    ['nothing', 204, '', 'not_json'],
    ['HTML', 200, '<html>maintenance</html>', 'not_json'],
    ['half a document', 200, '{"id":"job', 'not_json'],
  ])('answered with %s is unknown', async (_what, status, body, reason) => {
    const at = await house(answer(status, body as string));
    expect(await at.submit()).toMatchObject({ outcome: 'unknown', reason });
  });

  it('is confirmed by what the mapping asks for in a success', async () => {
    const mapping = {
      submit: {
        ...MAPPING.submit,
        accepted: [{ at: '/code', equals: [0] }],
        refused: [{ when: { at: '/code', equals: [1101] }, reason: 'insufficient_funds' }],
      },
    };
    const respond = (body: object) => house(answer(200, body), { mapping });
    expect(await (await respond({ code: 0, id: 'a' })).submit()).toMatchObject({ outcome: 'accepted', ref: 'a' });
    expect(await (await respond({ code: 1101, id: 'a' })).submit()).toMatchObject({
      outcome: 'released',
      reason: 'insufficient_funds',
    });
    expect(await (await respond({ code: 7, id: 'a' })).submit()).toMatchObject({
      outcome: 'unknown',
      reason: 'not_confirmed',
    });
  });

  it('was not sent where nobody listens or the name is unknown', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const refused = await house(accepted, { servers: { api: `http://127.0.0.1:${port}` } });
    expect(await refused.submit()).toMatchObject({
      outcome: 'released',
      reason: 'not_sent',
      evidence: { code: 'ECONNREFUSED' },
    });
    const nameless = await house(accepted, { servers: { api: 'https://no-such-host.invalid' } });
    expect(await nameless.submit()).toMatchObject({ outcome: 'released', reason: 'not_sent' });
  });

  it('was not sent where TLS does not come about', async () => {
    const plain = await serve(accepted);
    const at = await house(accepted, { servers: { api: plain.address.replace('http:', 'https:') } });
    expect(await at.submit()).toMatchObject({ outcome: 'released', reason: 'not_sent' });
    expect(plain.received).toEqual([]);
  });

  it.each<[string, (socket: import('node:net').Socket) => void, string]>([
    ['a reset after it was read', (socket) => socket.once('data', () => socket.resetAndDestroy()), 'reset'],
    ['an end instead of an answer', (socket) => socket.once('data', () => socket.end()), 'reset'],
    ['half a head', (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-')), 'reset'],
    [
      'half a body',
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":"job-1"}')),
      'truncated',
    ],
    [
      'half a refusal',
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 100\r\n\r\n{')),
      'truncated',
    ],
    [
      'half the chunks',
      (socket) =>
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n')),
      'truncated',
    ],
    ['no HTTP at all', (socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.2\r\n')), 'reset'],
  ])('followed by %s is unknown', async (_what, react, reason) => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => {});
      react(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    atEnd(() => void server.close());
    const at = await house(accepted, {
      servers: { api: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    });
    expect(await at.submit()).toMatchObject({ outcome: 'unknown', reason });
    expect(connections).toBe(1);
  });

  it('reset before anything was written is unknown, or was not sent where no connection came about', async () => {
    let bytes = 0;
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk) => (bytes += chunk.length));
      socket.resetAndDestroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    atEnd(() => void server.close());
    const at = await house(accepted, {
      servers: { api: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    });
    expect(['unknown reset', 'released not_sent']).toContain(
      await at.submit().then((told) => `${told.outcome} ${(told as { reason?: string }).reason}`),
    );
    expect(bytes).toBe(0);
  });

  it('that is not answered in time is unknown', async () => {
    const slow = { ...MAPPING.submit, request: { ...MAPPING.submit.request, timeout_seconds: 0.3 } };
    const at = await house(() => {}, { mapping: { submit: slow } });
    expect(await at.submit()).toMatchObject({ outcome: 'unknown', reason: 'timeout' });
    expect(at.received).toHaveLength(1);
  });

  it('puts files into multipart forms and data URLs', async () => {
    const mapping = {
      submit: {
        ...MAPPING.submit,
        request: {
          ...MAPPING.submit.request,
          body: {
            multipart: [
              { name: 'options', value: { steps: '{params.steps}' } },
              { name: 'audio', file: '{inputs.voice.path}' },
              { rest: 'params' },
            ],
          },
        },
      },
    };
    const at = await house(accepted, { mapping });
    const voice = join(at.out, 'voice.mp3');
    writeFileSync(voice, 'ID3-bytes');
    await at.submit({ steps: 4 }, recorder().events, { inputs: [{ name: 'voice', path: voice, sha256: '' }] });
    const form = await new Response(new Uint8Array(at.received[0]!.body), {
      headers: { 'content-type': at.received[0]!.headers['content-type']! },
    }).formData();
    expect([...form.keys()]).toEqual(['options', 'audio', 'prompt']);
    expect(form.get('options')).toBe('{"steps":4}');
    const file = form.get('audio') as File;
    expect([file.name, file.type, await file.text()]).toEqual(['voice.mp3', 'audio/mpeg', 'ID3-bytes']);

    const json = {
      submit: {
        ...MAPPING.submit,
        request: {
          ...MAPPING.submit.request,
          body: { json: { image: '{inputs.first.data_uri}', last: '{inputs.last.data_uri?}' } },
        },
      },
    };
    const other = await house(accepted, { mapping: json });
    const first = join(other.out, 'first.png');
    writeFileSync(first, 'png');
    await other.submit({}, recorder().events, { inputs: [{ name: 'first', path: first, sha256: '' }] });
    expect(other.received[0]!.json).toEqual({
      image: `data:image/png;base64,${Buffer.from('png').toString('base64')}`,
    });
  });

  it('carries a seed derived from the attempt where the step says none', async () => {
    const mapping = { submit: { ...MAPPING.submit, seed: { param: 'seed', kinds: ['text'] } } };
    const at = await house(accepted, { mapping });
    await at.submit();
    await at.submit();
    await at.submit({ seed: 7 });
    await at.submit({ seed: null });
    const seeds = at.received.map(({ json }) => (json as { input: { seed: number } }).input.seed);
    expect(seeds).toEqual([expect.any(Number), seeds[0], 7, undefined]);
  });
});

describe.concurrent('authentication', () => {
  it.each<[object, object]>([
    [
      { type: 'bearer', token: '{credential.key}' },
      { headers: { authorization: `Bearer ${SECRET}` }, url: '/v1/acme/writer/jobs' },
    ],
    [
      { type: 'query', name: 'key', value: '{credential.key}' },
      { url: `/v1/acme/writer/jobs?${new URLSearchParams({ key: SECRET })}` },
    ],
    [{ type: 'header', name: 'xi-api-key', value: '{credential.key}' }, { headers: { 'xi-api-key': SECRET } }],
  ])('%o', async (auth, request) => {
    const at = await house(accepted, { mapping: { auth } });
    await at.submit();
    expect(at.received[0]).toMatchObject(request);
  });

  it('signs a token of RFC 7519 anew for each request', async () => {
    const auth = { type: 'jwt-hs256', issuer: 'access', secret: '{credential.key}' };
    const at = await house(accepted, { mapping: { auth }, now: () => 1_800_000_000_500 });
    await at.submit();
    const [, head, claims, signature] = /^Bearer ([^.]+)\.([^.]+)\.([^.]+)$/.exec(
      at.received[0]!.headers.authorization!,
    )!;
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect([decode(head!), decode(claims!)]).toEqual([
      { alg: 'HS256', typ: 'JWT' },
      { iss: 'access', exp: 1_800_001_800, nbf: 1_799_999_995 },
    ]);
    const key = await crypto.subtle.importKey('raw', Buffer.from(SECRET), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ]);
    const isRight = crypto.subtle.verify(
      'HMAC',
      key,
      Buffer.from(signature!, 'base64url'),
      Buffer.from(`${head}.${claims}`),
    );
    expect(await isRight).toBe(true);
  });

  it('says nothing of the credential that a provider quotes', async () => {
    const said = {
      detail: `bad key ${SECRET} ${encodeURIComponent(SECRET)} ${Buffer.from(`user:${SECRET}`).toString('base64')}`,
    };
    const refused = await house(answer(400, said));
    const asked = await house(answer(500, said));
    const told = JSON.stringify([
      await refused.submit(),
      await failure(asked.provider.status(asked.task())).then(String),
    ]);
    expect(told).toContain('[key]');
    for (const form of [
      SECRET,
      encodeURIComponent(SECRET),
      Buffer.from(`user:${SECRET}`).toString('base64').slice(8, -4),
    ])
      expect(told).not.toContain(form);
  });
});

describe.concurrent('an accepted task', () => {
  it.each<[object, object]>([
    [{ state: 'waiting' }, { state: 'queued' }],
    [
      { state: 'busy', percent: 40 },
      { state: 'running', progress: 0.4 },
    ],
    [
      { state: 'ready', price: '0.40' },
      { state: 'done', cost: { amount: '0.40', unit: 'USD', basis: 'reported' } },
    ],
    [
      { state: 'broken', error: 'six fingers' },
      { state: 'error', reason: 'six fingers' },
    ],
  ])('%o', async (body, status) => {
    const at = await house(answer(200, body));
    expect(await at.provider.status(at.task())).toEqual(status);
    expect(at.received[0]).toMatchObject({
      method: 'GET',
      url: '/v1/jobs/job-1',
      headers: { authorization: `Key ${SECRET}` },
    });
  });

  it('is asked about at the address that was given with it, on the same server only', async () => {
    const at = await house(answer(200, { state: 'busy' }));
    await at.provider.status(at.task({ checkpoint: { status_url: `${at.address}/elsewhere?x=1` } }));
    const thief = await serve(answer(200, { state: 'busy' }));
    await at.provider.status(at.task({ checkpoint: { status_url: `${thief.address}/v1/jobs/job-1` } }));
    expect(at.received.map(({ url }) => url)).toEqual(['/elsewhere?x=1', '/v1/jobs/job-1']);
    expect(thief.received).toEqual([]);
  });

  it('that is not there is not found; everything else that is no answer can be asked again', async () => {
    expect(await (await house(answer(404))).provider.status((await house(answer(404))).task())).toEqual({
      state: 'not_found',
    });
    for (const [respond, code] of [
      [answer(500, { detail: 'oh' }), 'PROVIDER_UNREACHABLE'],
      [answer(302, {}, { location: '/x' }), 'PROVIDER_UNREACHABLE'],
      [answer(401, { detail: 'who' }), 'CREDENTIAL_REFUSED'],
      [answer(200, { state: 'napping' }), 'PROVIDER_PROTOCOL'],
      [answer(200, '<html>'), 'PROVIDER_PROTOCOL'],
    ] as const) {
      const at = await house(respond);
      expect((await failure(at.provider.status(at.task()))).code).toBe(code);
    }
  });

  it('that is done may have failed all the same, where only the result tells', async () => {
    const mapping = {
      status: { ...MAPPING.status, ask_result: true },
      result: { ...MAPPING.result, failed: [{ when: { status: [422] } }] },
    };
    const at = await house(
      ({ url }, response, request) =>
        answer(url.endsWith('/result') ? 422 : 200, url.endsWith('/result') ? { detail: 'nsfw' } : { state: 'ready' })(
          {} as never,
          response,
          request,
        ),
      { mapping },
    );
    expect(await at.provider.status(at.task())).toEqual({ state: 'error', reason: 'nsfw' });
  });

  it('is canceled, asked to be, or too late', async () => {
    const running =
      (status: number, body: unknown): Respond =>
      (received, ...rest) =>
        (received.method === 'DELETE' ? answer(status, body) : answer(200, { state: 'busy' }))(received, ...rest);
    const at = await house(running(204, ''));
    expect(await at.provider.cancel!(at.task())).toEqual({ state: 'requested', definite: false });
    expect(at.received[1]).toMatchObject({ method: 'DELETE', url: '/v1/jobs/job-1' });
    const late = await house(running(409, {}));
    expect(await late.provider.cancel!(late.task())).toEqual({ state: 'done', definite: true });
  });

  it('that is over is not canceled: that would delete its result at some providers', async () => {
    const at = await house(answer(200, { state: 'ready' }));
    expect(await at.provider.cancel!(at.task())).toEqual({ state: 'done', definite: true });
    expect(at.received.map(({ method }) => method)).toEqual(['GET']);
  });

  it('tells what it cost, exactly', async () => {
    const at = await house(answer(200, { total: 4e-7, currency: 'USD' }));
    expect(await at.provider.cost!(at.task())).toEqual({
      amount: '0.0000004',
      unit: 'USD',
      basis: 'reported',
      final: true,
    });
    const silent = await house(answer(200, {}));
    expect(await silent.provider.cost!(silent.task())).toEqual({ amount: null, unit: 'unknown' });
  });
});

describe.concurrent('a result', () => {
  /** A server whose result lists `files`, and which serves them by `serveFile`. */
  const resultOf = (
    files: (address: string) => unknown,
    serveFile = answer(200, 'film', { 'content-type': 'video/mp4' }),
    options = {},
  ) => {
    const at = house((received, response, request) => {
      const address = `http://${received.headers.host}`;
      if (!received.url.endsWith('/result')) return serveFile(received, response, request);
      return answer(200, { files: files(address) })(received, response, request);
    }, options);
    return at;
  };

  it('is brought home from where it lies, each file under a harmless name', async () => {
    const at = await resultOf((address) => [
      { url: `${address}/f/a%20b.mp4?token=1` },
      { url: `${address}/f/..%2f..%2fetc` },
      { url: 'data:image/png;base64,cG5n' },
    ]);
    const files = await at.provider.fetch(at.task(), at.out);
    expect((files as { path: string }[]).map(({ path }) => path.slice(at.out.length + 1))).toEqual([
      '1-a_20b.mp4',
      '2-2f.._2fetc',
      '3-output.png',
    ]);
    expect(readFileSync(join(at.out, '3-output.png'), 'utf8')).toBe('png');
    expect(files).toMatchObject([{ mime: 'video/mp4' }, {}, {}]);
  });

  it('may be a text, or a list of texts that belong together', async () => {
    const at = await house(answer(200, { text: ['Once', ' upon'] }));
    expect(await at.provider.fetch(at.task(), at.out)).toEqual([
      { path: join(at.out, 'output.txt'), mime: 'text/plain' },
    ]);
    expect(readFileSync(join(at.out, 'output.txt'), 'utf8')).toBe('Once upon');
  });

  it('where there is none is said with what was there instead', async () => {
    const at = await house(answer(200, { nothing: true }));
    expect((await failure(at.provider.fetch(at.task(), at.out))).message).toContain('{"nothing":true}');
  });

  it.each([403, 404, 410])('whose address answers %i has expired', async (status) => {
    const at = await resultOf((address) => [{ url: `${address}/f` }], answer(status));
    expect(await at.provider.fetch(at.task(), at.out)).toBe('expired');
  });

  it.each<[string, Parameters<typeof resultOf>[1], string]>([
    [
      'cut off',
      (_received, response) =>
        response
          .writeHead(200, { 'content-type': 'video/mp4', 'content-length': '100' })
          .end('film'.repeat(2), () => response.destroy()),
      'PROVIDER_UNREACHABLE',
    ],
    ['an error', answer(500), 'PROVIDER_UNREACHABLE'],
    ['a page in the place of a film', answer(200, '<html>', { 'content-type': 'text/html' }), 'PROVIDER_PROTOCOL'],
    [
      'compressed without being asked for',
      answer(200, 'x', { 'content-type': 'video/mp4', 'content-encoding': 'gzip' }),
      'PROVIDER_PROTOCOL',
    ],
    ['larger than allowed', answer(200, 'x'.repeat(2_000), { 'content-type': 'video/mp4' }), 'PROVIDER_UNREACHABLE'],
    ['sent on without end', answer(302, '', { location: '/f' }), 'PROVIDER_UNREACHABLE'],
  ])('that is %s is not taken, and can be asked for again', async (_what, serveFile, code) => {
    const at = await resultOf((address) => [{ url: `${address}/f` }], serveFile, {
      mapping: { limits: { result_bytes: 1_000 } },
    });
    expect((await failure(at.provider.fetch(at.task({ kind: 'video' }), at.out))).code).toBe(code);
  });

  it.each([
    'http://10.0.0.1/f',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]:1/f',
    'http://[::ffff:10.0.0.1]/f',
    'http://localhost:1/f',
    'http://0x7f.1/f',
    'http://100.64.0.1/',
    'file:///etc/passwd',
    'ftp://x.example/f',
  ])('at %s is not fetched', async (url) => {
    const at = await resultOf(() => [{ url }]);
    const error = await failure(at.provider.fetch(at.task(), at.out));
    expect(error.message).toMatch(/private address|no result/);
    expect(readdirSync(at.out)).toEqual([]);
  });

  it('is not fetched from another port of this machine, nor by way of a redirect to it', async () => {
    const other = await serve(answer(200, 'film', { 'content-type': 'video/mp4' }));
    const direct = await resultOf(() => [{ url: `${other.address}/f` }]);
    expect((await failure(direct.provider.fetch(direct.task(), direct.out))).message).toContain('private address');
    const led = await resultOf(
      (address) => [{ url: `${address}/f` }],
      answer(302, '', { location: `${other.address}/f` }),
    );
    expect((await failure(led.provider.fetch(led.task(), led.out))).message).toContain('private address');
    expect(other.received).toEqual([]);
    const allowed = await resultOf(() => [{ url: `${other.address}/f` }], undefined, { allowPrivate: true });
    expect(await allowed.provider.fetch(allowed.task(), allowed.out)).toHaveLength(1);
    // The credential is the provider's own servers' only.
    expect(other.received.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });
});

describe.concurrent('a lost answer', () => {
  const made = '2026-08-07T09:00:05Z';
  const ours = { id: 'job-7', made, tag: 'ep-1', input: { prompt: 'a harbour', size: 'default' } };

  it('is found by what only ours carries, page by page', async () => {
    const at = await house(({ url }, response, request) =>
      answer(
        200,
        url.includes('page=2') ? { jobs: [ours] } : { jobs: [{ ...ours, id: 'x', tag: 'ep-2', input: {} }], next: '2' },
      )({} as never, response, request),
    );
    expect(await at.provider.lookup!(at.lost())).toEqual({
      found: 'present',
      refs: [{ ref: 'job-7', match: 'exact' }],
      complete: true,
    });
    expect(at.received.map(({ url }) => url)).toEqual([
      '/v1/jobs?after=2026-08-07T08%3A55%3A00.000Z',
      '/v1/jobs?after=2026-08-07T08%3A55%3A00.000Z&page=2',
    ]);
  });

  it('that is only alike proves nothing', async () => {
    const at = await house(
      answer(200, {
        jobs: [
          { ...ours, tag: null },
          { ...ours, id: 'job-8', tag: null },
          { ...ours, id: 'old', made: '2026-08-07T08:00:00Z', tag: null },
        ],
      }),
    );
    expect(await at.provider.lookup!(at.lost())).toEqual({
      found: 'ambiguous',
      refs: [
        { ref: 'job-7', match: 'probable' },
        { ref: 'job-8', match: 'probable' },
      ],
      complete: true,
    });
  });

  it('is found by a number where what was sent is known as text', async () => {
    const named = [{ at: '/number', equals: '{params.order}' }];
    const mapping = { lookup: { ...MAPPING.lookup, match: named, exact: named } };
    const at = await house(answer(200, { jobs: [{ ...ours, number: 4711 }] }), { mapping });
    expect(await at.provider.lookup!(at.lost({ params: { ...at.lost().params, order: '4711' } }))).toMatchObject({
      refs: [{ ref: 'job-7', match: 'exact' }],
    });
  });

  it('is absent only from a list that was read to its end', async () => {
    const at = await house(answer(200, { jobs: [] }));
    expect(await at.provider.lookup!(at.lost())).toEqual({ found: 'absent', refs: [], complete: true });
    let page = 0;
    const endless = await house((...all) => {
      page += 1;
      answer(200, { jobs: [], next: `page-${page}` })(...all);
    });
    expect(await endless.provider.lookup!(endless.lost())).toMatchObject({ found: 'absent', complete: false });
    expect(endless.received).toHaveLength(20);
  });

  it('is one, on however many pages it is listed, and a page that comes again is no way on', async () => {
    const mine = { ...ours, tag: 'ep-1' };
    const at = await house(answer(200, { jobs: [mine, mine], next: 'more' }));
    expect(await at.provider.lookup!(at.lost())).toEqual({
      found: 'present',
      refs: [{ ref: 'job-7', match: 'exact' }],
      complete: false,
    });
    expect(at.received).toHaveLength(2);
  });

  it('is asked for once more where the list cannot be read', async () => {
    const at = await house(answer(503));
    expect((await failure(at.provider.lookup!(at.lost()))).code).toBe('PROVIDER_UNREACHABLE');
  });
});

describe.concurrent('an account', () => {
  it('has what its limit leaves', async () => {
    const at = await house(answer(200, { limit: 1000, used: 250.5 }));
    expect(await at.provider.balance!()).toEqual({ amount: '749.5', unit: 'credits' });
    expect(await at.provider.check!()).toEqual({ auth: 'ok', balance: { amount: '749.5', unit: 'credits' } });
    // The answer to the check was the balance.
    expect(at.received).toHaveLength(2);
  });

  it.each([
    ['401', 401, {}, 'bad'],
    ['403 to what any key may ask', 403, { check: { request: { server: 'api', path: '/who' } } }, 'bad'],
    ['403 to what is left, which a good key need not see', 403, {}, 'unknown'],
  ])('whose key is answered %s', async (_what, status, mapping, auth) => {
    const at = await house(answer(status, { detail: 'no' }), { mapping });
    expect(await at.provider.check!()).toMatchObject({ auth });
  });
});

describe.concurrent('a provider that answers with the result itself', () => {
  const mapping = {
    kinds: ['audio'],
    capabilities: { submit: 'sync' },
    submit: {
      ...MAPPING.submit,
      ref: { header: 'history-id' },
      keep: {},
      cost: { at: { header: 'character-cost' }, unit: 'characters' },
      result: 'bytes',
    },
    result: { request: { server: 'api', path: '/history/{ref}/audio' }, result: 'bytes' },
    status: { ...MAPPING.status, request: { server: 'api', path: '/history/{ref}' } },
  };
  const speak = { kind: 'audio' };

  it('is done with its answer', async () => {
    const at = await house(
      answer(200, Buffer.from('ID3'), { 'content-type': 'audio/mpeg', 'history-id': 'h1', 'character-cost': '12' }),
      { mapping },
    );
    const { events, log } = recorder();
    expect(await at.submit({}, events, speak)).toEqual({
      outcome: 'completed',
      ref: 'h1',
      files: [{ path: join(at.out, 'output.mp3'), mime: 'audio/mpeg' }],
      cost: { amount: '12', unit: 'characters', basis: 'reported' },
    });
    expect(log).toEqual(['sending', 'accepted']);
    expect(readFileSync(join(at.out, 'output.mp3'), 'utf8')).toBe('ID3');
  });

  it('has accepted what is cut off after its reference, and is asked for it again', async () => {
    const cut = await house(
      (_received, response) =>
        response
          .writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': '100', 'history-id': 'h1' })
          .write('ID3', () => response.destroy()),
      { mapping },
    );
    const { events, log } = recorder();
    expect(await cut.submit({}, events, speak)).toEqual({ outcome: 'accepted', ref: 'h1' });
    expect(log).toEqual(['sending', 'accepted']);
    const nameless = await house(
      (_received, response) =>
        response
          .writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': '100', 'x-request-id': 'req-9' })
          .write('ID3', () => response.destroy()),
      { mapping },
    );
    expect(await nameless.submit({}, recorder().events, speak)).toMatchObject({
      outcome: 'unknown',
      reason: 'truncated',
      // What a person searches for in the provider's log came with the head.
      evidence: { status: 200, headers: { 'x-request-id': 'req-9' } },
    });
    const again = await house(answer(200, Buffer.from('ID3'), { 'content-type': 'audio/mpeg' }), { mapping });
    expect(await again.provider.fetch(again.task({ kind: 'audio' }), again.out)).toEqual([
      { path: join(again.out, 'output.mp3'), mime: 'audio/mpeg' },
    ]);
  });

  it('that answers in words has not made it, or nobody knows', async () => {
    const refused = await house(answer(401, { detail: 'quota' }), { mapping });
    expect(await refused.submit({}, recorder().events, speak)).toMatchObject({ outcome: 'released', reason: 'auth' });
    const words = await house(answer(200, { hello: 1 }), { mapping });
    expect(await words.submit({}, recorder().events, speak)).toMatchObject({ outcome: 'unknown', reason: 'no_result' });
  });
});
