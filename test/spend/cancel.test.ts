import { beforeAll, describe, expect, test } from 'vitest';
import { cancel } from '../../src/cancel.ts';
import { EpisodeError } from '../../src/errors.ts';
import { generate } from '../../src/generate.ts';
import { reconcile } from '../../src/reconcile.ts';
import { settle } from '../../src/settle.ts';
import { checkLedger } from '../ledger-check.ts';
import { type Desk, fake, gate, makeDesk, sheet } from './desk.ts';
import { expectWhole, ID, makeHouse, scripted, step } from './rig.ts';

/** Stopping what a provider accepted: asked is not stopped, and nothing here is ever paid. */

const generateNow = ['generate', ID, '--wait', '0s'];
const cancelStep = (id = 's1') => ['cancel', ID, '--step', id];

/** A show whose steps run at their provider. */
async function running(scenario: object, steps = [step('s1')]) {
  const house = await makeHouse({
    scenario: { status: ['running'], outcome: { outcome: 'accepted', ref: 'task_1' }, ...scenario },
  });
  await house.allocate(steps);
  await house.json(75, generateNow);
  return house;
}

describe('cancel', () => {
  test.concurrent('stops a task for certain, at what the provider says it costs; the same again asks nobody', async () => {
    // The answer says nothing of money; asked about the task, the provider does.
    const house = await running({});
    const canceled = await house.json(0, cancelStep());
    expect(canceled).toMatchObject({
      status: 'failed',
      steps: [{ step: 's1', state: 'canceled', verdict: 'proceed', ref: 'task_1', cost: { state: 'released' } }],
      cost: { settled: '0', reserved: '0', possible: '0' },
      next: [`episode retry ${ID} --step s1 --reason "…"`],
    });
    expect(house.record().events.at(-1)).toMatchObject({ event: 'cancel: canceled', step: 's1' });
    const before = house.tree();
    house.script({ at: { start: 'exit:1' } });
    expect(await house.json(0, cancelStep())).toMatchObject({ steps: [{ state: 'canceled', verdict: 'replay' }] });
    expect(house.tree()).toEqual(before);
    const shown = await house.line(['show', ID]);
    expect(shown.stdout).toMatch(/^ {2}canceled {2}s1 {2}house {2,}0 {2}by \S+ \w{3} \d\d:\d\d$/m);

    house.script({ status: ['done'] });
    expect(await house.json(0, ['retry', ID, '--step', 's1', '--reason', 'again'])).toMatchObject({
      status: 'complete',
    });
    expect(house.submissions()).toHaveLength(2);
    expectWhole(house);
  });

  test.concurrent('that was only asked for is no more than that: it runs on, and reconcile tells', async () => {
    const house = await running({ cancel: { state: 'requested', definite: false } });
    const asked = await house.json(75, cancelStep());
    expect(asked).toMatchObject({
      status: 'generating',
      steps: [{ state: 'running', cost: { state: 'reserved', amount: '0.40' } }],
      error: {
        code: 'STILL_RUNNING',
        message: `step s1 of ${ID}: house was asked to cancel task_1 and answers "requested"; until it says more it runs, and may be charged`,
        hints: [`episode reconcile ${ID} --step s1  # tells what became of it; free`],
      },
    });
    // Again is safe, and leaves one event.
    await house.json(75, cancelStep());
    const events = house.record().events.filter(({ event }) => event.startsWith('cancel'));
    expect(events.map(({ event }) => event)).toEqual(['cancel: requested (requested)']);
    expect((await house.line(['show', ID])).stdout).toMatch(
      /ref task_1, running since .*; asked to cancel \w{3} \d\d:\d\d/,
    );

    house.script({ status: [{ state: 'canceled', billable: 'yes', cost: { amount: '0.125', unit: 'USD' } }] });
    const told = await house.json(12, ['reconcile', ID]);
    expect(told.error?.message).toMatch(/^step s1 of 2026-W32-0 failed at house: canceled, as \S+ asked$/);
    expect(house.states()).toEqual({ s1: 'canceled' });
    expect(house.costs()).toEqual([{ step: 's1', state: 'settled', amount: '0.125' }]);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('that comes too late says what it came too late for, and how to get it', async () => {
    const house = await running({ cancel: { state: 'done', definite: true } });
    for (const time of ['first', 'second']) {
      const late = await house.json(14, cancelStep());
      expect([time, late.error]).toMatchObject([
        time,
        {
          code: 'STEP_NOT_READY',
          message: `step s1 of ${ID}: it is too late to cancel task_1: house says that it is done`,
          hints: [`episode reconcile ${ID} --step s1  # brings the result home; free`],
        },
      ]);
    }
    expect(house.record().steps[0]!.attempts[0]!.remote).toMatchObject({ state: 'done' });
    house.script({ status: ['done'] });
    expect(await house.json(0, ['reconcile', ID])).toMatchObject({ status: 'complete', cost: { settled: '0.40' } });

    const failed = await running({ cancel: { state: 'error', definite: true, reason: 'nsfw', billable: 'no' } });
    for (const _time of ['first', 'second']) {
      expect((await failed.json(14, cancelStep())).error).toMatchObject({
        message: `step s1 of ${ID}: it is failed, and there is nothing to cancel`,
        hints: [`episode retry ${ID} --step s1 --reason "…"`],
      });
    }
    expect(failed.costs()).toEqual([{ step: 's1', state: 'released', amount: '0.40' }]);
    expectWhole(house);
    expectWhole(failed);
  });

  test.concurrent('keeps the worst case where nobody says what the canceled task costs', async () => {
    const house = await running({ cancel: { state: 'canceled', definite: true }, status: ['running'] });
    await house.json(0, cancelStep());
    expect(house.costs()).toEqual([{ step: 's1', state: 'possible', amount: '0.40' }]);
    expectWhole(house);
  });

  test.concurrent('is refused where the provider has no way to, by what it said at the claim', async () => {
    const none = { sheet: { capabilities: { cancel: 'none' } } };
    const house = await running(none);
    const refused = {
      code: 'CANCEL_UNSUPPORTED',
      message: `step s1 of ${ID}: house has no way to cancel task_1; nothing was asked or changed`,
      hints: [
        `cancel task_1 in the console of house, if it has one; then: episode reconcile ${ID} --step s1`,
        `episode settle ${ID} --step s1 --write-off --evidence "…"  # gives it up; its cost stays`,
      ],
    };
    // A later version of the adapter that could does not reinterpret the claim.
    house.script({ status: ['running'] });
    const before = house.tree();
    expect((await house.json(12, cancelStep())).error).toMatchObject(refused);
    expect((await house.line(['show', ID])).stdout).not.toContain('episode cancel');
    expect(house.tree()).toEqual(before);

    const could = await running({});
    expect((await could.run(['show', ID])).stdout).toContain(`\nor stop it: episode cancel ${ID} --step s1\n`);
    could.script({ ...none, status: ['running'] });
    expect((await could.json(12, cancelStep())).error).toMatchObject(refused);
    expect(could.states()).toEqual({ s1: 'running' });
    expectWhole(house);
    expectWhole(could);
  });

  test.concurrent('of what has no task at a provider names how it stands', async () => {
    const house = await makeHouse({ scenario: { status: ['done'] } });
    await house.allocate([
      step('done'),
      scripted('lost', { at: { 'submit.after_charge': 'exit:1' } }),
      scripted('refused', { outcome: { outcome: 'released', reason: 'invalid_input' } }),
      scripted('slow', { outcome: { outcome: 'released', reason: 'throttled' } }),
      step('later', { needs: ['lost'] }),
    ]);
    await house.json(11, ['generate', ID]);
    const before = house.tree();
    for (const [id, said] of [
      ['done', 'succeeded'],
      ['refused', 'failed'],
      ['slow', 'ready'],
      ['later', 'waiting'],
    ] as const) {
      const { error } = await house.json(14, cancelStep(id));
      expect([error?.code, error?.message]).toEqual([
        'STEP_NOT_READY',
        `step ${id} of ${ID}: it is ${said}, and there is nothing to cancel`,
      ]);
    }
    const unknown = await house.json(11, cancelStep('lost'));
    expect(unknown.error?.message).toContain('without a reference nothing can be canceled');
    expect(unknown.error?.hints).toHaveLength(4);
    expect((await house.json(64, cancelStep('nothing'))).error?.code).toBe('STEP_NOT_FOUND');
    expect((await house.json(64, ['cancel', ID])).error?.message).toBe('--step is missing');
    expect((await house.json(66, ['cancel', '2026-W32-9', '--step', 's1'])).error?.code).toBe('EPISODE_NOT_FOUND');
    expect(house.tree()).toEqual(before);
    expectWhole(house);
  });

  test.concurrent('that gets no answer changes nothing, and says so', async () => {
    const house = await running({ cancel: { error: 'down' } });
    const before = house.tree();
    const down = await house.json(69, cancelStep());
    expect(down.error?.message).toContain(`step s1 of ${ID}: house gave no answer to "cancel"`);
    expect(house.tree()).toEqual(before);
    expectWhole(house);
  });
});

describe('cancel beside other commands', () => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await makeDesk();
  });
  const wanted = { step: null, maxCost: null, waitMs: 0 };
  const accept = async () => ({ outcome: 'accepted', ref: 'task_1' }) as const;
  const able = { sheet: sheet({ cancel: 'always' }), status: async () => ({ state: 'running' }) as const };

  test('undoes nothing that came home while it asked', async () => {
    const id = await desk.allocate([step('s1')]);
    await generate(desk.services(fake(accept, able)), id, wanted);
    const answering = gate();
    const slow = fake(accept, {
      ...able,
      cancel: () => answering.pass().then(() => ({ state: 'canceled', definite: true, billable: 'no' })),
    });
    const canceling = cancel(desk.services(slow), id, 's1');
    await answering.arrived;
    await reconcile(desk.services(fake(accept)), id, { step: null });
    answering.open();
    expect((await canceling).failures.map(({ message }) => message)).toEqual([
      `step s1 of ${id}: it is succeeded, and there is nothing to cancel`,
    ]);
    const record = await desk.read(id);
    expect([record.status, record.costs[0]!.state]).toEqual(['complete', 'settled']);
  });

  test('is not undone by the answer of the submission itself', async () => {
    const id = await desk.allocate([step('s1')]);
    const answering = gate();
    const slow = fake(async (_submission, events) => {
      await events.sending();
      await events.accepted('task_1');
      await answering.pass();
      return { outcome: 'accepted', ref: 'task_1' };
    }, able);
    const sending = generate(desk.services(slow), id, wanted);
    await answering.arrived;
    const free = fake(accept, { ...able, cancel: async () => ({ state: 'canceled', definite: true, billable: 'no' }) });
    expect((await cancel(desk.services(free), id, 's1')).failures).toEqual([]);
    answering.open();
    await sending;
    const record = await desk.read(id);
    expect([record.steps[0]!.state, record.costs[0]!.state]).toEqual(['canceled', 'released']);
  });

  test('believes no word that it does not know, and no certainty about what is gone', async () => {
    const id = await desk.allocate([step('s1')]);
    await generate(desk.services(fake(accept, able)), id, wanted);
    for (const said of [
      { state: 'stopped', definite: true },
      { state: 'canceled', definite: false },
    ]) {
      const { failures } = await cancel(desk.services(fake(accept, { ...able, cancel: async () => said })), id, 's1');
      expect(failures.map(({ code }) => code)).toEqual(['STILL_RUNNING']);
    }
    const gone = fake(accept, { ...able, status: async () => ({ state: 'not_found' }) });
    await reconcile(desk.services(gone), id, { step: null });
    const ignorant = fake(accept, { ...able, cancel: async () => ({ state: 'not_found', definite: false }) });
    const { failures } = await cancel(desk.services(ignorant), id, 's1');
    expect(failures.map(({ code }) => code)).toEqual(['OUTCOME_UNKNOWN']);
    await settle(desk.services(gone), id, 's1', { form: 'write_off', by: 'mika', evidence: 'gone' });
    await expect(cancel(desk.services(ignorant), id, 's1')).rejects.toThrow(
      'it is written off, and there is nothing to cancel',
    );
  });

  test('is refused while the step is being sent', async () => {
    const id = await desk.allocate([step('s1')]);
    const answering = gate();
    const slow = fake(async () => {
      await answering.pass();
      return { outcome: 'accepted', ref: 'task_1' };
    }, able);
    const sending = generate(desk.services(slow), id, wanted);
    await answering.arrived;
    const refused = await cancel(desk.services(slow), id, 's1').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(EpisodeError);
    expect((refused as EpisodeError).code).toBe('ATTEMPT_IN_FLIGHT');
    answering.open();
    await sending;
  });

  test('leaves a ledger that is whole', () => {
    expect(checkLedger(desk.root)).toEqual([]);
  });
});
