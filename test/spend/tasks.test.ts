import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, scripted, step } from './rig.ts';

const generate = ['generate', ID];

describe('a task that the provider works on', () => {
  test.concurrent('is followed to its end, at the cost it reports', async () => {
    const house = await makeHouse({ scenario: { price: '0.375', status: ['queued', 'running', 'done'] } });
    await house.allocate([step('s1')]);
    expect(await house.json(0, generate)).toMatchObject({
      status: 'complete',
      cost: { settled: '0.375', reserved: '0' },
    });
    expectWhole(house);
  });

  test.concurrent('is said to be running when it is not waited for, and another generate goes on with it', async () => {
    const house = await makeHouse({ scenario: { status: ['running', 'running', 'done'] } });
    await house.allocate([step('s1')]);
    const running = await house.json(75, [...generate, '--wait', '0s']);
    const { ref } = house.submissions()[0]!;
    expect(running.error).toMatchObject({
      code: 'STILL_RUNNING',
      message: `step s1 of ${ID} is still running at house, ref ${ref}`,
      details: { ref },
    });
    expect(running.steps).toMatchObject([{ state: 'running', ref, cost: { state: 'reserved' } }]);
    const followed = await house.json(0, generate);
    expect(followed.steps).toMatchObject([{ state: 'succeeded', verdict: 'replay', ref }]);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent.each([
    ['four polls that get no answer', 4, [], 0],
    ['five, which may have no end', 5, [], 69],
    ['one, for whoever does not wait', 1, ['--wait', '0s'], 69],
  ])('is followed in spite of %s', async (_what, times, waiting, exit) => {
    const house = await makeHouse();
    const scenario = { status: ['running', 'done'], at: { 'status.before_answer': { do: 'exit:1', times } } };
    house.script(scenario);
    await house.allocate([step('s1')]);
    const ran = await house.json(exit, [...generate, ...waiting]);
    expect(ran.steps).toMatchObject([{ state: exit === 0 ? 'succeeded' : 'accepted' }]);
    expect((await house.json(0, generate)).status).toBe('complete');
    expect(house.fired('status.before_answer')).toHaveLength(times);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('and that fails there keeps the cost that the provider names', async () => {
    const house = await makeHouse();
    house.script({});
    const error = { state: 'error', reason: 'nsfw' };
    await house.allocate([
      scripted('billed', { status: [{ ...error, billable: 'yes' }] }),
      scripted('free', { status: [{ ...error, billable: 'no' }] }),
      scripted('untold', { status: [error] }),
      scripted('priced', { status: [{ ...error, cost: { amount: '0.10', unit: 'USD', basis: 'reported' } }] }),
      scripted('waived', { status: [{ ...error, billable: 'no', cost: { amount: '0.10', unit: 'USD' } }] }),
    ]);
    expect((await house.json(12, generate)).error?.message).toMatch(/^step \w+ of 2026-W32-0 failed at house: nsfw$/);
    expect(Object.fromEntries(house.costs().map(({ step: id, state, amount }) => [id, `${state} ${amount}`]))).toEqual({
      billed: 'settled 0.40',
      free: 'released 0.40',
      untold: 'possible 0.40',
      priced: 'settled 0.10',
      waived: 'released 0.40',
    });
    expectWhole(house);
  });

  test.concurrent('and whose result is cut is asked for again without paying', async () => {
    const house = await makeHouse();
    house.script({ status: ['done'] });
    // A picture that is none.
    await house.allocate([step('s1', { kind: 'image', params: { source: 'plan.json' } })]);
    const cut = await house.json(76, generate);
    expect(cut.error?.hints).toContain(`episode reconcile ${ID} --step s1  # asks for it again; free`);
    expect(house.states()).toEqual({ s1: 'running' });
    await house.json(76, ['reconcile', ID]);
    expect(house.submissions()).toHaveLength(1);
    await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'it is broken there, too']);
    expect(house.costs()).toEqual([{ step: 's1', state: 'possible', amount: '0.40' }]);
    expectWhole(house);
  });

  test.concurrent('and whose cost nobody tells is recorded at its worst case', async () => {
    const house = await makeHouse({ scenario: { cost: { error: 'later' } } });
    const worst = { estimate: { amount: '0.50', unit: 'USD' } };
    const silent = { outcome: { outcome: 'accepted', ref: 'task_x' }, cost: { amount: null, unit: 'USD' } };
    await house.allocate([step('s1', worst), step('s2', { ...worst, params: { scenario: silent } })]);
    const ran = await house.line(generate);
    expect(ran.stderr).toContain('house does not say what s1 cost; it is recorded at its worst case');
    expect(ran.code).toBe(0);
    expect(house.costs()).toEqual([
      { step: 's1', state: 'settled', amount: '0.40' },
      { step: 's2', state: 'settled', amount: '0.50' },
    ]);
    expectWhole(house);
  });
});
