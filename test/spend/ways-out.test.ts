import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, SYNC, step } from './rig.ts';

const generate = ['generate', ID];

describe('ways out of a hold', () => {
  const lost = { status: ['done'], at: { 'submit.after_charge': 'die' } };

  test.concurrent('reconcile adopts what the provider shows, and pays nothing', async () => {
    const house = await makeHouse({ scenario: lost });
    await house.allocate([step('s1')]);
    await house.json(11, generate);
    expect(await house.json(0, ['reconcile', ID])).toMatchObject({ status: 'complete', cost: { settled: '0.40' } });
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('reconcile releases only what is provably not there', async () => {
    const unsure = { capabilities: { lookup: { proves: { present: true, absent: false } } } };
    const house = await makeHouse({ scenario: { sheet: unsure, charge: false, at: { 'submit.after_charge': 'die' } } });
    await house.allocate([step('s1')]);
    await house.json(11, generate);
    // The sheet of the claim counts, not what the adapter says by now.
    house.script({});
    const held = await house.line(['reconcile', ID]);
    expect(held.code).toBe(11);
    expect(held.stderr).toContain('house on s1: not listed (house cannot prove absence)');

    const sure = await makeHouse({ scenario: { charge: false, at: { 'submit.after_charge': 'die' } } });
    await sure.allocate([step('s1')]);
    await sure.json(11, generate);
    await sure.json(0, ['reconcile', ID]);
    expect(sure.states()).toEqual({ s1: 'ready' });
    expect(sure.costs()).toEqual([{ step: 's1', state: 'released', amount: '0.40' }]);
    expectWhole(house);
    expectWhole(sure);
  });

  test.concurrent('settle records who said what on which evidence; the same again changes nothing', async () => {
    const house = await makeHouse({ scenario: lost });
    await house.allocate([step('s1'), step('s2')]);
    await house.json(11, generate);
    const settle = (id: string, ...form: string[]) => [
      'settle',
      ID,
      '--step',
      id,
      ...form,
      '--evidence',
      'seen',
      '--by',
      'mika',
    ];
    const ref = house
      .submissions()
      .find(({ attempt_id }) => attempt_id === house.record().steps[0]!.attempts[0]!.attempt_id)!.ref;
    await house.json(0, settle('s1', '--accepted', ref));
    await house.json(0, settle('s2', '--not-accepted'));
    const before = house.tree();
    await house.json(0, settle('s1', '--accepted', ref));
    await house.json(0, settle('s2', '--not-accepted'));
    expect(house.tree()).toEqual(before);
    expect(house.record().steps.map(({ attempts }) => attempts[0]!.settlement)).toMatchObject([
      { form: 'accepted', by: 'mika', evidence: 'seen', ref },
      { form: 'not_accepted', by: 'mika', evidence: 'seen', ref: null },
    ]);
    expect(house.states()).toEqual({ s1: 'accepted', s2: 'ready' });
    expect((await house.json(14, settle('s2', '--write-off'))).error?.message).toBe(
      `step s2 of ${ID}: it is ready, and nothing about it can be settled so`,
    );
    house.script({ status: ['done'] });
    expect(await house.json(0, generate)).toMatchObject({ status: 'complete' });
    expect(house.submissions()).toHaveLength(3);
    for (const form of [[], ['--write-off', '--not-accepted'], ['--accepted', '']]) {
      expect((await house.json(64, settle('s1', ...form))).error?.code).toBe('USAGE');
    }
    expectWhole(house);
  });

  test.concurrent('a write-off that was paid again is adopted when it turns up after all', async () => {
    const house = await makeHouse({ scenario: lost });
    await house.allocate([step('s1')]);
    await house.json(11, generate);
    await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'no answer']);
    house.script({ ...SYNC, outcome: { outcome: 'released', reason: 'content_rejected' } });
    await house.json(12, ['retry', ID, '--step', 's1', '--reason', 'late']);
    house.script({ status: ['done'] });
    expect(await house.json(0, ['reconcile', ID])).toMatchObject({ status: 'complete' });
    expect(house.costs().map(({ state }) => state)).toEqual(['settled', 'released']);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });
});

describe('a closed episode', () => {
  test.concurrent('spends nothing any more, and is closed only when nothing is open', async () => {
    const house = await makeHouse({ scenario: { ...SYNC, at: { 'submit.after_charge': 'die' } } });
    await house.allocate([step('s1', { review: true }), step('s2')]);
    await house.json(11, ['generate', ID, '--step', 's1']);
    const close = ['close', ID, '--reason', 'made twice', '--by', 'mika'];
    expect((await house.json(11, close)).error?.code).toBe('OUTCOME_UNKNOWN');
    await house.json(0, ['settle', ID, '--step', 's1', '--not-accepted', '--evidence', 'seen']);
    house.script({ status: ['running'] });
    await house.json(75, ['generate', ID, '--step', 's1', '--wait', '0s']);
    expect((await house.json(75, close)).error?.code).toBe('STILL_RUNNING');
    house.script({ status: ['done'] });
    await house.json(0, ['generate', ID, '--step', 's1']);
    expect(await house.json(0, close)).toMatchObject({ status: 'closed' });
    const before = house.tree();
    await house.json(0, close);
    for (const args of [
      generate,
      [...generate, '--dry-run'],
      ['approve', ID],
      ['approve', ID, '--dry-run'],
      ['reject', ID, '--step', 's1', '--reason', 'x'],
      ['retry', ID, '--step', 's1', '--reason', 'x'],
      ['reassemble', ID],
      ['plan', ID, '--file', 'plan.json'],
    ]) {
      const refused = await house.json(14, args);
      expect([args[0], refused.error?.code]).toEqual([args[0], 'EPISODE_CLOSED']);
      expect(refused.error?.message).toMatch(/^2026-W32-0 was closed by mika at .*: made twice$/);
    }
    await house.json(0, ['reconcile', ID]);
    expect(house.tree()).toEqual(before);
    expect(house.submissions()).toHaveLength(2);
    expectWhole(house);
  });
});
