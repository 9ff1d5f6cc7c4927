import { expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, SYNC, step } from './rig.ts';

const wait = (...more: string[]) => ['wait', ID, ...more];

test.concurrent('wait ends when the episode is complete, whoever completes it', async () => {
  const house = await makeHouse({ scenario: { status: ['running'] } });
  await house.allocate([step('s1')]);
  await house.json(75, ['generate', ID, '--wait', '0s']);
  const waiting = house.start(wait('--json', '--timeout', '60s'));
  house.script({ status: ['done'] });
  await house.json(0, ['generate', ID]);
  const { code, json } = await waiting.done;
  expect([code, json.status]).toEqual([0, 'complete']);
  expect((await house.run(wait())).stdout).toBe(`${ID}  complete\n`);
  expectWhole(house);
});

test.concurrent('wait for an approval ends at the gate, and wait for completion does not', async () => {
  const house = await makeHouse();
  await house.allocate([step('s1', { review: true })]);
  await house.json(0, ['generate', ID]);
  expect(await house.json(0, wait('--for', 'approval'))).toMatchObject({ holds: [{ what: 'approval', step: 's1' }] });
  expect((await house.json(75, wait('--timeout', '0s'))).error).toMatchObject({
    code: 'WAIT_TIMEOUT',
    message: `${ID} is awaiting-approval, not yet complete`,
    hints: [`episode show ${ID}`, `episode wait ${ID} --for complete`],
  });
  for (const args of [wait('--for', 'ever'), wait('--timeout', 'soon'), wait('--timeout', '')]) {
    expect((await house.json(64, args)).error?.code).toBe('USAGE');
  }
  expectWhole(house);
});

test.concurrent('wait does not wait for what only a person ends', async () => {
  const house = await makeHouse({ scenario: { ...SYNC, at: { 'submit.after_charge': 'exit:1' } } });
  await house.allocate([step('s1')]);
  await house.json(11, ['generate', ID]);
  expect((await house.json(11, wait())).error?.code).toBe('OUTCOME_UNKNOWN');
  await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'no answer', '--by', 'mika']);
  expect((await house.json(14, wait())).error?.message).toContain('it was written off by mika');
  house.script({ ...SYNC, outcome: { outcome: 'released', reason: 'invalid_input', message: 'no such voice' } });
  await house.json(12, ['retry', ID, '--step', 's1', '--reason', 'x']);
  expect((await house.json(12, wait())).error?.message).toBe(
    `step s1 of ${ID} failed at house: invalid_input: no such voice`,
  );
  await house.json(0, ['close', ID, '--reason', 'enough']);
  expect((await house.json(14, wait())).error?.code).toBe('EPISODE_CLOSED');
  expectWhole(house);
});
