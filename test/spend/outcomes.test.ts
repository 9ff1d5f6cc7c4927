import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, SILENT, SYNC, step } from './rig.ts';

const generate = ['generate', ID];
const released = (reason: string, more: object = {}) => ({
  ...SYNC,
  outcome: { outcome: 'released', reason, ...more },
});

/** A step whose submission and task go by a scenario of their own. */
const scripted = (id: string, scenario: object) => step(id, { params: { scenario } });

describe('an outcome that nobody knows', () => {
  test.each<[string, object, Record<string, [object, string]>]>([
    [
      'of an adapter that announces when it sends',
      SYNC,
      {
        garbage: [{ at: { 'submit.after_charge': 'garbage' } }, 'it sent'],
        cut: [{ at: { 'submit.before_answer': ['cut', 'exit:0'] } }, 'it exited with code 0 before it answered'],
        death: [{ at: { 'submit.after_charge': 'die' } }, 'it was ended by SIGKILL before it answered'],
        error: [{ at: { 'submit.after_charge': 'error:boom' } }, 'it answered the error "boom"'],
        unsure: [{ outcome: { outcome: 'unknown', reason: 'http_503' } }, 'http_503'],
        early: [{ at: { 'submit.after_sending': 'exit:3' } }, 'it exited with code 3 before it answered'],
      },
    ],
    [
      'of an adapter that gives no promise, from its start on',
      SILENT,
      {
        death: [{ at: { 'submit.request': 'die' } }, 'it was ended by SIGKILL before it answered'],
        error: [{ at: { 'submit.request': 'error:boom' } }, 'it answered the error "boom"'],
      },
    ],
  ])('is held, %s, and nothing is sent again', async (_what, scenario, cases) => {
    const house = await makeHouse({ scenario });
    const ids = Object.keys(cases);
    await house.allocate([...ids.map((id) => scripted(id, cases[id]![0])), step('after', { needs: ids })]);
    const held = await house.run([...generate, '--json']);
    expect(held.code).toBe(11);
    expect(held.json).toMatchObject({
      status: 'held',
      steps: [
        ...ids.map((id) => ({
          step: id,
          state: 'unknown',
          verdict: 'unknown',
          cost: { state: 'possible', amount: '0.40' },
        })),
        { step: 'after', state: 'waiting' },
      ],
    });
    for (const id of ids)
      expect(held.stderr).toMatch(new RegExp(`step ${id} of ${ID}: house may have .*${cases[id]![1]}`));
    expect((held.json.next as string[]).slice(0, 4)).toEqual([
      `episode reconcile ${ID} --step ${ids[0]}`,
      `episode settle ${ID} --step ${ids[0]} --accepted REF --evidence "…"`,
      `episode settle ${ID} --step ${ids[0]} --not-accepted --evidence "…"`,
      `episode settle ${ID} --step ${ids[0]} --write-off --evidence "…"`,
    ]);
    const before = house.tree();
    const sent = house.submissions().length;
    expect((await house.json(11, generate)).error?.code).toBe('OUTCOME_UNKNOWN');
    expect(house.submissions()).toHaveLength(sent);
    expect(house.tree()).toEqual(before);
    expectWhole(house);
  });
});

test('a hold comes before a missing credential of another step', async () => {
  const house = await makeHouse({ scenario: { ...SYNC, at: { 'submit.after_charge': 'die' } } });
  await house.allocate([
    step('s1'),
    step('s2', { provider: 'assembly', kind: 'video', needs: ['s1'] }),
    step('s3', { needs: ['s2'] }),
  ]);
  await house.json(11, generate);
  await house.json(0, ['plan', ID, '--file', house.writePlan([step('s1'), step('s9', { params: { text: 'nine' } })])]);
  const held = await house.run([...generate, '--json'], { env: { ADAPTER_SCENARIO: undefined } });
  expect(held.code).toBe(11);
  expect(held.json.error?.code).toBe('OUTCOME_UNKNOWN');
  expect(held.stderr).toContain(
    'house needs ADAPTER_SCENARIO, found nowhere; nothing was claimed [CREDENTIAL_MISSING]',
  );
  expectWhole(house);
});

describe('what provably bought nothing', () => {
  test.each([
    ['death before it announced to send', { ...SYNC, at: { 'submit.before_sending': 'die' } }],
    ['throttling', released('throttled')],
  ])('is sent again by a later generate, after %s', async (_what, scenario) => {
    const house = await makeHouse({ scenario });
    await house.allocate([step('s1')]);
    const refused = await house.json(69, generate);
    expect(refused).toMatchObject({ error: { code: 'PROVIDER_UNREACHABLE' }, steps: [{ state: 'ready' }] });
    expect(refused.next).toEqual([`episode generate ${ID}`]);
    expect(house.submissions()).toEqual([]);
    house.script(SYNC);
    await house.json(0, generate);
    expect(house.submissions()).toHaveLength(1);
    expect(house.costs()).toEqual([
      { step: 's1', state: 'released', amount: '0.40' },
      { step: 's1', state: 'settled', amount: '0.40' },
    ]);
    const [first, second] = house.record().steps[0]!.attempts;
    expect(first!.client_ref).not.toBe(second!.client_ref);
    expectWhole(house);
  });

  test('is a failure all the same when the provider refuses what was asked', async () => {
    const house = await makeHouse();
    const reasons = ['invalid_input', 'auth', 'content_rejected', 'something_new'];
    await house.allocate(reasons.map((reason) => scripted(reason, { outcome: { outcome: 'released', reason } })));
    expect((await house.json(12, generate)).error?.code).toBe('STEP_FAILED');
    expect(new Set(Object.values(house.states()))).toEqual(new Set(['failed']));
    expect(new Set(house.costs().map(({ state }) => state))).toEqual(new Set(['released']));
    expectWhole(house);
  });

  test('keeps its cost as possible where the provider does not say that it is free', async () => {
    const house = await makeHouse({ scenario: released('invalid_input', { billable: 'unknown' }) });
    await house.allocate([step('s1')]);
    await house.json(12, generate);
    expect(house.costs()).toEqual([{ step: 's1', state: 'possible', amount: '0.40' }]);
    expectWhole(house);
  });
});

test('want of funds ends all further starts at that provider, and the steps stay ready', async () => {
  const house = await makeHouse({ scenario: released('insufficient_funds') });
  const steps = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => step(id));
  await house.allocate([
    ...steps,
    step('free', { provider: 'local', kind: 'image', params: { width: 32, height: 32 } }),
  ]);
  const broke = await house.json(13, generate);
  expect(broke.error).toMatchObject({
    code: 'FUNDS_REFUSED',
    message: `house says there are no funds; step a of ${ID} stays ready`,
    hints: [`top up at house, then: episode generate ${ID}`],
  });
  // Four are worked on at once, so that up to four may have been under way.
  const tried = house
    .record()
    .steps.filter(({ attempts }) => attempts.length > 0)
    .map(({ id }) => id);
  expect(tried.filter((id) => ['e', 'f'].includes(id))).toEqual([]);
  expect(house.states()).toMatchObject({ a: 'ready', e: 'ready', f: 'ready' });
  expect(house.submissions()).toEqual([]);
  house.script(SYNC);
  expect(await house.json(0, generate)).toMatchObject({ status: 'complete' });
  expect(house.submissions()).toHaveLength(6);
  expectWhole(house);
});

describe('a task that the provider works on', () => {
  test('is followed to its end, at the cost it reports', async () => {
    const house = await makeHouse({ scenario: { price: '0.375', status: ['queued', 'running', 'done'] } });
    await house.allocate([step('s1')]);
    expect(await house.json(0, generate)).toMatchObject({
      status: 'complete',
      cost: { settled: '0.375', reserved: '0' },
    });
    expectWhole(house);
  });

  test('is said to be running when it is not waited for, and another generate goes on with it', async () => {
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

  test('and that fails there keeps the cost that the provider names', async () => {
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

  test('and that it calls unknown or expired is no failure', async () => {
    const house = await makeHouse({ scenario: { status: ['not_found'] } });
    await house.allocate([step('s1'), scripted('s2', { status: ['expired', 'done'] })]);
    const lost = await house.run([...generate, '--wait', '0s']);
    expect(lost.code).toBe(75);
    expect(lost.stderr).toMatch(/step s1 .* \(house says: not_found\)[^]*step s2 .* \(house says: expired\)/);
    house.script({ status: ['done'] });
    await house.json(0, ['reconcile', ID]);
    expect(house.record().status).toBe('complete');
    expect(house.submissions()).toHaveLength(2);
    expectWhole(house);
  });

  test('and whose result is cut is asked for again without paying', async () => {
    const house = await makeHouse();
    house.script({ status: ['done'] });
    // A picture that is none.
    await house.allocate([step('s1', { kind: 'image', params: { source: 'plan.json' } })]);
    const cut = await house.json(76, generate);
    expect(cut.error?.hints).toContain(`episode reconcile ${ID} --step s1          asks for it again; free`);
    expect(house.states()).toEqual({ s1: 'running' });
    await house.json(76, ['reconcile', ID]);
    expect(house.submissions()).toHaveLength(1);
    await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'it is broken there, too']);
    expect(house.costs()).toEqual([{ step: 's1', state: 'possible', amount: '0.40' }]);
    expectWhole(house);
  });

  test('and whose cost nobody tells is recorded at its worst case', async () => {
    const house = await makeHouse({ scenario: { cost: { error: 'later' } } });
    const worst = { estimate: { amount: '0.50', unit: 'USD' } };
    const silent = { outcome: { outcome: 'accepted', ref: 'task_x' }, cost: { amount: null, unit: 'USD' } };
    await house.allocate([step('s1', worst), step('s2', { ...worst, params: { scenario: silent } })]);
    const ran = await house.run(generate);
    expect(ran.stderr).toContain('house does not say what s1 cost; it is recorded at its worst case');
    expect(ran.code).toBe(0);
    expect(house.costs()).toEqual([
      { step: 's1', state: 'settled', amount: '0.40' },
      { step: 's2', state: 'settled', amount: '0.50' },
    ]);
    expectWhole(house);
  });
});

describe('ways out of a hold', () => {
  const lost = { status: ['done'], at: { 'submit.after_charge': 'die' } };

  test('reconcile adopts what the provider shows, and pays nothing', async () => {
    const house = await makeHouse({ scenario: lost });
    await house.allocate([step('s1')]);
    await house.json(11, generate);
    expect(await house.json(0, ['reconcile', ID])).toMatchObject({ status: 'complete', cost: { settled: '0.40' } });
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test('reconcile releases only what is provably not there', async () => {
    const unsure = { capabilities: { lookup: { proves: { present: true, absent: false } } } };
    const house = await makeHouse({ scenario: { sheet: unsure, charge: false, at: { 'submit.after_charge': 'die' } } });
    await house.allocate([step('s1')]);
    await house.json(11, generate);
    // The sheet of the claim counts, not what the adapter says by now.
    house.script({});
    const held = await house.run(['reconcile', ID]);
    expect(held.code).toBe(11);
    expect(held.stderr).toContain('house on s1: not listed, which proves nothing yet');

    const sure = await makeHouse({ scenario: { charge: false, at: { 'submit.after_charge': 'die' } } });
    await sure.allocate([step('s1')]);
    await sure.json(11, generate);
    await sure.json(0, ['reconcile', ID]);
    expect(sure.states()).toEqual({ s1: 'ready' });
    expect(sure.costs()).toEqual([{ step: 's1', state: 'released', amount: '0.40' }]);
    expectWhole(house);
    expectWhole(sure);
  });

  test('settle records who said what on which evidence; the same again changes nothing', async () => {
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

  test('a write-off that was paid again is adopted when it turns up after all', async () => {
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
  test('spends nothing any more, and is closed only when nothing is open', async () => {
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
