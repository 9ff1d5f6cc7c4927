import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Promised } from '../../src/providers/certify/promised.ts';
import { type Answer, episode, makeShow } from '../rig.ts';
import { scripted } from './certify-rig.ts';
import { MAPPING } from './http-rig.ts';

/** `episode provider certify` as people run it. */

interface Certified {
  code: number | null;
  stdout: string;
  error: Answer['error'];
  promises: Map<string, Promised>;
  broken: string[];
}

async function certify(provider: object, more: string[] = [], files: Record<string, object> = {}): Promise<Certified> {
  const root = await makeShow({ config: { providers: { one: provider } } });
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(root, name), JSON.stringify(content));
  }
  const before = readdirSync(root, { recursive: true }).sort();
  const ran = await episode(root, ['provider', 'certify', 'one', ...more, '--json']);
  expect(readdirSync(root, { recursive: true }).sort(), 'it writes nothing in the show').toEqual(before);
  const promises = (ran.json.promises ?? []) as Promised[];
  return {
    code: ran.code,
    stdout: ran.stdout,
    error: ran.json.error,
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
  it('breaks promises is 76, with all that it breaks by name', async () => {
    const mapping = {
      ...MAPPING,
      // Releases what may have been accepted, and takes its own success for a refusal.
      submit: {
        ...MAPPING.submit,
        refused: [
          { when: { status: [409, 408] }, reason: 'invalid_input' },
          { when: { status: ['2xx'] }, reason: 'invalid_input' },
        ],
      },
      // Takes what was only requested for canceled.
      cancel: { ...MAPPING.cancel, when: [{ when: { status: ['2xx'] }, state: 'canceled', definite: true }] },
      // Takes a page that is missing for a failure.
      status: { ...MAPPING.status, when: [{ when: { status: [404] }, state: 'error' }] },
    };
    const { code, broken, error } = await certify(http('./m.json'), [], { 'm.json': mapping });
    expect([code, error]).toMatchObject([76, { code: 'PROVIDER_PROTOCOL', details: { broken } }]);
    const wanted = ['submit/accepted', 'table/other-4xx', 'cancel/requested', 'status/404'];
    expect(broken).toEqual(expect.arrayContaining(wanted));
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

const exec = (command: string[]) => ({ type: 'exec', command, env: ['HOUSE_KEY'] });

describe.concurrent('an adapter', () => {
  it.each<[string, object]>([
    ['that announces all it does', { status: ['done'], events: ['checkpoint', 'sending', 'accepted'] }],
    ['that answers with the result', { sheet: { kinds: ['text'], capabilities: { submit: 'sync' } } }],
    ['that gives no promise', { sheet: { capabilities: { announces_sending: false } } }],
    ['that refuses a made-up key', { outcome: { outcome: 'released', reason: 'auth' } }],
  ])('%s keeps its promises', async (_what, scenario) => {
    const { code, broken, promises } = await certify(exec(scripted(scenario)));
    expect([code, broken]).toEqual([0, []]);
    // That it really sent nothing is seen by nobody here, and never said to hold.
    expect(promises.get('sending/before-ack')).toMatchObject({ holds: null });
  });

  it('that shows its key: certify does not show it', async () => {
    const shows = { at: { 'submit.request': 'note:key %{HOUSE_KEY}' } };
    const { code, broken, stdout } = await certify(exec(scripted(shows)));
    expect([code, broken]).toEqual([0, []]);
    expect(stdout).toContain('secrets/nowhere');
    // As the made-up value begins.
    expect(stdout).not.toMatch(/certify-\\*"?HOUSE_KEY/);
  });

  it('whose sheet is none breaks its promises', async () => {
    const { code, broken } = await certify(exec(scripted({ sheet: { protocol: 'episode-provider/9' } })));
    expect([code, broken]).toEqual([76, ['sheet/valid']]);
  });

  it('that cannot be started is a wrong configuration', async () => {
    expect((await certify(exec(['./nowhere']))).code).toBe(78);
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
