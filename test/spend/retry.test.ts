import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, SYNC, step } from './rig.ts';

const REFUSED = { ...SYNC, outcome: { outcome: 'released', reason: 'invalid_input', message: 'no such voice' } };
const UNKNOWN = { ...SYNC, at: { 'submit.after_charge': 'die' } };

const retry = (reason: string, ...more: string[]) => ['retry', ID, '--step', 's1', '--reason', reason, ...more];

test.concurrent('a definite failure is sent again by retry only, once for each reason', async () => {
  const house = await makeHouse({ scenario: REFUSED });
  await house.allocate([step('s1')]);
  const failed = await house.json(12, ['generate', ID]);
  expect(failed.error).toMatchObject({
    code: 'STEP_FAILED',
    message: `step s1 of ${ID} failed at house: invalid_input: no such voice`,
    hints: [`episode retry ${ID} --step s1 --reason "…"  # pays once more`],
  });
  expect(house.costs()).toEqual([{ step: 's1', state: 'released', amount: '0.40' }]);

  const second = await house.json(12, retry('once more'));
  expect(second.steps).toMatchObject([{ step: 's1', state: 'failed', verdict: 'proceed' }]);
  expect((await house.json(12, retry('once more'))).steps).toMatchObject([{ state: 'failed', verdict: 'replay' }]);

  house.script(SYNC);
  expect((await house.json(12, ['generate', ID])).error?.code).toBe('STEP_FAILED');
  expect(house.submissions()).toEqual([]);

  const retried = await house.json(0, retry('voice mended'));
  expect(retried.steps).toMatchObject([{ step: 's1', state: 'succeeded', verdict: 'proceed' }]);
  const replayed = await house.json(0, retry('voice mended'));
  expect(replayed.steps).toMatchObject([{ verdict: 'replay', attempt_id: retried.steps[0]!.attempt_id }]);
  expect(house.submissions()).toHaveLength(1);

  expect((await house.json(14, retry('another reason'))).error).toMatchObject({
    message: `step s1 of ${ID}: it succeeded, and retrying pays again`,
    hints: [`episode reject ${ID} --step s1 --reason "…"  # then it can be retried`],
  });
  expect(house.record().steps[0]!.attempts.map(({ verb, reason }) => [verb, reason])).toEqual([
    ['generate', null],
    ['retry', 'once more'],
    ['retry', 'voice mended'],
  ]);
  expectWhole(house);
});

test.concurrent('after a rejection the takes stay, and a used reason pays nothing again', async () => {
  const house = await makeHouse();
  await house.allocate([step('s1', { params: { text: 'one' } })]);
  await house.json(0, ['generate', ID]);
  await house.json(0, ['reject', ID, '--step', 's1', '--reason', 'six fingers', '--by', 'mika']);
  await house.json(0, retry('six fingers'));
  await house.json(0, ['reject', ID, '--step', 's1', '--reason', 'seven fingers', '--by', 'mika']);
  const used = await house.json(14, retry('six fingers'));
  expect(used).toMatchObject({
    steps: [{ state: 'rejected', verdict: 'replay' }],
    error: {
      code: 'STEP_NOT_READY',
      message: `step s1 of ${ID}: the reason "six fingers" was used already, for take 2, which was rejected by mika: seven fingers; another take needs a new reason`,
      hints: [`episode retry ${ID} --step s1 --reason "…"  # with a new reason; pays once more`],
    },
  });
  expect(house.submissions()).toHaveLength(2);
  await house.json(0, retry('seven fingers'));
  const takes = house.record().steps[0]!.attempts.map(({ files }) => files![0]!.path);
  expect(takes).toEqual([1, 2, 3].map((take) => `episodes/${ID}/s1/take-${take}/text.txt`));
  for (const take of takes) expect(readFileSync(join(house.root, take), 'utf8')).toBe('one');
  expect(house.costs().map(({ state }) => state)).toEqual(['settled', 'settled', 'settled']);
  expectWhole(house);
});

test.concurrent('a used reason whose take came to nothing says what became of that take', async () => {
  const house = await makeHouse({ scenario: REFUSED });
  await house.allocate([step('s1')]);
  await house.json(12, ['generate', ID]);
  // As long as it is this very command that fails, it is a failure like any other.
  const why = 'failed at house: invalid_input: no such voice';
  expect((await house.json(12, retry('again'))).error?.message).toBe(`step s1 of ${ID} ${why}`);
  const used = (take: number, fate: string) =>
    `step s1 of ${ID}: the reason "again" was used already, for take ${take}, which ${fate}; another take needs a new reason`;
  expect((await house.json(12, retry('again'))).error).toMatchObject({
    code: 'STEP_FAILED',
    message: used(2, why),
    hints: [`episode retry ${ID} --step s1 --reason "…"  # with a new reason; pays once more`],
  });
  // Also when another take came after it.
  await house.json(12, retry('once more'));
  expect((await house.json(12, retry('again'))).error?.message).toBe(used(2, why));

  const lost = await makeHouse({ scenario: REFUSED });
  await lost.allocate([step('s1')]);
  await lost.json(12, ['generate', ID]);
  lost.script(UNKNOWN);
  const held = await lost.json(11, retry('again'));
  expect((await lost.json(11, retry('again'))).error).toEqual(held.error);
  await lost.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'no answer', '--by', 'mika']);
  expect((await lost.json(14, retry('again'))).error?.message).toBe(
    used(2, 'was written off by mika, and whether it was made is not known'),
  );
  expectWhole(house);
  expectWhole(lost);
});

test.concurrent('what costs nothing is never said to be paid once more', async () => {
  const pure = { sheet: { capabilities: { submit: 'sync', pure: true } } };
  const house = await makeHouse({ scenario: { ...REFUSED, ...pure } });
  await house.allocate([step('s1')]);
  const again = `episode retry ${ID} --step s1 --reason "…"`;
  expect((await house.json(12, ['generate', ID])).error?.hints).toEqual([
    `episode plan ${ID} --file FILE  # with s1 mended in FILE`,
    `${again}  # makes it once more; free`,
  ]);
  await house.json(12, retry('again'));
  expect((await house.json(12, retry('again'))).error?.hints).toEqual([`${again}  # with a new reason; free`]);
  house.script({ ...SYNC, ...pure });
  await house.json(0, retry('mended'));
  await house.json(0, ['reject', ID, '--step', 's1', '--reason', 'too dark']);
  expect((await house.json(14, ['generate', ID])).error?.hints).toEqual([`${again}  # makes it once more; free`]);
  expectWhole(house);
});

test.concurrent('an unknown outcome is never retried, and a written-off one is, once', async () => {
  const house = await makeHouse({ scenario: UNKNOWN });
  await house.allocate([step('s1')]);
  await house.json(11, ['generate', ID]);
  house.script(SYNC);
  expect((await house.json(11, retry('impatient'))).error?.code).toBe('OUTCOME_UNKNOWN');
  expect((await house.json(11, retry('impatient', '--dry-run'))).error?.code).toBe('OUTCOME_UNKNOWN');
  expect(house.submissions()).toHaveLength(1);

  await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'no answer', '--by', 'mika']);
  expect((await house.json(14, ['generate', ID])).error?.message).toBe(
    `step s1 of ${ID}: it was written off by mika, and whether it was made is not known`,
  );
  expect(house.submissions()).toHaveLength(1);
  await house.json(0, retry('support does not answer'));
  await house.json(0, retry('support does not answer'));
  expect(house.submissions()).toHaveLength(2);
  expect(house.costs().map(({ state }) => state)).toEqual(['possible', 'settled']);
  expectWhole(house);
});

test.concurrent('retry of what was never tried, waits, or is not there says so', async () => {
  const house = await makeHouse();
  await house.allocate([step('s1'), step('s2', { needs: ['s1'] })]);
  expect((await house.json(14, retry('x'))).error).toMatchObject({
    message: `step s1 of ${ID}: it is ready, and nothing of it failed`,
    hints: [`episode generate ${ID} --step s1`],
  });
  expect((await house.json(14, ['retry', ID, '--step', 's2', '--reason', 'x'])).error).toMatchObject({
    message: `step s2 of ${ID}: it needs s1 first`,
  });
  expect((await house.json(64, ['retry', ID, '--step', 's9', '--reason', 'x'])).error?.code).toBe('STEP_NOT_FOUND');
  for (const args of [
    ['retry', ID, '--step', 's1'],
    ['retry', ID, '--step', 's1', '--reason', ''],
    ['retry', ID, '--step', '', '--reason', 'x'],
    ['retry', ID, '--reason', 'x'],
  ]) {
    expect((await house.json(64, args)).error?.code).toBe('USAGE');
  }
  expect(house.submissions()).toEqual([]);
  expectWhole(house);
});

test.concurrent('a retry that bought nothing may be asked for again with the same reason', async () => {
  const house = await makeHouse({ scenario: REFUSED });
  await house.allocate([step('s1')]);
  await house.json(12, ['generate', ID]);
  house.script({ ...SYNC, outcome: { outcome: 'released', reason: 'throttled', retry_after: 7 } });
  expect((await house.json(69, retry('again'))).error).toMatchObject({
    code: 'PROVIDER_UNREACHABLE',
    message: `step s1 of ${ID}: house accepted nothing (throttled); it asks to wait 7 s`,
  });
  house.script(SYNC);
  await house.json(0, retry('again'));
  await house.json(0, retry('again'));
  expect(house.submissions()).toHaveLength(1);
  expectWhole(house);
});

describe('a changed plan', () => {
  const plan = (text: string, ...more: Parameters<typeof step>[]) => [
    step('s1', { params: { text } }),
    ...more.map((args) => step(...args)),
  ];

  test.concurrent('makes stale what it changes and all that was made of it; nothing is paid until a person retries', async () => {
    const house = await makeHouse();
    const follows: Parameters<typeof step> = ['s2', { inputs: [{ name: 'line', step: 's1' }] }];
    await house.allocate(plan('one', follows));
    await house.json(0, ['generate', ID]);
    const merged = await house.json(0, ['plan', ID, '--file', house.writePlan(plan('two', follows))]);
    expect(merged).toMatchObject({ verdict: 'proceed', changed: ['s1'], added: [], left_out: [], stale: ['s1', 's2'] });
    expect(house.record()).toMatchObject({ status: 'complete' });
    expect(house.states()).toEqual({ s1: 'stale', s2: 'stale' });
    await house.json(0, ['generate', ID]);
    expect(house.submissions()).toHaveLength(2);

    await house.json(0, retry('new words'));
    expect(house.states()).toEqual({ s1: 'succeeded', s2: 'stale' });
    await house.json(0, retry('new words'));
    expect(house.submissions()).toHaveLength(3);
    expect((await house.json(0, ['plan', ID, '--file', 'plan.json'])).verdict).toBe('replay');
    expectWhole(house);
  });

  test.concurrent('is refused for a step that is unknown, and taken for all others', async () => {
    const house = await makeHouse({ scenario: UNKNOWN });
    await house.allocate(plan('one'));
    await house.json(11, ['generate', ID]);
    for (const steps of [plan('two'), [step('s2')]]) {
      const refused = await house.json(75, ['plan', ID, '--file', house.writePlan(steps)]);
      expect(refused.error).toMatchObject({
        code: 'PLAN_IN_USE',
        message: `step s1 of ${ID} is unknown, and the new plan changes or removes it`,
      });
      expect((await house.json(75, ['plan', ID, '--file', 'plan.json', '--dry-run'])).error?.code).toBe('PLAN_IN_USE');
    }
    const merged = await house.json(0, ['plan', ID, '--file', house.writePlan(plan('one', ['s2']))]);
    expect(merged).toMatchObject({ added: ['s2'], changed: [] });
    expectWhole(house);
  });

  test.concurrent('leaves steps out: they are skipped, their takes and costs stay', async () => {
    const house = await makeHouse();
    await house.allocate(plan('one', ['s2']));
    await house.json(0, ['generate', ID]);
    const merged = await house.json(0, ['plan', ID, '--file', house.writePlan(plan('one'))]);
    expect(merged).toMatchObject({ left_out: ['s2'], stale: [] });
    expect(house.record()).toMatchObject({ status: 'complete' });
    expect(house.states()).toEqual({ s1: 'succeeded', s2: 'skipped' });
    expect(house.costs()).toHaveLength(2);
    await house.json(0, ['plan', ID, '--file', house.writePlan(plan('one', ['s2']))]);
    expect(house.states()).toEqual({ s1: 'succeeded', s2: 'succeeded' });
    await house.json(0, ['generate', ID]);
    expect(house.submissions()).toHaveLength(2);
    expectWhole(house);
  });

  test.concurrent('of an episode that is not there is not even read', async () => {
    const house = await makeHouse();
    expect((await house.json(66, ['plan', '2026-W32-7', '--file', 'nowhere.json'])).error?.code).toBe(
      'EPISODE_NOT_FOUND',
    );
    const file = house.writePlan([step('s1', { provider: 'fal' })]);
    expect((await house.json(66, ['plan', '2026-W32-7', '--file', file])).error?.code).toBe('EPISODE_NOT_FOUND');
    expectWhole(house);
  });
});

describe('reassemble', () => {
  /** A plan whose film is made by ffmpeg out of a still that the adapter copies from the show. */
  const filmed = (text: string) => [
    step('s1', { params: { text } }),
    step('clip', { provider: 'local', kind: 'video', params: { seconds: 1, caption: text, width: 64, height: 48 } }),
    step('film', { provider: 'assembly', kind: 'video', needs: ['clip'] }),
  ];

  test.concurrent('makes a new revision of what changed, keeps the old one, and replays when nothing did', async () => {
    const house = await makeHouse();
    await house.allocate(filmed('one'));
    await house.json(0, ['generate', ID]);
    const first = house.history().episodes[0]!;
    const replayed = await house.json(0, ['reassemble', ID]);
    expect(replayed.steps.find(({ step: id }) => id === 'film')).toMatchObject({ verdict: 'replay' });
    expect(house.record().steps.find(({ id }) => id === 'film')!.attempts).toHaveLength(1);

    await house.json(0, ['plan', ID, '--file', house.writePlan(filmed('two'))]);
    await house.json(0, ['retry', ID, '--step', 'clip', '--reason', 'new words']);
    expect(house.states()).toMatchObject({ clip: 'succeeded', film: 'stale' });
    const again = await house.json(0, ['reassemble', ID]);
    expect(again).toMatchObject({ status: 'complete' });
    const films = house.record().steps.find(({ id }) => id === 'film')!.attempts;
    expect(films.map(({ verb }) => verb)).toEqual(['generate', 'reassemble']);
    for (const { files } of films)
      expect(readFileSync(join(house.root, files![0]!.path)).length).toBe(files![0]!.bytes);
    const second = house.history().episodes[0]!;
    expect(second.media_sha256).toBe(films[1]!.files![0]!.sha256);
    expect(second.media_sha256).not.toBe(first.media_sha256);
    expect(second.completed_at).toBe(first.completed_at);

    // A film that was damaged on the disk is made again, too.
    rmSync(join(house.root, films[1]!.files![0]!.path));
    await house.json(0, ['reassemble', ID]);
    expect(house.record().steps.find(({ id }) => id === 'film')!.attempts).toHaveLength(3);
    await house.json(0, ['reassemble', ID]);
    expect(house.record().steps.find(({ id }) => id === 'film')!.attempts).toHaveLength(3);

    // A clip that was changed on the disk is no material.
    const clip = house
      .record()
      .steps.find(({ id }) => id === 'clip')!
      .attempts.at(-1)!.files![0]!.path;
    writeFileSync(join(house.root, clip), 'no film');
    rmSync(
      join(
        house.root,
        house
          .record()
          .steps.find(({ id }) => id === 'film')!
          .attempts.at(-1)!.files![0]!.path,
      ),
    );
    expect((await house.json(10, ['reassemble', ID])).error?.code).toBe('ARTIFACT_CHANGED');
    expectWhole(house);
  });

  test.concurrent('needs an assembly in the plan, and all of its clips', async () => {
    const house = await makeHouse();
    await house.allocate([step('s1')]);
    expect((await house.json(14, ['reassemble', ID])).error).toMatchObject({
      message: `step assembly of ${ID}: the plan has no assembly step`,
      hints: [`episode plan ${ID} --file FILE`],
    });
    await house.json(0, ['plan', ID, '--file', house.writePlan(filmed('one'))]);
    expect((await house.json(14, ['reassemble', ID])).error).toMatchObject({
      message: `step film of ${ID}: it needs clip first`,
      hints: [`episode generate ${ID}`],
    });
    expectWhole(house);
  });
});
