import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, SYNC, step } from './rig.ts';

const gated = [step('s1', { review: true, params: { text: 'one' } }), step('s2', { needs: ['s1'] })];

test.concurrent('generate goes up to a gate and says how to go on; a second one sends nothing', async () => {
  const house = await makeHouse();
  await house.allocate(gated);
  const first = await house.json(0, ['generate', ID]);
  expect(first).toMatchObject({
    status: 'awaiting-approval',
    cost: { currency: 'USD', settled: '0.40', reserved: '0' },
  });
  expect(first.steps.map(({ step: id, state, verdict }) => [id, state, verdict])).toEqual([
    ['s1', 'succeeded', 'proceed'],
    ['s2', 'waiting', null],
  ]);
  const { sha256 } = house.record().steps[0]!.attempts[0]!.files![0]!;
  expect(first.next).toEqual([`episode approve ${ID} --step s1 --sha256 ${sha256.slice(0, 12)}`]);

  const again = await house.json(0, ['generate', ID]);
  expect(again.steps.map(({ verdict }) => verdict)).toEqual([null, null]);
  expect(house.submissions()).toHaveLength(1);

  // The command that was printed, as it was printed.
  const approved = await house.json(0, first.next[0]!.split(' ').slice(1));
  expect(approved).toMatchObject({ status: 'complete', next: [], cost: { settled: '0.80' } });
  expect(house.record().approvals).toMatchObject([{ step: 's1', files: [{ sha256 }] }]);
  const replayed = await house.json(0, ['approve', ID]);
  expect(replayed.status).toBe('complete');
  // Whoever comes second is told who was first.
  const { by } = house.record().approvals[0]!;
  const second = await house.line(['approve', ID, '--by', 'lena']);
  expect([second.code, second.stderr]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^(episode: )?s1: approved by ${by} .*, which stays\n$`)),
  ]);
  expect(house.record().approvals).toHaveLength(1);
  expect(house.submissions()).toHaveLength(2);
  expectWhole(house);
});

test.concurrent('approve binds what the person saw, and nothing else', async () => {
  const house = await makeHouse();
  await house.allocate(gated);
  await house.json(0, ['generate', ID]);
  const { path, sha256 } = house.record().steps[0]!.attempts[0]!.files![0]!;

  const other = await house.json(10, ['approve', ID, '--sha256', '0123456789ab']);
  expect(other.error).toMatchObject({
    code: 'ARTIFACT_CHANGED',
    message: `the output of step s1 of ${ID} is take 1, ${sha256.slice(0, 12)}; you gave 0123456789ab`,
    hints: [
      `episode show ${ID}  # where it lies`,
      `episode approve ${ID} --step s1 --sha256 ${sha256.slice(0, 12)}  # once you have seen it`,
    ],
  });
  for (const hash of ['xyz', sha256.slice(0, 7), sha256.toUpperCase(), `${sha256}0`]) {
    expect((await house.json(64, ['approve', ID, '--sha256', hash])).error?.code).toBe('USAGE');
  }
  const original = readFileSync(join(house.root, path));
  writeFileSync(join(house.root, path), 'something else');
  const changed = await house.json(10, ['approve', ID, '--sha256', sha256]);
  expect(changed.error?.message).toMatch(/^episodes\/2026-W32-0\/s1\/take-1\/text\.txt is not what was recorded/);
  rmSync(join(house.root, path));
  mkdirSync(join(house.root, path));
  const directory = await house.json(10, ['approve', ID]);
  expect(directory.error?.message).toBe(
    `${path} is not what was recorded (${sha256.slice(0, 12)}…): it is a directory`,
  );
  expect(house.record().approvals).toEqual([]);

  rmdirSync(join(house.root, path));
  writeFileSync(join(house.root, path), original);
  await house.json(0, ['approve', ID, '--sha256', sha256, '--by', 'mika']);
  expect(house.record().approvals).toMatchObject([{ step: 's1', by: 'mika' }]);
  expectWhole(house);
});

test.concurrent('an approved output that changed on the disk is not paid on', async () => {
  const house = await makeHouse();
  await house.allocate([gated[0]!, step('s2', { inputs: [{ name: 'line', step: 's1' }] })]);
  await house.json(0, ['generate', ID]);
  const { path } = house.record().steps[0]!.attempts[0]!.files![0]!;
  // s2 is refused for want of funds, so that it stays ready behind the approval.
  house.script({ ...SYNC, outcome: { outcome: 'released', reason: 'insufficient_funds' } });
  await house.json(13, ['approve', ID]);
  writeFileSync(join(house.root, path), 'something else');
  house.script(SYNC);
  const refused = await house.json(10, ['generate', ID]);
  expect(refused.error?.code).toBe('ARTIFACT_CHANGED');
  expect(house.submissions()).toHaveLength(1);
  expectWhole(house);
});

describe('several gates', () => {
  const both = [step('s1', { review: true }), step('s2', { review: true, params: { text: 'two' } })];

  test.concurrent('are not approved by one word, and each is named with its command', async () => {
    const house = await makeHouse();
    await house.allocate(both);
    await house.json(0, ['generate', ID]);
    const hashes = house.record().steps.map(({ attempts }) => attempts[0]!.files![0]!.sha256.slice(0, 12));
    const refused = await house.json(64, ['approve', ID]);
    expect(refused.error).toMatchObject({
      code: 'USAGE',
      message: `s1 and s2 of ${ID} wait for approval: say which`,
      hints: [
        `episode approve ${ID} --step s1 --sha256 ${hashes[0]}`,
        `episode approve ${ID} --step s2 --sha256 ${hashes[1]}`,
      ],
    });
    const one = await house.json(64, ['approve', ID, '--step', 's1', 's2', '--sha256', hashes[0]!]);
    expect(one.error?.message).toBe('--sha256 names the output of one step: approve the steps one by one');
    await house.json(0, ['approve', ID, '--step', 's1', 's2']);
    expect(house.record()).toMatchObject({ status: 'complete', approvals: [{ step: 's1' }, { step: 's2' }] });
    expectWhole(house);
  });
});

test.concurrent('what cannot be approved says why', async () => {
  const house = await makeHouse();
  await house.allocate(gated);
  expect((await house.json(14, ['approve', ID])).error).toMatchObject({
    message: `nothing of ${ID} waits for approval`,
    hints: [`episode generate ${ID}`],
  });
  for (const [id, state] of [
    ['s1', 'ready'],
    ['s2', 'waiting'],
  ] as const) {
    for (const [verb, ...more] of [['approve'], ['reject', '--reason', 'x']]) {
      expect((await house.json(14, [verb!, ID, '--step', id, ...more])).error).toMatchObject({
        message: `step ${id} of ${ID}: it is ${state}, and has no output to ${verb}`,
        hints: [`episode generate ${ID}`],
      });
    }
  }
  expect((await house.json(64, ['approve', ID, '--step', 's9'])).error).toMatchObject({
    code: 'STEP_NOT_FOUND',
    message: `${ID} has no step s9`,
    hints: ['its steps are s1, s2', `episode show ${ID}`],
  });
  await house.json(0, ['generate', ID]);
  await house.json(0, ['approve', ID]);
  expect((await house.json(14, ['approve', ID, '--step', 's2'])).error?.message).toBe(
    `step s2 of ${ID}: its plan asks for no review`,
  );
  expectWhole(house);
});

test.concurrent('a rejected take is kept with its reason, and only a retry makes another one', async () => {
  const house = await makeHouse();
  await house.allocate(gated);
  await house.json(0, ['generate', ID]);
  const { path } = house.record().steps[0]!.attempts[0]!.files![0]!;
  const rejected = await house.json(0, ['reject', ID, '--step', 's1', '--reason', 'six fingers', '--by', 'mika']);
  expect(rejected).toMatchObject({
    status: 'failed',
    steps: [{ step: 's1', state: 'rejected' }, { step: 's2' }],
    next: [`episode retry ${ID} --step s1 --reason "…"`],
  });
  await house.json(0, ['reject', ID, '--step', 's1', '--reason', 'seven toes']);
  expect(house.record().steps[0]!.attempts[0]!.rejection).toMatchObject({ by: 'mika', reason: 'six fingers' });
  expect(readFileSync(join(house.root, path), 'utf8')).toBe('one');

  const stuck = await house.json(14, ['generate', ID]);
  expect(stuck.error).toMatchObject({
    code: 'STEP_NOT_READY',
    message: `step s1 of ${ID}: it was rejected by mika: six fingers`,
    hints: [`episode retry ${ID} --step s1 --reason "…"  # pays once more`],
  });
  expect(house.submissions()).toHaveLength(1);
  expect((await house.json(14, ['reject', ID, '--step', 's2', '--reason', 'x'])).error?.message).toBe(
    `step s2 of ${ID}: it is waiting, and has no output to reject`,
  );
  expectWhole(house);
});

test.concurrent('an episode without a plan, and a step that waits, say what is missing', async () => {
  const house = await makeHouse();
  await house.line(['allocate', '--key', 'bare', '--week', '2026-W32']);
  expect((await house.json(14, ['generate', ID])).error).toMatchObject({
    code: 'PLAN_MISSING',
    message: `${ID} has no plan yet`,
    hints: [`episode plan ${ID} --file FILE`],
  });
  const rejecting = ['reject', ID, '--step', 's1', '--reason', 'six fingers'];
  expect((await house.json(14, rejecting)).error?.code).toBe('PLAN_MISSING');
  await house.json(0, ['plan', ID, '--file', house.writePlan(gated)]);
  expect((await house.json(14, ['generate', ID, '--step', 's2'])).error).toMatchObject({
    code: 'STEP_NOT_READY',
    message: `step s2 of ${ID}: it needs s1 first`,
    hints: [`episode generate ${ID}`],
  });
  expect(house.submissions()).toEqual([]);
  expectWhole(house);
});
