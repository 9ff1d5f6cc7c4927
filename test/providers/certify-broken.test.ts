import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { identify, liveness } from '../../src/process-identity.ts';
import { certifyExec } from '../../src/providers/certify/exec.ts';
import { certifyHttp } from '../../src/providers/certify/http.ts';
import type { Promised } from '../../src/providers/certify/promised.ts';
import { createExecProvider } from '../../src/providers/exec/exec-provider.ts';
import { createHttpProvider } from '../../src/providers/http/http-provider.ts';
import { Mapping } from '../../src/providers/http/mapping.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { temporaryDirectory } from '../rig.ts';
import { scripted } from './certify-rig.ts';
import { NEVER, sleep } from './exec-rig.ts';
import { MAPPING } from './http-rig.ts';

/** A judge that finds nothing proves nothing: each of these breaks a promise on purpose, and must be seen to. */

type Trial = Parameters<typeof certifyHttp>[0];
type Parts = Parameters<typeof certifyHttp>[1];

const tried = (mapping: object, more: Partial<Trial> = {}, parts?: Parts) =>
  certifyHttp(
    {
      name: 'house',
      mapping: z.parse(Mapping, { ...MAPPING, ...mapping }),
      create: createHttpProvider,
      now: Date.now,
      random,
      params: {},
      interrupted: NEVER,
      ...more,
    },
    parts,
  );

const random = (bytes: number): string => randomBytes(bytes).toString('hex');

/** The parts that try the promises of a group; of the others the name is the same. */
const PARTS_OF: Record<string, Parts> = { submit: ['connections', 'successes'], free: ['status'] };

/** What is seen to be broken by the part that tries the promise `wanted`: the whole is tried where nothing is broken. */
async function brokenBy(wanted: string, mapping: object, more?: Partial<Trial>): Promise<string[]> {
  const group = wanted.slice(0, wanted.indexOf('/'));
  return brokenIn(await tried(mapping, more, PARTS_OF[group] ?? ([group] as Parts)));
}

const brokenIn = (promises: readonly Promised[]): string[] =>
  promises.filter(({ holds }) => holds === false).map(({ id }) => id);

const { submit, status, lookup, cancel } = MAPPING;

test.concurrent('the mapping that the others are made of breaks none', async () => {
  const promises = await tried({});
  expect(promises.filter(({ holds }) => holds === false)).toEqual([]);
  const ids = promises.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

/** Paid with the answer, which is the result, and asked about later: by a reference that the head of the answer settles. */
const bytes = (ref: object) => ({ ...submit, ref, keep: undefined, cost: undefined, result: 'bytes' });

test.concurrent.each([{ text: '{client_ref}' }, { header: 'x-task' }])(
  'a result that comes with the answer, under the reference %o, breaks none',
  async (ref) => {
    const promises = await tried({ submit: bytes(ref), result: { ...MAPPING.result, result: 'bytes' } });
    expect(promises.filter(({ holds }) => holds === false)).toEqual([]);
    expect(promises.find(({ id }) => id === 'submit/cut-body')).toMatchObject({
      holds: true,
      seen: 'accepted, 1 arrived',
    });
  },
);

describe.concurrent('a mapping', () => {
  test.each<[string, object, string]>([
    [
      'releases a 409',
      { submit: { ...submit, refused: [{ when: { status: [409] }, reason: 'busy' }] } },
      'table/other-4xx',
    ],
    [
      'releases a redirect',
      { submit: { ...submit, refused: [{ when: { status: ['3xx'] }, reason: 'busy' }] } },
      'table/3xx',
    ],
    [
      'releases its own success',
      { submit: { ...submit, refused: [{ when: { at: '/id' }, reason: 'busy' }] } },
      'submit/accepted',
    ],
    [
      'has a rule that another one hides',
      {
        submit: {
          ...submit,
          refused: [
            { when: { status: [429] }, reason: 'throttled' },
            { when: { status: [429], at: '/quota' }, reason: 'insufficient_funds' },
          ],
        },
      },
      'rules/2-insufficient_funds',
    ],
    ['has one reference for all', { submit: { ...submit, ref: { text: 'the-task' } } }, 'submit/reference-once'],
    ['takes any JSON for accepted', { submit: { ...submit, ref: { text: '{client_ref}' } } }, 'submit/other-json'],
    [
      'uses the credential as a reference',
      { submit: { ...submit, ref: { text: '{credential.key}' } } },
      'secrets/nowhere',
    ],
    [
      'guesses at unknown words',
      { status: { ...status, when: [{ when: { status: [200] }, state: 'done' }] } },
      'status/unknown-word',
    ],
    [
      'calls a task that is not found a failure',
      { status: { ...status, when: [{ when: { status: [404] }, state: 'error' }] } },
      'status/404',
    ],
    [
      'calls a broken provider a failure',
      { status: { ...status, when: [{ when: { status: ['4xx'] }, state: 'error' }] } },
      'status/failures',
    ],
    ['asks with the very request that buys', { status: { ...status, request: submit.request } }, 'free/never-buys'],
    [
      'takes what is only requested for canceled',
      { cancel: { ...cancel, when: [{ when: { status: ['2xx'] }, state: 'canceled', definite: true }] } },
      'cancel/requested',
    ],
    [
      'adopts what only looks like ours',
      { lookup: { ...lookup, exact: [{ at: '/input', equals: { $rest: 'params' } }] } },
      'lookup/another',
    ],
    [
      'takes any list for absence',
      { lookup: { ...lookup, list: undefined, absent: [{ status: [200] }] } },
      'lookup/no-proof',
    ],
    ['proves presence by nothing', { lookup: { ...lookup, exact: [] } }, 'lookup/ours'],
    [
      'needs what nobody has in a free request',
      { balance: { request: { server: 'api', path: '/{params.model}' }, amount: { at: '/left', unit: 'USD' } } },
      'balance/amount',
    ],
  ])('that %s is seen', async (_what, mapping, wanted) => {
    expect(await brokenBy(wanted, mapping)).toContain(wanted);
  });
});

describe.concurrent('an interpreter', () => {
  const spoiled: [string, (provider: Provider) => Provider, string][] = [
    [
      'sends before "sending" is durable',
      (real) => ({
        ...real,
        submit: (one, events, signal) =>
          real.submit(one, { ...events, sending: async () => void events.sending() }, signal),
      }),
      'submit/sending-first',
    ],
    [
      'sends a second time when nothing came back',
      (real) => ({
        ...real,
        async submit(one, events, signal) {
          const first = await real.submit(one, events, signal);
          return first.outcome === 'unknown' ? real.submit(one, events, signal) : first;
        },
      }),
      'submit/once',
    ],
    [
      'throws what it should answer',
      (real) => ({
        ...real,
        async submit(one, events, signal) {
          const outcome = await real.submit(one, events, signal);
          if (outcome.outcome === 'unknown') throw new Error('no idea');
          return outcome;
        },
      }),
      'submit/never-throws',
    ],
    [
      'calls whatever failed released',
      (real) => ({
        ...real,
        async submit(one, events, signal) {
          const outcome = await real.submit(one, events, signal);
          return outcome.outcome === 'unknown' ? { ...outcome, outcome: 'released', billable: 'no' } : outcome;
        },
      }),
      'submit/reset',
    ],
    [
      'tells references only at the end',
      (real) => ({
        ...real,
        submit: (one, events, signal) => real.submit(one, { ...events, accepted: async () => {} }, signal),
      }),
      'submit/reference',
    ],
    [
      'throws anything for what is free',
      (real) => ({ ...real, status: (task) => real.status(task).catch(() => Promise.reject(new Error('no idea'))) }),
      'free/errors',
    ],
    [
      'takes every failure of a lookup for absence',
      (real) => ({
        ...real,
        lookup: (lost) => real.lookup!(lost).catch(() => ({ found: 'absent', refs: [], complete: true })),
      }),
      'lookup/failures',
    ],
  ];
  test.each(spoiled)('that %s is seen', async (_what, spoil, wanted) => {
    const create: Trial['create'] = (options) => spoil(createHttpProvider(options));
    expect(await brokenBy(wanted, {}, { create })).toContain(wanted);
  });

  test('that lets itself be sent into a private network is seen', async () => {
    const create: Trial['create'] = (options) => {
      const open = createHttpProvider({ ...options, allowPrivate: true });
      const strict = createHttpProvider(options);
      return {
        ...strict,
        // Into this machine only: nothing of a test may leave it.
        fetch: (task, dir) =>
          strict
            .fetch(task, dir)
            .catch((error) => (/127\.0\.0\.1 is/.test(String(error)) ? open.fetch(task, dir) : Promise.reject(error))),
      };
    };
    const broken = await brokenBy('fetch/private', {}, { create });
    expect(broken).toEqual(expect.arrayContaining(['fetch/private-127.0.0.1', 'fetch/private-redirect']));
  });
});

describe.concurrent('an adapter', () => {
  type Trial = Parameters<typeof certifyExec>[0];

  async function brokenBy(parts: Parameters<typeof certifyExec>[1], scenario: object, more: Partial<Trial> = {}) {
    const promises = await certifyExec(
      {
        name: 'house',
        command: scripted(scenario),
        cwd: await temporaryDirectory(),
        variables: ['HOUSE_KEY'],
        params: {},
        create: createExecProvider,
        identify,
        interrupted: NEVER,
        port: { now: Date.now, random, sleep, liveness },
        kill: (group) => void process.kill(-group, 'SIGKILL'),
        // Nothing here leaves by itself, and how long that is waited for proves nothing.
        graceMs: 200,
        ...more,
      },
      parts,
    );
    return brokenIn(promises);
  }

  test.each<[string, object, Parameters<typeof certifyExec>[1], string]>([
    ['goes on without an acknowledgement', { ignores_eof: true }, ['kills'], 'end/1-sending'],
    ['is silent about what it promised to announce', { events: ['accepted'] }, [], 'submit/announces'],
    ['answers garbage', { at: { 'submit.before_answer': 'garbage' } }, [], 'lines/limit'],
    ['dies', { at: { 'submit.before_answer': 'die' } }, [], 'submit/outcome'],
    ['has a sheet that is none', { sheet: { protocol: 'episode-provider/9' } }, [], 'sheet/valid'],
  ])('that %s is seen', async (_what, scenario, parts, wanted) => {
    expect(await brokenBy(parts, scenario)).toContain(wanted);
  });

  test('whose key is let through to what is told of it is seen', async () => {
    const create: Trial['create'] = (options) => ({
      ...createExecProvider(options),
      submit: async () => ({ outcome: 'released', reason: 'auth', message: options.env.HOUSE_KEY!, billable: 'no' }),
    });
    expect(await brokenBy(['files'], {}, { create })).toEqual(['secrets/nowhere']);
  });
});

test.concurrent('an interruption ends the trials at the next one, instead of calling half of them all', async () => {
  const stop = new AbortController();
  stop.abort();
  await expect(tried({}, { interrupted: stop.signal })).rejects.toMatchObject({ name: 'AbortError' });
});
