import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writePipeline } from '../rig.ts';
import { ADAPTER, expectWhole, type House, ID, makeHouse, SYNC, scripted, step, writeScript } from './rig.ts';

/** Two providers of the same: the second is tried only after a definite no of the first, and by a person's plan. */

const generate = ['generate', ID];

/** A show with a second provider, `other`, which always works and counts what arrives there. */
async function makePair(scenario: object) {
  const house = await makeHouse({ scenario });
  const home = join(house.home, 'other');
  const other = writeScript(
    house.root,
    'other',
    `#!/bin/sh\nexport ADAPTER_HOME='${home}' ADAPTER_SCENARIO='${JSON.stringify(SYNC)}'\nexec ${ADAPTER}\n`,
  );
  const env = ['ADAPTER_HOME', 'ADAPTER_SCENARIO'];
  await writePipeline(house.root, {
    budget: { per_episode: '20.00' },
    providers: { house: { type: 'exec', command: [ADAPTER], env }, other: { type: 'exec', command: [other], env: [] } },
  });
  const arrived = (): number => {
    const log = join(home, 'submissions.jsonl');
    return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0;
  };
  const moveTo = (code: number, provider: string, ...more: string[]) => {
    house.writePlan([step('s1', { provider })]);
    return house.json(code, ['plan', ID, '--file', 'plan.json', ...more]);
  };
  return { ...house, arrived, moveTo };
}

/** s1 was sent to `house` and came to this. */
async function sent(code: number, scenario: object): Promise<Awaited<ReturnType<typeof makePair>>> {
  const house = await makePair({});
  await house.allocate([scripted('s1', scenario)]);
  await house.json(code, [...generate, '--wait', '0s']);
  return house;
}

describe('a step goes to another provider', () => {
  test.concurrent.each<[string, number, object]>([
    ['may have been accepted', 11, { at: { 'submit.after_charge': 'exit:1' } }],
    ['runs', 75, { status: ['running'] }],
    ['was accepted and is lost', 11, { status: ['expired'] }],
  ])('never while the first %s', async (_what, code, scenario) => {
    const house = await sent(code, scenario);
    const before = house.tree();
    for (const more of [[], ['--dry-run']]) {
      const { error } = await house.moveTo(75, 'other', ...more);
      expect(error).toMatchObject({ code: 'PLAN_IN_USE', subject: `${ID}/s1` });
      expect(error?.hints).toContain(`episode reconcile ${ID} --step s1`);
    }
    // The plan file is all that changed.
    expect({ ...house.tree(), 'plan.json': before['plan.json'] }).toEqual(before);
    await house.json(code, [...generate, '--wait', '0s']);
    expect([house.submissions().length, house.arrived()]).toEqual([1, 0]);
    expectWhole(house as House);
  });

  test.concurrent.each<[string, number, object]>([
    ['was throttled', 69, { outcome: { outcome: 'released', reason: 'throttled' } }],
    ['has no funds', 13, { outcome: { outcome: 'released', reason: 'insufficient_funds' } }],
    ['was not reached', 69, { outcome: { outcome: 'released', reason: 'not_sent' } }],
  ])('by the next generate when the first %s', async (_what, code, scenario) => {
    const house = await sent(code, scenario);
    await house.moveTo(0, 'other');
    expect(await house.json(0, generate)).toMatchObject({ status: 'complete', cost: { settled: '0.40' } });
    expect(house.record().steps[0]!.attempts.map(({ provider }) => provider)).toEqual(['house', 'other']);
    expect([house.submissions().length, house.arrived()]).toEqual([0, 1]);
    expectWhole(house as House);
  });

  test.concurrent('by the next generate once a person knows that the first has nothing', async () => {
    const house = await sent(11, { charge: false, at: { 'submit.after_charge': 'exit:1' } });
    await house.json(0, ['settle', ID, '--step', 's1', '--not-accepted', '--evidence', 'billing page']);
    await house.moveTo(0, 'other');
    expect(await house.json(0, generate)).toMatchObject({ status: 'complete', cost: { possible: '0' } });
    expect([house.submissions().length, house.arrived()]).toEqual([0, 1]);
    expectWhole(house as House);
  });

  test.concurrent.each<[string, number, object, string[]]>([
    ['refused it for good', 12, { outcome: { outcome: 'released', reason: 'content_rejected' } }, []],
    ['failed', 12, { status: [{ state: 'error', reason: 'nsfw' }] }, []],
    ['is given up without knowing', 11, { at: { 'submit.after_charge': 'exit:1' } }, ['--write-off']],
  ])('by a retry only when the first %s', async (_what, code, scenario, settled) => {
    const house = await sent(code, scenario);
    for (const form of settled) await house.json(0, ['settle', ID, '--step', 's1', form, '--evidence', 'no answer']);
    await house.moveTo(0, 'other');
    await house.line(generate);
    expect(house.arrived()).toBe(0);
    const retried = await house.json(0, ['retry', ID, '--step', 's1', '--reason', 'the other one']);
    expect(retried.status).toBe('complete');
    expect(house.arrived()).toBe(1);
    expectWhole(house as House);
  });
});

test.concurrent('want of funds at one provider stops nothing at the other, and a later run takes up what stayed ready', async () => {
  const house = await makePair({ ...SYNC, outcome: { outcome: 'released', reason: 'insufficient_funds' } });
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  await house.allocate([
    ...ids.map((id) => step(id)),
    step('x', { provider: 'other' }),
    step('y', { provider: 'other', needs: ['x'] }),
  ]);
  const broke = await house.json(13, generate);
  expect(broke.error).toMatchObject({ code: 'FUNDS_REFUSED', subject: `${ID}/a` });
  expect(house.states()).toMatchObject({ a: 'ready', e: 'ready', f: 'ready', x: 'succeeded', y: 'succeeded' });
  const tried = house.record().steps.filter(({ attempts }) => attempts.length > 0);
  expect(tried.map(({ id }) => id)).toEqual(expect.not.arrayContaining(['e', 'f']));
  expect(broke.cost).toMatchObject({ settled: '0.80', reserved: '0', possible: '0' });
  house.script(SYNC);
  expect(await house.json(0, generate)).toMatchObject({ status: 'complete' });
  expect([house.submissions().length, house.arrived()]).toEqual([6, 2]);
  expectWhole(house as House);
});
