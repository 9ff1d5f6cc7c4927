import { describe, expect, test } from 'vitest';
import { approve } from '../../src/approve.ts';
import { EpisodeError } from '../../src/errors.ts';
import { generate } from '../../src/generate.ts';
import { wait } from '../../src/wait.ts';
import { fake, makeDesk } from './desk.ts';
import { expectWhole, ID, makeHouse, SYNC, step } from './rig.ts';

const waiting = (...more: string[]) => ['wait', ID, ...more];
const GOALS = ['complete', 'approval'] as const;

test.concurrent('wait ends when the episode is complete, whoever completes it', async () => {
  const house = await makeHouse({ scenario: { status: ['running'] } });
  await house.allocate([step('s1')]);
  await house.json(75, ['generate', ID, '--wait', '0s']);
  const started = house.start(waiting('--json', '--timeout', '60s'));
  house.script({ status: ['done'] });
  await house.json(0, ['generate', ID]);
  const { code, json } = await started.done;
  expect([code, json.status]).toEqual([0, 'complete']);
  for (const goal of GOALS) expect((await house.line(waiting('--for', goal))).stdout).toBe(`${ID}  complete\n`);
  expectWhole(house);
});

test.concurrent('wait for an approval ends at the gate; wait for completion goes on, for a person may approve', async () => {
  const house = await makeHouse();
  await house.allocate([step('s1', { review: true })]);
  await house.json(0, ['generate', ID]);
  expect(await house.json(0, waiting('--for', 'approval'))).toMatchObject({
    holds: [{ what: 'approval', step: 's1' }],
  });
  const { sha256 } = house.record().steps[0]!.attempts[0]!.files![0]!;
  expect((await house.json(75, waiting('--timeout', '0s'))).error).toMatchObject({
    code: 'WAIT_TIMEOUT',
    message: `${ID} is awaiting-approval, not yet complete`,
    hints: [
      `episode approve ${ID} --step s1 --sha256 ${sha256.slice(0, 12)}`,
      `episode show ${ID}`,
      `episode wait ${ID} --for complete`,
    ],
  });
  const said = (await house.run(waiting('--timeout', '0s'))).stderr;
  expect(said.split('\n')[0]).toMatch(/^waiting for a person: s1 wants approval: episode approve /);
  for (const args of [waiting('--for', 'ever'), waiting('--timeout', 'soon'), waiting('--timeout', '')]) {
    expect((await house.json(64, args)).error?.code).toBe('USAGE');
  }
  expectWhole(house);
});

test.concurrent('wait for what runs at a provider ends in time, with the command that brings it home', async () => {
  const house = await makeHouse({ scenario: { status: ['running'] } });
  await house.allocate([step('s1', { review: true })]);
  await house.json(75, ['generate', ID, '--wait', '0s']);
  for (const goal of GOALS) {
    expect((await house.json(75, waiting('--for', goal, '--timeout', '0s'))).error).toMatchObject({
      code: 'WAIT_TIMEOUT',
      message: `${ID} is generating, not yet ${goal === 'approval' ? 'at a gate' : 'complete'}`,
      hints: [`episode generate ${ID}`, `episode show ${ID}`, `episode wait ${ID} --for ${goal}`],
    });
  }
  expectWhole(house);
});

test.concurrent('wait does not wait for what only a person ends', async () => {
  const house = await makeHouse({ scenario: { ...SYNC, at: { 'submit.after_charge': 'exit:1' } } });
  await house.allocate([step('s1')]);
  await house.json(11, ['generate', ID]);
  const both = async (code: number) => {
    const [complete, approval] = await Promise.all(GOALS.map((goal) => house.json(code, waiting('--for', goal))));
    expect(complete!.error).toEqual(approval!.error);
    return complete!.error!;
  };
  expect((await both(11)).code).toBe('OUTCOME_UNKNOWN');
  await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'no answer', '--by', 'mika']);
  expect((await both(14)).message).toContain('it was written off by mika');
  house.script({ ...SYNC, outcome: { outcome: 'released', reason: 'invalid_input', message: 'no such voice' } });
  await house.json(12, ['retry', ID, '--step', 's1', '--reason', 'x']);
  expect((await both(12)).message).toBe(`step s1 of ${ID} failed at house: invalid_input: no such voice`);
  await house.json(0, ['close', ID, '--reason', 'enough']);
  expect((await both(14)).code).toBe('EPISODE_CLOSED');
  expectWhole(house);
});

describe('what nobody works on', () => {
  test.concurrent('is not waited for: an episode that nothing was done about, with the command that begins it', async () => {
    const house = await makeHouse();
    await house.line(['allocate', '--key', 'bare', '--week', '2026-W32']);
    for (const goal of GOALS) {
      expect((await house.json(14, waiting('--for', goal))).error).toMatchObject({
        code: 'PLAN_MISSING',
        message: `${ID} has no plan yet`,
        hints: [`episode plan ${ID} --file FILE`],
      });
    }
    await house.json(0, ['plan', ID, '--file', house.writePlan([step('s1')])]);
    for (const goal of GOALS) {
      expect((await house.json(14, waiting('--for', goal))).error).toMatchObject({
        code: 'STEP_NOT_READY',
        message: `${ID} is planned, and nobody works on it: waiting changes nothing`,
        subject: ID,
        hints: [`episode generate ${ID}`],
      });
    }
    expectWhole(house);
  });

  test('is waited for between two steps, and no longer', async () => {
    const desk = await makeDesk();
    const id = await desk.allocate([step('s1'), step('s2', { needs: ['s1'] })]);
    const provider = fake(async () => ({ outcome: 'accepted', ref: 'task_1' }));
    await generate(desk.services(provider), id, { step: 's1', maxCost: null, waitMs: 0 });
    const began = Date.now();
    let now = began;
    const clock = {
      now: () => now,
      async sleep(ms: number) {
        now += ms;
      },
    };
    const ended = wait(desk.services(provider, clock), id, { for: 'complete', timeoutMs: 3_600_000 });
    await expect(ended).rejects.toThrow(
      new EpisodeError('STEP_NOT_READY', `${id} is generating, and nobody works on it: waiting changes nothing`, {
        subject: id,
        hints: [`episode generate ${id}`],
      }),
    );
    expect(now - began).toBe(90_000);
  });

  test('but a person is waited for, however long an approval takes', async () => {
    const desk = await makeDesk();
    const id = await desk.allocate([step('s1', { review: true })]);
    const provider = fake(async () => ({ outcome: 'accepted', ref: 'task_1' }));
    await generate(desk.services(provider), id, { step: null, maxCost: null, waitMs: 0 });
    let now = Date.now();
    let looks = 0;
    const clock = {
      now: () => now,
      async sleep(ms: number) {
        now += ms;
        looks += 1;
        const said = { steps: [], sha256: null, by: 'mika', maxCost: null, waitMs: 0 };
        if (looks === 200) await approve(desk.services(provider), id, said);
      },
    };
    const shown = await wait(desk.services(provider, clock), id, { for: 'complete', timeoutMs: 3_600_000 });
    expect([shown.status, looks]).toEqual(['complete', 200]);
  });

  test('is waited for anew whenever its record changes', async () => {
    const desk = await makeDesk();
    const steps = ['s1', 's2', 's3', 's4'].map((id, index) => step(id, index > 0 ? { needs: [`s${index}`] } : {}));
    const id = await desk.allocate(steps);
    const provider = fake(async ({ client_ref }) => ({ outcome: 'accepted', ref: client_ref }));
    const make = (one: string) => generate(desk.services(provider), id, { step: one, maxCost: null, waitMs: 0 });
    await make('s1');
    let now = Date.now();
    let looks = 0;
    const clock = {
      now: () => now,
      async sleep(ms: number) {
        now += ms;
        looks += 1;
        if (looks % 80 === 0) await make(`s${looks / 80 + 1}`);
      },
    };
    const shown = await wait(desk.services(provider, clock), id, { for: 'complete', timeoutMs: 3_600_000 });
    expect([shown.status, looks]).toEqual(['complete', 240]);
  });
});
