import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { EpisodeError } from '../../src/errors.ts';
import { loadMapping, shippedMappings } from '../../src/providers/http/load.ts';
import { Mapping } from '../../src/providers/http/mapping.ts';
import { MAPPING } from './http-rig.ts';

const wanted = { mapping: './house.json', env: ['HOUSE_KEY'], servers: {} };

const load = (mapping: object, more: object = {}) =>
  loadMapping('house', { ...wanted, ...more }, async () => ({ ...MAPPING, ...mapping }));

const faults = async (mapping: object, more: object = {}): Promise<string> => {
  const error = await load(mapping, more).catch((reason: unknown) => reason);
  if (!(error instanceof EpisodeError)) throw new Error(`not refused: ${String(error)}`);
  expect([error.code, error.exit]).toEqual(['PROVIDER_CONFIGURATION', 78]);
  return error.message;
};

describe('a mapping', () => {
  it('is taken as a file of the show, or by the name of one that is shipped', async () => {
    expect((await load({})).provider).toBe('house');
    for (const mapping of shippedMappings()) {
      const read = async () => Promise.reject(new Error('no file is read'));
      const { credentials } = JSON.parse(readFileSync(`src/providers/http/mappings/${mapping}.json`, 'utf8'));
      expect((await loadMapping('p', { mapping, env: credentials, servers: {} }, read)).provider).toBe(mapping);
    }
  });

  it.each<[string, object, object, RegExp]>([
    [
      'a name nobody ships',
      {},
      { mapping: 'fall' },
      /no such mapping comes with episode \(elevenlabs, fal, replicate\)/,
    ],
    ['a field that is none', { sumbit: {} }, {}, /Unrecognized key.*sumbit.*\(is "submit" meant\?\)/],
    ['a pointer that is none', { message: ['detail'] }, {}, /message\.0: a JSON pointer/],
    [
      'a server that is not there',
      { balance: { ...MAPPING.balance, request: { server: 'apo', path: '/' } } },
      {},
      /balance\.request\.server: no server "apo"/,
    ],
    [
      'a credential that is not there',
      { auth: { type: 'bearer', token: '{credential.kee}' } },
      {},
      /auth\.token: no credential "kee"/,
    ],
    [
      'an address that is not kept',
      { status: { ...MAPPING.status, request: { ...MAPPING.status.request, kept: 'url' } } },
      {},
      /submit\.keep has no "url"/,
    ],
    [
      'a pattern that is none',
      { submit: { ...MAPPING.submit, refused: [{ when: { matches: '(' }, reason: 'x' }] } },
      {},
      /"\(" is no regular expression/,
    ],
    [
      'tasks without a reference',
      { submit: { ...MAPPING.submit, ref: undefined } },
      {},
      /submit\.ref: a task needs a reference/,
    ],
    ...[{}, { equals: ['no credit'] }, { at: '/a', header: 'b' }, { status: [402], equals: ['x'] }].map(
      (when): [string, object, object, RegExp] => [
        `a condition that is met by everything, or by something else than it says: ${JSON.stringify(when)}`,
        { submit: { ...MAPPING.submit, refused: [{ when, reason: 'insufficient_funds' }] } },
        {},
        /submit\.refused\.0\.when: a condition says what it looks at/,
      ],
    ),
    [
      'a look into an answer of bytes',
      { submit: { ...MAPPING.submit, result: 'bytes', accepted: [{ at: '/ok' }] } },
      {},
      /submit\.accepted: nobody looks into an answer of bytes/,
    ],
    [
      'a release by a broken server',
      { submit: { ...MAPPING.submit, refused: [{ when: { status: [503] }, reason: 'x' }] } },
      {},
      /submit\.refused\.0\.when\.status\.0/,
    ],
    ['too few variables', {}, { env: [] }, /"env" names 0 variables, and it takes key/],
    ['another server in the show', {}, { servers: { apo: 'https://x.example' } }, /it has no server "apo" \(api\)/],
    [
      "a credential in clear through a network of one's own",
      {},
      { servers: { api: 'http://10.0.0.5:8080' } },
      /in clear/,
    ],
    ['a credential in clear', {}, { servers: { api: 'http://api.example' } }, /in clear; write https:\/\/api\.example/],
    ['no address', {}, { servers: { api: 'api.example' } }, /"api\.example" is no http\(s\) address/],
  ])('with %s is refused with what is wrong', async (_what, mapping, more, message) => {
    expect(await faults(mapping, more)).toMatch(message);
  });

  it('that is not there, or is no JSON, says so', async () => {
    const missing = loadMapping('house', wanted, () =>
      Promise.reject(Object.assign(new Error('x'), { code: 'ENOENT' })),
    );
    await expect(missing).rejects.toThrow('the mapping ./house.json of house cannot be used: there is no such file');
  });

  it('may send members of any name', async () => {
    const body = { json: { server: 'x', matches: '(', kept: 'nothing' } };
    const submit = { ...MAPPING.submit, request: { ...MAPPING.submit.request, body } };
    expect((await load({ submit })).submit.request.body).toEqual(body);
  });

  it('has the schema that is published for editors', async () => {
    const schema = {
      title: 'Mapping of an HTTP API to episode-provider/1',
      ...z.toJSONSchema(Mapping, { io: 'input', unrepresentable: 'any' }),
    };
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot('../../docs/mapping.schema.json');
  });
});
