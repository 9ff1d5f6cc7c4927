import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, SILENT, SYNC, scripted, step } from './rig.ts';

const generate = ['generate', ID];
const released = (reason: string, more: object = {}) => ({
  ...SYNC,
  outcome: { outcome: 'released', reason, ...more },
});

describe('an outcome that nobody knows', () => {
  test.concurrent.each<[string, object, Record<string, [object, string]>]>([
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
    const held = await house.line([...generate, '--json']);
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
    expect((held.json.next as string[]).slice(0, 5)).toEqual([
      `episode reconcile ${ID} --step ${ids[0]}`,
      `episode settle ${ID} --step ${ids[0]} --accepted REF --evidence "…"`,
      `episode settle ${ID} --step ${ids[0]} --accepted REF --output FILE --evidence "…"`,
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

test.concurrent('a hold comes before a missing credential of another step', async () => {
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
  test.concurrent.each([
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

  test.concurrent('is a failure all the same when the provider refuses what was asked', async () => {
    const house = await makeHouse();
    const reasons = ['invalid_input', 'auth', 'content_rejected', 'something_new'];
    await house.allocate(reasons.map((reason) => scripted(reason, { outcome: { outcome: 'released', reason } })));
    expect((await house.json(12, generate)).error?.code).toBe('STEP_FAILED');
    expect(new Set(Object.values(house.states()))).toEqual(new Set(['failed']));
    expect(new Set(house.costs().map(({ state }) => state))).toEqual(new Set(['released']));
    expectWhole(house);
  });

  test.concurrent('keeps its cost as possible where the provider does not say that it is free', async () => {
    const house = await makeHouse({ scenario: released('invalid_input', { billable: 'unknown' }) });
    await house.allocate([step('s1')]);
    await house.json(12, generate);
    expect(house.costs()).toEqual([{ step: 's1', state: 'possible', amount: '0.40' }]);
    expectWhole(house);
  });
});

test.concurrent('want of funds ends all further starts at that provider, and the steps stay ready', async () => {
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

test.concurrent('an adapter that talks nonsense before it sent anything needs a person, and its step stays ready', async () => {
  const house = await makeHouse({ scenario: { ...SYNC, at: { 'submit.before_sending': 'garbage' } } });
  await house.allocate([step('s1')]);
  const broken = await house.json(76, generate);
  expect(broken.error).toMatchObject({
    code: 'PROVIDER_PROTOCOL',
    hints: [`mend the adapter behind house; then: episode generate ${ID}`],
  });
  expect(broken.steps).toMatchObject([{ state: 'ready' }]);
  house.script(SYNC);
  await house.json(0, generate);
  expect(house.submissions()).toHaveLength(1);
  expectWhole(house);
});

test.concurrent('a step that a person says was not accepted says who, and how that is known', async () => {
  const house = await makeHouse({ scenario: { ...SYNC, at: { 'submit.after_charge': 'die' } } });
  await house.allocate([step('s1')]);
  await house.json(11, generate);
  const evidence = ['--evidence', 'billing page shows nothing', '--by', 'mika'];
  await house.json(0, ['settle', ID, '--step', 's1', '--not-accepted', ...evidence]);
  expect((await house.run(['show', ID])).stdout).toContain(
    'mika says that it was not accepted: billing page shows nothing',
  );
});
