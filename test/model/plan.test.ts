import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { loadPlan } from '../../src/config.ts';
import { EpisodeError } from '../../src/errors.ts';
import { Config } from '../../src/model/config.ts';
import { ASSEMBLY, inputsOf, needsOf } from '../../src/model/plan.ts';
import { createNodeDisk } from '../../src/store/file/node-disk.ts';
import { step } from './episodes.ts';

const directory = mkdtempSync(join(tmpdir(), 'plans-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const config = Config.parse({
  format: 1,
  show: 'brief',
  time_zone: 'UTC',
  currency: 'USD',
  providers: { house: { type: 'exec', command: ['./render'] } },
});

async function faultsOf(plan: unknown): Promise<string[]> {
  const path = join(directory, 'plan.json');
  writeFileSync(path, typeof plan === 'string' ? plan : JSON.stringify(plan));
  try {
    await loadPlan(createNodeDisk(), path, 'plan.json', config);
    return [];
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    expect([error.code, error.exit]).toEqual(['PLAN_INVALID', 64]);
    return error.details.faults as string[];
  }
}

const steps = (...list: object[]) => ({ format: 1, steps: list });

describe('a plan is refused', () => {
  test.each<[string, unknown, string[]]>([
    [
      'whose steps need each other',
      steps(step('a', { needs: ['c'] }), step('b', { needs: ['a'] }), step('c', { needs: ['b'] })),
      ['steps need each other in a circle: a -> c -> b -> a'],
    ],
    ['whose step needs itself', steps(step('a', { needs: ['a'] })), ['steps need each other in a circle: a -> a']],
    [
      'whose steps go round through their inputs',
      steps(step('a', { inputs: [{ name: 'x', step: 'b' }] }), step('b', { needs: ['a'] })),
      ['steps need each other in a circle: a -> b -> a'],
    ],
    [
      'with a need that is not there',
      steps(step('a', { needs: ['gone'] })),
      ['step a needs gone, which is not in the plan'],
    ],
    [
      'with an input from a step that is not there',
      steps(step('a', { inputs: [{ name: 'x', step: 'gone' }] })),
      ['step a needs gone, which is not in the plan'],
    ],
    [
      'with a provider that the show does not have',
      steps(step('a', { provider: 'fal' })),
      ['step a: no provider "fal" (there is assembly, house, local)'],
    ],
    [
      'with a provider named like what every object has',
      steps(step('a', { provider: 'constructor' })),
      ['step a: no provider "constructor" (there is assembly, house, local)'],
    ],
    ['with the same ID twice', steps(step('a'), step('a')), ['step a is there twice']],
    [
      'with a role twice',
      steps(step('a', { role: 'cover' }), step('b', { role: 'cover' })),
      ['role cover is claimed by a and b'],
    ],
    [
      'with two inputs of one name',
      steps(
        step('a', {
          inputs: [
            { name: 'x', file: 'one.txt' },
            { name: 'x', file: 'two.txt' },
          ],
        }),
      ),
      ['step a has two inputs named x'],
    ],
    [
      'with everything wrong at once, naming all of it',
      steps(step('a', { provider: 'fal', needs: ['gone'] }), step('a')),
      [
        'step a: no provider "fal" (there is assembly, house, local)',
        'step a needs gone, which is not in the plan',
        'step a is there twice',
      ],
    ],
    ['without steps', steps(), ['steps: Too small: expected array to have >=1 items']],
  ])('%s', async (_what, plan, faults) => {
    expect(await faultsOf(plan)).toEqual(faults);
  });

  test.each(['../secret', '/etc/passwd', 'a/../../b', './a', 'a//b', 'a/', '', 'a\\b', 'a\u0000b', 'a\nb'])(
    'with the input file %j, which may lie outside of the show',
    async (file) => {
      expect(await faultsOf(steps(step('a', { inputs: [{ name: 'x', file }] })))).not.toEqual([]);
    },
  );

  test.each(['../x', 'A', '', '-a', '__proto__', 'a b', 'a.b', 'ä', 'a'.repeat(65), '--help'])(
    'with a step named %j',
    async (id) => {
      expect(await faultsOf(steps(step(id)))).toHaveLength(1);
    },
  );

  test.each<[object, string]>([
    [
      { ...step('a'), estimat: { amount: '1', unit: 'USD' } },
      'steps.0: Unrecognized key: "estimat" (is "estimate" meant?)',
    ],
    [{ ...step('a'), reviwe: true }, 'steps.0: Unrecognized key: "reviwe" (is "review" meant?)'],
    [{ ...step('a'), colour: 'red' }, 'steps.0: Unrecognized key: "colour"'],
  ])('with a field that no step has: %j', async (faulty, fault) => {
    expect(await faultsOf(steps(faulty))).toEqual([fault]);
  });

  test.each(['{"format":1,"steps":[', '{"format":1,"format":1,"steps":[]}', '[]', 'null', '\u0000'])(
    'that is no JSON object without doubt: %j',
    async (text) => {
      expect(await faultsOf(text)).toHaveLength(1);
    },
  );
});

test('a plan that can be carried out has no fault', async () => {
  const film = step('film', { provider: ASSEMBLY, kind: 'video', needs: ['a', 'b'] });
  expect(await faultsOf(steps(step('a'), step('b', { needs: ['a'] }), film, step('constructor')))).toEqual([]);
});

test('a step needs what it names and what its inputs come from, once each', () => {
  const inputs = [
    { name: 'x', step: 'b' },
    { name: 'y', file: 'notes.txt' },
  ];
  expect(needsOf(step('a', { needs: ['b', 'c'], inputs }))).toEqual(['b', 'c']);
});

test('an assembly without inputs joins what it needs, in order; any other step gets only what it names', () => {
  const needs = ['b', 'a'];
  expect(inputsOf(step('film', { provider: ASSEMBLY, needs }))).toEqual([
    { name: 'b', step: 'b' },
    { name: 'a', step: 'a' },
  ]);
  expect(inputsOf(step('clip', { needs }))).toEqual([]);
});
