import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Episode } from '../../src/model/episode.ts';
import { checkLedger } from '../ledger-check.ts';
import { answer, MAPPING, serve } from '../providers/http-rig.ts';
import { episode, makeShow } from '../rig.ts';
import { step } from './rig.ts';
import { expectSound } from './sound.ts';

/**
 * The program itself, several processes at a time, against a provider on the wire that does whatever it likes: what arrives
 * there is counted where it arrives.
 */

/** What the provider does with one submission. */
const FATES = [
  'accept',
  'fail there',
  'refuse',
  'throttle',
  'no funds',
  'break',
  'cut before',
  'cut after',
  'page',
] as const;
type Fate = (typeof FATES)[number];

const VERBS = [
  'generate',
  'generate',
  'retry',
  'approve',
  'reject',
  'reconcile',
  'settle',
  'write off',
  'plan',
] as const;
const move = fc.record({
  verbs: fc.array(fc.constantFrom(...VERBS), { minLength: 1, maxLength: 3 }),
  step: fc.constantFrom('s1', 's2', 's3', 's4'),
  reason: fc.constantFrom('a', 'b'),
  fates: fc.array(fc.constantFrom(...FATES), { minLength: 8, maxLength: 8 }),
});

const UNFINISHED = [65, 70, 73, 74, 76, 78];

async function makeWorld() {
  const submitted: string[] = [];
  const charged = new Map<string, string>();
  const tasks = new Map<string, { tag: string; fate: Fate; made: string; input: unknown }>();
  let fates: Fate[] = [];
  const server = await serve((received, response, request) => {
    const say = (status: number, body: unknown) => answer(status, body)(received, response, request);
    const [, id] = /^\/v1\/jobs\/(job-\d+)/.exec(received.url) ?? [];
    if (received.method !== 'POST') {
      if (id === undefined) return say(200, { jobs: [...tasks].map(([id, task]) => ({ id, ...task })) });
      if (received.url.endsWith('/result')) return say(200, { text: 'here' });
      return say(200, tasks.get(id)?.fate === 'fail there' ? { state: 'broken', error: 'nsfw' } : { state: 'ready' });
    }
    const { tag, input } = received.json as { tag: string; input: unknown };
    submitted.push(tag);
    const fate = fates.shift() ?? 'accept';
    if (fate === 'refuse') return say(400, {});
    if (fate === 'throttle') return say(429, {});
    if (fate === 'no funds') return say(403, { detail: 'User is locked' });
    if (fate === 'break') return say(503, {});
    if (fate === 'page') return say(200, '<html>');
    if (fate === 'cut before') return request.socket.destroy();
    charged.set(tag, '0.40');
    const ref = `job-${tasks.size + 1}`;
    tasks.set(ref, { tag, fate, made: new Date().toISOString(), input });
    if (fate === 'cut after') return request.socket.destroy();
    return say(201, { id: ref });
  });
  const house = { type: 'http', mapping: './house.json', env: ['HOUSE_KEY'], servers: { api: `${server.address}/v1` } };
  const root = await makeShow({ config: { budget: { per_episode: '1000' }, providers: { house } } });
  const { cost: _cost, ...mapping } = MAPPING;
  mkdirSync(join(root, 'plans'));
  writeFileSync(join(root, 'house.json'), JSON.stringify(mapping));
  for (const text of ['a', 'b']) {
    const steps = [
      step('s1', { review: true, params: { model: 'm', text } }),
      step('s2', { params: { model: 'm', text: 'same' } }),
      step('s3', { params: { model: 'm', text: 'same' } }),
      step('s4', { needs: ['s1'], params: { model: 'm', text } }),
    ];
    writeFileSync(join(root, `plans/${text}.json`), JSON.stringify({ format: 1, steps }));
  }
  let made = 0;
  return {
    root,
    submitted,
    charged,
    tasks,
    allow: (next: readonly Fate[]) => {
      fates = [...next];
    },
    run: (...words: string[]) => episode(root, words, { env: { HOUSE_KEY: 'sk-0123456789' } }),
    async allocate(): Promise<string> {
      made += 1;
      const ran = await this.run(
        'allocate',
        '--key',
        `release-${made}`,
        '--week',
        '2026-W32',
        '--plan',
        'plans/a.json',
      );
      expect(ran.code).toBe(0);
      return ran.stdout.trim();
    },
    read: (id: string): Episode => JSON.parse(readFileSync(join(root, `state/2026-W32/${id}.json`), 'utf8')),
    /** The same of the far side, for one episode: others have used it too. */
    seenOf(record: Episode) {
      const own = new Set(record.steps.flatMap(({ attempts }) => attempts.map(({ client_ref }) => client_ref)));
      return {
        submitted: submitted.filter((tag) => own.has(tag)),
        charged: new Map([...charged].filter(([tag]) => own.has(tag))),
      };
    },
  };
}
type World = Awaited<ReturnType<typeof makeWorld>>;

/** What a person types; who settles looks first. */
function wordsOf(verb: (typeof VERBS)[number], id: string, on: string, reason: string, world: World): string[] {
  const of = [id, '--step', on];
  switch (verb) {
    case 'generate':
      return ['generate', id, '--wait', '0s'];
    case 'retry':
      return ['retry', ...of, '--reason', `reason ${reason}`, '--wait', '0s'];
    case 'approve':
      return ['approve', id, '--step', 's1', '--wait', '0s'];
    case 'reject':
      return ['reject', ...of, '--reason', `reason ${reason}`];
    case 'reconcile':
      return ['reconcile', id];
    case 'write off':
      return ['settle', ...of, '--write-off', '--evidence', 'support is silent'];
    case 'plan':
      return ['plan', id, '--file', `plans/${reason}.json`];
    case 'settle': {
      const last = world
        .read(id)
        .steps.find((known) => known.id === on)
        ?.attempts.at(-1);
      const ref = [...world.tasks].find(([, { tag }]) => tag === last?.client_ref)?.[0];
      const form = ref === undefined ? ['--not-accepted'] : ['--accepted', ref];
      return ['settle', ...of, ...form, '--evidence', 'looked'];
    }
  }
}

test('several processes at once, in any order, against a provider that may do anything, send each intent once', async () => {
  const world = await makeWorld();
  // A slow machine plays fewer games, and each to its end.
  const deadline = Date.now() + 12_000;
  let games = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 3, maxLength: 6 }), async (moves) => {
      if (Date.now() > deadline) return;
      games += 1;
      const id = await world.allocate();
      for (const { verbs, step: on, reason, fates } of moves) {
        world.allow(fates);
        const ran = await Promise.all(verbs.map((verb) => world.run(...wordsOf(verb, id, on, reason, world))));
        // Refusals are answers; damage, bugs and a disk at fault are none.
        for (const { code, stderr } of ran) expect(UNFINISHED.includes(code!) ? `${code} ${stderr}` : '').toBe('');
        const record = world.read(id);
        expectSound(record, world.seenOf(record));
      }
    }),
    { numRuns: 20 },
  );
  expect(games).toBeGreaterThan(0);
  expect(world.submitted.length).toBeGreaterThan(games);
  expect(new Set(world.submitted).size).toBe(world.submitted.length);
  expect(checkLedger(world.root)).toEqual([]);
});
