import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Step } from '../../src/model/plan.ts';
import { expectWhole, ID, makeHouse, SYNC, step } from './rig.ts';

const generate = ['generate', ID];
const estimate = (amount: string, unit = 'USD'): Partial<Step> => ({ estimate: { amount, unit } });
const chained = (count: number, more: Partial<Step> = {}): Step[] =>
  Array.from({ length: count }, (_, index) =>
    step(`s${index + 1}`, { ...(index > 0 && { needs: [`s${index}`] }), ...more }),
  );

describe('a budget', () => {
  test.concurrent('is met to the last cent and not passed by the least part of one', async () => {
    const house = await makeHouse({ config: { budget: { per_episode: '0.80' } } });
    await house.allocate([...chained(2), step('s3', { needs: ['s2'], ...estimate('0.000000000001') })]);
    const refused = await house.json(13, generate);
    expect(refused.error).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      message: `step s3 may cost 0.000000000001 USD; with 0.80 before it, that exceeds the budget of ${ID}, 0.80 USD; nothing was sent`,
      details: {
        episode_id: ID,
        step: 's3',
        cap: '0.80',
        before: '0.80',
        worst_case: '0.000000000001',
        currency: 'USD',
        bound: 'budget.per_episode',
      },
      hints: ['raise budget.per_episode in pipeline.json', `episode cost ${ID}  # shows what counts`],
    });
    // What would be refused again is no way on.
    expect(refused.next).toEqual([]);
    expect(house.states()).toEqual({ s1: 'succeeded', s2: 'succeeded', s3: 'ready' });
    expect(house.submissions()).toHaveLength(2);
    expectWhole(house);
  });

  test.concurrent('of a week counts all of its episodes, and of an episode only its own', async () => {
    const house = await makeHouse({ config: { budget: { per_episode: '0.50', per_week: '0.80' } } });
    for (const key of ['a', 'b', 'c']) await house.allocate([step('s1')], key);
    await house.json(0, ['generate', '2026-W32-0']);
    await house.json(0, ['generate', '2026-W32-1']);
    expect((await house.json(13, ['generate', '2026-W32-2'])).error).toMatchObject({
      message:
        'step s1 may cost 0.40 USD; with 0.80 before it, that exceeds the budget of its week, 0.80 USD; nothing was sent',
      hints: ['raise budget.per_week in pipeline.json', 'episode cost --week 2026-W32  # shows what counts'],
    });
    expect(house.submissions()).toHaveLength(2);
    expectWhole(house);
  });

  test.concurrent('of a week is not believed while the record of one of its episodes is lost', async () => {
    const house = await makeHouse({ config: { budget: { per_episode: '0.50', per_week: '0.80' } } });
    for (const key of ['a', 'b', 'c']) await house.allocate([step('s1')], key);
    await house.json(0, ['generate', '2026-W32-0']);
    await house.json(0, ['generate', '2026-W32-1']);
    const lost = join(house.root, 'state/2026-W32/2026-W32-0.json');
    renameSync(lost, `${lost}.away`);
    expect((await house.json(65, ['generate', '2026-W32-2'])).error).toMatchObject({
      code: 'LEDGER_INCOMPLETE',
      subject: 'state/2026-W32/2026-W32-0.json',
    });
    expect(house.submissions()).toHaveLength(2);
    renameSync(`${lost}.away`, lost);
    expectWhole(house);
  });

  test.concurrent('counts what was possibly charged at its worst case, and nothing that was released', async () => {
    const house = await makeHouse({
      scenario: { ...SYNC, outcome: { outcome: 'released', reason: 'throttled' } },
      config: { budget: { per_episode: '0.40' } },
    });
    await house.allocate([step('s1')]);
    await house.json(69, generate);
    house.script({ ...SYNC, at: { 'submit.after_charge': 'die' } });
    await house.json(11, generate);
    await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'no answer']);
    expect((await house.json(13, ['retry', ID, '--step', 's1', '--reason', 'again'])).error?.code).toBe(
      'BUDGET_EXCEEDED',
    );
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('in quantities holds beside the one in money', async () => {
    const caps = { per_episode: { video_seconds: '20' }, per_week: { video_seconds: '30' } };
    const house = await makeHouse({ config: { budget: { per_episode: '20.00', quantities: caps } } });
    const quantity = { video_seconds: '10' };
    await house.allocate(chained(3, { quantity }));
    expect((await house.json(13, generate)).error).toMatchObject({
      message: `step s3 takes 10 video_seconds; with 20 before it, that exceeds the cap of ${ID}, 20; nothing was sent`,
      details: { quantity: 'video_seconds', cap: '20', before: '20' },
      hints: [
        'raise budget.quantities.per_episode.video_seconds in pipeline.json',
        `episode cost ${ID} --csv  # shows what counts`,
      ],
    });
    await house.allocate(chained(2, { quantity }), 'second');
    expect((await house.json(13, ['generate', '2026-W32-1'])).error).toMatchObject({
      message:
        'step s2 takes 10 video_seconds; with 30 before it, that exceeds the cap of its week, 30; nothing was sent',
      hints: [
        'raise budget.quantities.per_week.video_seconds in pipeline.json',
        'episode cost --week 2026-W32 --csv  # shows what counts',
      ],
    });
    expect(house.submissions()).toHaveLength(3);
    expectWhole(house);
  });

  test.concurrent('that is missing stops all that may cost, with the line to paste, unless the command has a bound of its own', async () => {
    const house = await makeHouse({ config: { budget: undefined } });
    await house.allocate([
      step('s1'),
      step('free', { provider: 'local', kind: 'image', params: { width: 32, height: 32 } }),
    ]);
    expect((await house.json(78, ['generate', ID, '--step', 's1'])).error).toMatchObject({
      code: 'BUDGET_MISSING',
      message: 'house can cost money, and pipeline.json sets no budget; nothing was sent',
      hints: [
        'add to pipeline.json: "budget": { "per_episode": "20.00" }',
        'or give --max-cost AMOUNT for this one command',
      ],
    });
    await house.json(0, ['generate', ID, '--step', 'free']);
    expect(house.submissions()).toEqual([]);
    await house.json(0, [...generate, '--max-cost', '0.40']);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('is not needed where the adapter itself says that it is free', async () => {
    const house = await makeHouse({
      scenario: { sheet: { capabilities: { submit: 'sync', pure: true } } },
      config: { budget: undefined },
    });
    await house.allocate([step('s1')]);
    await house.json(0, generate);
    expect(house.record().costs).toEqual([]);
    expectWhole(house);
  });
});

describe('--max-cost', () => {
  test.concurrent('bounds what one command reserves, and not what the next one does', async () => {
    const house = await makeHouse();
    await house.allocate(chained(3));
    const refused = await house.json(13, [...generate, '--max-cost', '0.80']);
    expect(refused).toMatchObject({
      error: {
        message: 'step s3 may cost 0.40 USD; with 0.80 before it, that exceeds --max-cost, 0.80 USD; nothing was sent',
        hints: ['give a larger --max-cost, or leave it out'],
      },
      next: [`episode generate ${ID}`],
    });
    await house.json(0, [...generate, '--max-cost', '0.40']);
    expect(house.submissions()).toHaveLength(3);
    for (const amount of ['', '-1', '0,5', '1e3', 'all']) {
      expect((await house.json(64, [...generate, `--max-cost=${amount}`])).error?.code).toBe('USAGE');
    }
    expectWhole(house);
  });

  test.concurrent('cannot be kept where nobody says what a step may cost, quantities or not', async () => {
    const caps = { per_episode: { seconds: '20' } };
    const house = await makeHouse({ config: { budget: { per_episode: '20.00', quantities: caps } } });
    const { estimate: _none, ...unpriced } = step('s1', { quantity: { seconds: '5' } });
    await house.allocate([unpriced]);
    const refused = await house.json(13, [...generate, '--max-cost', '5']);
    expect(refused).toMatchObject({ error: { code: 'UNPRICED' }, next: [`episode generate ${ID}`] });
    expect(refused.error?.hints[0]).toBe('leave --max-cost out: the quantity that the step takes is capped');
    expect(house.submissions()).toEqual([]);
    await house.json(0, generate);
    expect(house.record().costs).toMatchObject([{ state: 'settled', amount: '0.40', quantities: { seconds: '5' } }]);
    expectWhole(house);
  });
});

describe('a step without an upper bound', () => {
  const NOBODY = 'nobody says what house may charge at most';
  const GUESS = `${NOBODY}, for its estimate of 0.40 USD is no upper bound`;
  test.concurrent.each<[string, Partial<Step>, object, string]>([
    ['no price at all', {}, { sheet: { capabilities: { estimate: 'none' } } }, NOBODY],
    ['only a usual price', {}, { estimate: { amount: '0.40', unit: 'USD', basis: 'table' } }, GUESS],
    [
      'a price in another unit',
      estimate('3', 'credits'),
      {},
      'house may charge 3 credits, and a budget in USD counts no credits',
    ],
    ['a quantity that has no cap', { quantity: { constructor: '1' } }, {}, GUESS],
  ])('is refused: %s', async (_what, more, scenario, why) => {
    const budget = { per_episode: '20.00', quantities: { per_episode: { seconds: '9' } } };
    const house = await makeHouse({ scenario: { ...SYNC, ...scenario }, config: { budget } });
    const { estimate: _none, ...bare } = step('s1');
    await house.allocate([{ ...bare, ...more }]);
    expect(await house.json(13, generate)).toMatchObject({
      error: {
        code: 'UNPRICED',
        message: `step s1 of ${ID}: ${why}; nothing was sent`,
      },
      next: [],
    });
    expect(house.record().costs).toEqual([]);
    expect(house.submissions()).toEqual([]);
    expectWhole(house);
  });

  test.concurrent('takes the upper bound that its provider names', async () => {
    const scenario = { ...SYNC, price: '0.10', estimate: { amount: '0.10', max: '0.25', unit: 'USD', basis: 'table' } };
    const house = await makeHouse({ scenario, config: { budget: { per_episode: '0.24' } } });
    const { estimate: _none, ...bare } = step('s1');
    await house.allocate([bare]);
    expect((await house.json(13, generate)).error?.message).toContain('step s1 may cost 0.25 USD');
    expectWhole(house);
  });
});

test.concurrent('what a budget refuses hides nothing else that can be done', async () => {
  const house = await makeHouse({ config: { budget: { per_episode: '0.40' } } });
  await house.allocate([step('s1', { review: true }), step('s2', { params: { text: 'two' } })]);
  await house.json(0, [...generate, '--step', 's1']);
  const refused = await house.json(13, generate);
  expect(refused.next).toHaveLength(1);
  expect(refused.next[0]).toMatch(/^episode approve 2026-W32-0 --step s1 --sha256 /);
  expectWhole(house);
});

test.concurrent('what is charged in another unit keeps its worst case in the budget, and the sums of units apart', async () => {
  const house = await makeHouse({
    scenario: { status: ['done'], cost: { amount: '12', unit: 'credits', basis: 'reported', final: true } },
    config: { budget: { per_episode: '0.50' } },
  });
  await house.allocate(chained(2));
  expect((await house.json(13, generate)).error?.message).toContain('with 0.40 before it');
  const costs = await house.json(0, ['cost', ID]);
  expect(costs.totals).toEqual([{ unit: 'credits', settled: '12', reserved: '0', possible: '0', unpriced: 0 }]);
  expectWhole(house);
});

test.concurrent('eight commands at once never pass the edge of a budget', async () => {
  const house = await makeHouse({ config: { budget: { per_episode: '20.00', per_week: '1.20' } } });
  const ids: string[] = [];
  for (let index = 0; index < 8; index += 1) ids.push(await house.allocate([step('s1')], `release-${index}`));
  const runs = await Promise.all(ids.map((id) => house.run(['generate', id, '--json'])));
  expect(runs.map(({ code }) => code).sort()).toEqual([0, 0, 0, 13, 13, 13, 13, 13]);
  expect(house.submissions()).toHaveLength(3);
  expectWhole(house);
});

test.concurrent('two commands at once send each step of an episode once', async () => {
  const house = await makeHouse();
  await house.allocate(['a', 'b', 'c', 'd'].map((id) => step(id)));
  const runs = await Promise.all([house.run(generate), house.run(generate), house.run(generate)]);
  // Who finds a step in the hands of another says so; somebody finishes.
  for (const { code } of runs) expect([0, 75]).toContain(code);
  await house.json(0, generate);
  expect(house.submissions().map(({ attempt_id }) => attempt_id)).toHaveLength(4);
  expect(house.record().status).toBe('complete');
  expectWhole(house);
});

test.concurrent('two commands that fetch one result at once leave one take and nothing else', async () => {
  const house = await makeHouse({ scenario: { status: ['running'] } });
  await house.allocate([step('s1')]);
  await house.json(75, [...generate, '--wait', '0s']);
  house.script({ status: ['done'] });
  const runs = await Promise.all([house.run(generate), house.run(generate), house.run(['reconcile', ID])]);
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
  const files = Object.keys(house.tree()).filter((file) => file.startsWith(`episodes/${ID}/s1/take`));
  expect(files).toHaveLength(2);
  expectWhole(house);
});
