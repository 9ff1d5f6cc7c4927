import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Promised } from '../../src/providers/certify/promised.ts';
import { episode, makeShow } from '../rig.ts';
import { ADAPTER } from './exec-rig.ts';
import { MAPPING } from './http-rig.ts';

/** `episode provider certify` as people run it. */

interface Certified {
  code: number | null;
  stdout: string;
  promises: Map<string, Promised>;
  broken: string[];
}

async function certify(
  provider: object,
  more: string[] = [],
  files: Record<string, object | string> = {},
): Promise<Certified> {
  const root = await makeShow({ config: { providers: { one: provider } } });
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o755 });
  }
  const before = readdirSync(root, { recursive: true }).sort();
  const ran = await episode(root, ['provider', 'certify', 'one', ...more, '--json']);
  expect(readdirSync(root, { recursive: true }).sort(), 'it writes nothing in the show').toEqual(before);
  const promises = (ran.json.promises ?? []) as Promised[];
  return {
    code: ran.code,
    stdout: ran.stdout,
    promises: new Map(promises.map((one) => [one.id, one])),
    broken: promises.filter(({ holds }) => holds === false).map(({ id }) => id),
  };
}

const http = (mapping: string, env: string[] = ['KEY']) => ({ type: 'http', mapping, env });

describe.concurrent('a shipped or published mapping', () => {
  it.each<[string, string[]]>([
    ['fal', ['KEY']],
    ['replicate', ['KEY']],
    ['elevenlabs', ['KEY']],
    [join(import.meta.dirname, '../../docs/mappings/runway.json'), ['KEY']],
    [join(import.meta.dirname, '../../docs/mappings/kling.json'), ['KEY', 'SECRET']],
    [join(import.meta.dirname, '../../docs/mappings/runware.json'), ['KEY']],
  ])('%s keeps every promise that can be seen', async (mapping, env) => {
    const { code, broken, promises } = await certify(http(mapping, env));
    expect([code, broken]).toEqual([0, []]);
    expect(promises.size).toBeGreaterThan(60);
    const unseen = [...promises.values()].filter(({ holds }) => holds === null).map(({ id }) => id);
    expect(unseen.length).toBeLessThan(3);
  });
});

describe.concurrent('a mapping that', () => {
  it.each<[string, object, RegExp]>([
    [
      'releases what may have been accepted',
      { submit: { ...MAPPING.submit, refused: [{ when: { status: [409, 408] }, reason: 'invalid_input' }] } },
      /^table\//,
    ],
    [
      'takes any success for one of its own',
      { submit: { ...MAPPING.submit, refused: [{ when: { status: ['2xx'] }, reason: 'invalid_input' }] } },
      /^submit\//,
    ],
    [
      'calls what was only requested canceled',
      { cancel: { ...MAPPING.cancel, when: [{ when: { status: ['2xx'] }, state: 'canceled', definite: true }] } },
      /^cancel\//,
    ],
    [
      'believes that a missing page is a failure',
      { status: { ...MAPPING.status, when: [{ when: { status: [404] }, state: 'error' }] } },
      /^status\/|^task\//,
    ],
  ])('%s', async (_what, mapping, broken) => {
    const found = await certify(http('./m.json'), [], { 'm.json': { ...MAPPING, ...mapping } });
    expect(found.code).toBe(76);
    expect(
      found.broken.some((id) => broken.test(id)),
      found.broken.join(', '),
    ).toBe(true);
  });

  it('keeps all of its promises says how many those are', async () => {
    const root = await makeShow({ config: { providers: { one: http('./m.json') } } });
    writeFileSync(join(root, 'm.json'), JSON.stringify(MAPPING));
    const { code, stdout } = await episode(root, ['provider', 'certify', 'one']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\n {2}ok {14}the connection is refused: released\n/);
    expect(stdout).toMatch(/\n\n\d+ hold, 0 broken, \d+ not observable\n$/);
  });
});

/** The scripted adapter with its state beside it: certify gives its variables made-up values. */
const scripted = (scenario: object): string => `#!/bin/sh
export ADAPTER_HOME="$HOME" ADAPTER_SCENARIO='${JSON.stringify(scenario)}'
exec "${process.execPath}" "${ADAPTER}"
`;

const exec = { type: 'exec', command: ['./adapter'], env: ['HOUSE_KEY'] };

describe.concurrent('an adapter', () => {
  it.each<[string, object]>([
    ['that announces all it does', { status: ['done'], events: ['checkpoint', 'sending', 'accepted'] }],
    ['that answers with the result', { sheet: { kinds: ['text'], capabilities: { submit: 'sync' } } }],
    ['that gives no promise', { sheet: { capabilities: { announces_sending: false } } }],
    ['that refuses a made-up key', { outcome: { outcome: 'released', reason: 'auth' } }],
  ])('%s keeps its promises', async (_what, scenario) => {
    const { code, broken, promises } = await certify(exec, [], { adapter: scripted(scenario) });
    expect([code, broken]).toEqual([0, []]);
    // That it really sent nothing is seen by nobody here, and never said to hold.
    expect(promises.get('sending/before-ack')).toMatchObject({ holds: null });
  });

  it.each<[string, object, string[]]>([
    ['that goes on without an acknowledgement', { ignores_eof: true }, ['end/1-sending']],
    ['that is silent about what it promised to announce', { events: ['accepted'] }, ['submit/announces']],
    ['that answers garbage', { at: { 'submit.before_answer': 'garbage' } }, ['lines/limit']],
    ['that shows its key', { at: { 'submit.request': 'note:key %{HOUSE_KEY}' } }, []],
    ['whose sheet is none', { sheet: { protocol: 'episode-provider/9' } }, ['sheet/valid']],
    ['that dies', { at: { 'submit.before_answer': 'die' } }, ['submit/outcome']],
  ])('%s', async (_what, scenario, wanted) => {
    const { code, broken, stdout } = await certify(exec, [], { adapter: scripted(scenario) });
    expect(broken).toEqual(expect.arrayContaining(wanted));
    expect(code).toBe(wanted.length > 0 ? 76 : 0);
    expect(stdout).not.toMatch(/certify-secret/);
  });

  it('that cannot be started is a wrong configuration', async () => {
    expect((await certify({ ...exec, command: ['./nowhere'] })).code).toBe(78);
  });
});

describe.concurrent('what is built in', () => {
  it.each(['local', 'assembly'])('%s keeps its promises', async (name) => {
    const root = await makeShow();
    mkdirSync(join(root, 'plans'), { recursive: true });
    const { code, json } = await episode(root, ['provider', 'certify', name, '--json']);
    expect([code, (json.promises as Promised[]).filter(({ holds }) => holds === false)]).toEqual([0, []]);
  });
});
