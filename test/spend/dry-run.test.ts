import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, SYNC, step } from './rig.ts';

/** Every verb that may spend, with what it needs to get as far as it can. */
const dry = (...args: string[]): string[] => [...args, '--dry-run'];

test.concurrent('a dry run of a first generate says what would be started at which price, and touches nothing', async () => {
  const house = await makeHouse({ config: { budget: { per_episode: '0.80' } } });
  await house.allocate([
    step('s1'),
    step('s2'),
    step('s3', { estimate: { amount: '0.05', unit: 'USD' } }),
    step('free', { provider: 'local', kind: 'image', params: { width: 32, height: 32 } }),
    step('after', { needs: ['s1'] }),
  ]);
  const before = house.tree();
  const { stdout, code } = await house.line(dry('generate', ID));
  expect(code).toBe(0);
  expect(stdout).toBe(
    [
      `${ID}  would reserve up to 0.80 USD; nothing was touched`,
      '  start   s1  up to 0.40 USD',
      '  start   s2  up to 0.40 USD',
      `  refuse  s3  step s3 may cost 0.05 USD; with 0.80 before it, that exceeds the budget of ${ID}, 0.80 USD; nothing was sent`,
      '  start   free  free',
      '  stay    after  waiting',
      '',
    ].join('\n'),
  );
  expect(await house.json(0, dry('generate', ID, '--step', 's2', '--max-cost', '0.10'))).toMatchObject({
    dry_run: true,
    status: 'planned',
    worst_case: { currency: 'USD', amount: '0', unpriced: [] },
    steps: [
      { step: 's1', would: 'stay' },
      { step: 's2', would: 'refuse', why: expect.stringContaining('--max-cost'), worst_case: { amount: '0.40' } },
      { step: 's3', would: 'stay' },
      { step: 'free', would: 'stay' },
      { step: 'after', would: 'stay' },
    ],
  });
  expect(house.tree()).toEqual(before);
  expect(house.submissions()).toEqual([]);
  expectWhole(house);
});

test.concurrent('a dry run of the verbs after it touches nothing either, whatever state the steps are in', async () => {
  const house = await makeHouse();
  await house.allocate([
    step('gate', { review: true }),
    step('refused', { params: { scenario: { outcome: { outcome: 'released', reason: 'invalid_input' } } } }),
    step('behind', { needs: ['gate'] }),
    step('still', { provider: 'local', kind: 'image', params: { width: 32, height: 32 } }),
    step('film', {
      provider: 'assembly',
      kind: 'video',
      needs: ['still'],
      params: { image_seconds: 0.2, width: 32, height: 32 },
    }),
  ]);
  await house.json(12, ['generate', ID]);
  const before = house.tree();
  const sent = house.submissions().length;
  expect(await house.json(0, dry('approve', ID))).toMatchObject({
    worst_case: { amount: '0.40' },
    steps: [{}, {}, { step: 'behind', state: 'ready', would: 'start' }, {}, {}],
  });
  expect(await house.json(0, dry('retry', ID, '--step', 'refused', '--reason', 'x'))).toMatchObject({
    steps: [{}, { step: 'refused', would: 'start' }, {}, {}, {}],
  });
  expect(await house.json(0, dry('reassemble', ID))).toMatchObject({ steps: [{}, {}, {}, {}, { would: 'stay' }] });
  expect((await house.run(dry('reject', ID, '--step', 'gate', '--reason', 'x'))).stdout.split('\n')[0]).toBe(
    `${ID}  would reject the output of gate; nothing was touched. It would then be:`,
  );
  expect(await house.json(0, dry('reject', ID, '--step', 'gate', '--reason', 'x'))).toMatchObject({
    dry_run: true,
    steps: [{ step: 'gate', state: 'rejected' }, {}, {}, {}, {}],
  });
  house.writePlan([step('gate', { params: { text: 'new' } })], 'other.json');
  expect(await house.json(0, dry('plan', ID, '--file', 'other.json'))).toMatchObject({
    stale: ['gate'],
    left_out: ['refused', 'behind', 'still', 'film'],
  });
  // What would be refused is refused, with the same words.
  expect((await house.json(64, dry('generate', ID, '--step', 'gone'))).error?.code).toBe('STEP_NOT_FOUND');
  expect((await house.json(14, dry('generate', ID, '--step', 'behind'))).error?.code).toBe('STEP_NOT_READY');
  expect((await house.json(10, dry('approve', ID, '--sha256', '0123456789ab'))).error?.code).toBe('ARTIFACT_CHANGED');
  const { 'other.json': _written, ...after } = house.tree();
  expect(after).toEqual(before);
  expect(house.submissions()).toHaveLength(sent);
  expectWhole(house);
});

describe('a dry run of a step whose provider cannot be asked', () => {
  test.concurrent('says so, and sends nothing', async () => {
    const house = await makeHouse({ scenario: { ...SYNC, at: { start: 'exit:1' } } });
    await house.allocate([step('s1')]);
    const ran = await house.line([...dry('generate', ID), '--json']);
    expect(ran.code).toBe(0);
    expect(ran.json.steps).toMatchObject([
      { step: 's1', would: 'refuse', why: expect.stringContaining('house gave no answer') },
    ]);
    expectWhole(house);
  });
});

test.concurrent('what a plan on record asks of the built-in providers is refused before it would start, as it would be then', async () => {
  const house = await makeHouse();
  const still = step('still', { provider: 'local', kind: 'image', params: { width: 32, height: 32 } });
  await house.allocate([still]);
  await house.allocate([still], 'release-2');
  // Recorded before anybody looked at parameters.
  const file = join(house.root, `state/2026-W32/${ID}.json`);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"width": 32', '"width": -1'));
  expect((await house.json(0, dry('generate', ID))).steps).toMatchObject([
    { step: 'still', would: 'refuse', why: expect.stringContaining('width') },
  ]);
});

test.concurrent('a plan is priced without an episode, and nothing is written', async () => {
  const house = await makeHouse();
  const file = house.writePlan([step('s1'), step('s2', { estimate: { amount: '0.25', unit: 'USD' } })]);
  const before = house.tree();
  const ran = await house.line(['plan', '--file', file]);
  expect(ran.stdout).toMatch(
    /^plan {2}[0-9a-f]{12} {2}2 steps, up to 0\.65 USD\n {2}s1 {2}house {2}text {2}up to 0\.40 USD\n/,
  );
  expect(house.tree()).toEqual(before);
  expectWhole(house);
});
