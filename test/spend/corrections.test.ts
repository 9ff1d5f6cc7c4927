import { describe, expect, test } from 'vitest';
import { expectWhole, type House, ID, makeHouse, SYNC, scripted, step } from './rig.ts';

/** What a person said of a held step can be wrong, and is put right by a person as long as no output came of it. */

const generate = ['generate', ID];
const lost = { status: ['done'], at: { 'submit.after_charge': 'die' } };
const settle = (id: string, form: string[], evidence: string) => [
  ...['settle', ID, '--step', id, ...form],
  ...['--evidence', evidence, '--by', 'mika'],
];
const said = (house: House) =>
  house
    .record()
    .events.filter(({ event }) => event.startsWith('settled'))
    .map(({ event, step: of, ref, evidence, by }) => [event, of, ref ?? null, evidence, by]);

describe('a reference that was mistyped', () => {
  test.concurrent('is held when the provider does not know it, and corrected by the right one', async () => {
    const house = await makeHouse({ scenario: lost });
    await house.allocate([step('s1')]);
    await house.json(11, generate);
    const { ref } = house.submissions()[0]!;
    await house.json(0, settle('s1', ['--accepted', 'task_typo'], 'Requests, 09:44'));
    const held = await house.json(11, [...generate, '--wait', '0s']);
    expect(held.error).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: `step s1 of ${ID}: mika settled it as task_typo, and house calls that not_found; it is held`,
      hints: [
        `episode reconcile ${ID} --step s1  # asks house; free`,
        `episode settle ${ID} --step s1 --accepted REF --evidence "…"  # found at house`,
        `episode settle ${ID} --step s1 --not-accepted --evidence "…"  # surely not there; then: episode generate ${ID}`,
        `episode settle ${ID} --step s1 --write-off --evidence "…"  # cannot be known, its cost stays; then: episode retry …`,
      ],
    });
    await house.json(64, ['settle', ID, '--step', 's1', '--accepted', ref]);
    await house.json(0, settle('s1', ['--accepted', ref], 'read it again'));
    expect(said(house)).toEqual([
      ['settled: accepted', 's1', 'task_typo', 'Requests, 09:44', 'mika'],
      ['settled: accepted', 's1', ref, 'read it again', 'mika'],
    ]);
    expect(house.record()).toMatchObject({ status: 'generating', steps: [{ attempts: [{ ref, remote: null }] }] });
    const before = house.tree();
    await house.json(0, settle('s1', ['--accepted', ref], 'read it again'));
    expect(house.tree()).toEqual(before);
    expect(await house.json(0, ['reconcile', ID])).toMatchObject({ status: 'complete', cost: { settled: '0.40' } });
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('and names a task of somebody else that failed is corrected, and its price counts for nothing', async () => {
    const house = await makeHouse();
    const error = { state: 'error', reason: 'nsfw', cost: { amount: '0.07', unit: 'USD', basis: 'reported' } };
    await house.allocate([scripted('other', { status: [error] }), scripted('mine', lost)]);
    house.script({});
    await house.json(11, generate);
    const refOf = (index: number) =>
      house.submissions().find(({ attempt_id }) => attempt_id === house.record().steps[index]!.attempts[0]!.attempt_id)!
        .ref;
    const { error: taken } = await house.json(14, settle('mine', ['--accepted', refOf(0)], 'Requests'));
    expect(taken).toMatchObject({
      code: 'STEP_NOT_READY',
      message: `step mine of ${ID}: ${refOf(0)} is the reference of take 1 of step other`,
      hints: [`episode show ${ID}`],
    });

    // The same failure, under a reference that is nobody's here.
    const stranger = await makeHouse();
    await stranger.allocate([scripted('their', { status: [error] })]);
    stranger.script({});
    await stranger.json(12, generate);
    const { ref: strange } = stranger.submissions()[0]!;
    const env = { ADAPTER_HOME: stranger.home };
    await house.json(0, settle('mine', ['--accepted', strange], 'Requests'));
    await house.json(12, ['reconcile', ID], { env });
    expect(house.costs()[1]).toEqual({ step: 'mine', state: 'settled', amount: '0.07' });
    await house.json(0, settle('mine', ['--accepted', refOf(1)], 'read it again'));
    expect(house.costs()[1]).toEqual({ step: 'mine', state: 'reserved', amount: '0.40' });
    await house.line(['reconcile', ID]);
    expect(house.states().mine).toBe('succeeded');
    expectWhole(house);
  });

  test.concurrent('can also turn out to be no acceptance at all, and the other way round', async () => {
    const house = await makeHouse({ scenario: { ...lost, charge: false } });
    await house.allocate([step('s1')]);
    await house.json(11, generate);
    await house.json(0, settle('s1', ['--accepted', 'task_typo'], 'Requests'));
    await house.json(0, settle('s1', ['--not-accepted'], 'that was of another day'));
    expect(house.states()).toEqual({ s1: 'ready' });
    expect(house.record().steps[0]!.attempts[0]!.ref).toBe(null);
    expect(house.costs()).toEqual([{ step: 's1', state: 'released', amount: '0.40' }]);
    await house.json(0, settle('s1', ['--accepted', 'task_9'], 'on page 2'));
    expect(house.states()).toEqual({ s1: 'accepted' });
    expect(house.costs()).toEqual([{ step: 's1', state: 'reserved', amount: '0.40' }]);
    expectWhole(house);
  });

  test.concurrent('is past correcting once its output is here, and what is done then is said', async () => {
    const house = await makeHouse({ scenario: lost });
    await house.allocate([step('s1')]);
    await house.json(11, generate);
    const { ref } = house.submissions()[0]!;
    await house.json(0, settle('s1', ['--accepted', ref], 'Requests'));
    await house.json(0, ['reconcile', ID]);
    const before = house.tree();
    expect((await house.json(14, settle('s1', ['--accepted', 'task_9'], 'really'))).error).toMatchObject({
      code: 'STEP_NOT_READY',
      message: `step s1 of ${ID}: it succeeded as ${ref}, and its output is here`,
      hints: [`episode reject ${ID} --step s1 --reason "…"  # if it is not the right one; then: episode retry …`],
    });
    expect(house.tree()).toEqual(before);
    expectWhole(house);
  });
});

test.concurrent('what the provider itself accepted is not settled as something else; it can be given up', async () => {
  const house = await makeHouse({ scenario: { status: ['running'], outcome: { outcome: 'accepted', ref: 'task_1' } } });
  await house.allocate([step('s1')]);
  await house.json(75, [...generate, '--wait', '0s']);
  for (const form of [['--accepted', 'task_9'], ['--not-accepted']]) {
    expect((await house.json(14, settle('s1', form, 'really'))).error).toMatchObject({
      message: `step s1 of ${ID}: house itself accepted it as task_1`,
      hints: [
        `episode reconcile ${ID} --step s1  # asks for it again; free`,
        `episode settle ${ID} --step s1 --accepted task_1 --output FILE --evidence "…"  # FILE is its result`,
        `episode settle ${ID} --step s1 --write-off --evidence "…"  # cannot be had any more, its cost stays; then: episode retry …`,
      ],
    });
  }
  expectWhole(house);
});

test.concurrent('what cannot be settled says how the step goes on', async () => {
  const house = await makeHouse({ scenario: { ...SYNC, outcome: { outcome: 'released', reason: 'auth' } } });
  await house.allocate([step('s1'), step('s2', { needs: ['s1'] })]);
  const cannot = async (id: string) => {
    const { error } = await house.json(14, settle(id, ['--not-accepted'], 'seen'));
    return [error?.message, ...error!.hints];
  };
  expect(await cannot('s1')).toEqual([
    `step s1 of ${ID}: it is not started, and nothing about it can be settled so`,
    `episode generate ${ID}`,
  ]);
  await house.json(12, generate);
  const failed = [`episode retry ${ID} --step s1 --reason "…"`];
  expect(await cannot('s1')).toEqual([
    `step s1 of ${ID}: it is failed, and nothing about it can be settled so`,
    ...failed,
  ]);
  expect(await cannot('s2')).toEqual([
    `step s2 of ${ID}: it is not started, and nothing about it can be settled so`,
    ...failed,
  ]);
  expectWhole(house);
});

test.concurrent('that nothing was bought is said of the newest take, unless another one is named', async () => {
  const house = await makeHouse({ scenario: { ...SYNC, at: { 'submit.after_charge': 'die' } } });
  await house.allocate([step('s1')]);
  await house.json(11, ['generate', ID]);
  const settle = (...words: string[]) => ['settle', ID, '--step', 's1', '--evidence', 'looked', ...words];
  await house.json(0, settle('--write-off'));
  house.script(SYNC);
  await house.json(0, ['retry', ID, '--step', 's1', '--reason', 'once more']);
  // Typed for take 1, and late: it must not release what take 1 may have cost.
  expect((await house.json(14, settle('--not-accepted'))).error?.message).toContain('it succeeded');
  expect(house.costs().map(({ state }) => state)).toEqual(['possible', 'settled']);
  expect((await house.json(14, settle('--not-accepted', '--take', '3'))).error?.message).toContain('it has no take 3');
  expect((await house.json(64, settle('--not-accepted', '--take', 'one'))).error?.code).toBe('USAGE');
  expect((await house.json(64, settle('--resend', '--take', '1'))).error?.code).toBe('USAGE');
  await house.json(0, settle('--not-accepted', '--take', '1'));
  expect(house.costs().map(({ state }) => state)).toEqual(['released', 'settled']);
  expectWhole(house);
});
