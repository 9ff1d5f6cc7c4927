import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, SYNC, step } from './rig.ts';

/** What people read at 23:40, whole, at a known time. Friday 7 August 2026, 09:00 in Tokyo, is midnight UTC. */
const FRIDAY = '2026-08-07T00:00:00Z';
const NIGHT = '2026-08-07T14:40:00Z';
const tokyo = { time_zone: 'Asia/Tokyo' };
const at = (now: string) => ({ now });

test.concurrent('show and list of a held episode say what happened, what is at risk, and every way out', async () => {
  const unproving = { sheet: { capabilities: { lookup: { proves: { present: true, absent: false } } } } };
  const house = await makeHouse({ config: tokyo, scenario: { ...unproving, status: ['done'] } });
  const lost = { at: { 'submit.after_charge': 'exit:1' } };
  await house.line(
    ['allocate', '--key', 'older', '--week', '2026-W31', '--plan', house.writePlan([step('a')])],
    at('2026-07-31T00:00:00Z'),
  );
  await house.json(0, ['generate', '2026-W31-0'], at('2026-07-31T00:10:00Z'));
  await house.allocate([
    step('s1', { review: true }),
    step('s2', { params: { prompt: 'harbour at dawn', scenario: lost } }),
    step('s3', { params: { text: 'three' } }),
    step('film', { provider: 'assembly', kind: 'video', needs: ['s1', 's2', 's3'] }),
  ]);
  await house.json(11, ['generate', ID], at('2026-08-07T00:44:10Z'));
  await house.json(11, ['approve', ID, '--by', 'mika'], at('2026-08-07T00:45:00Z'));
  await house.json(
    0,
    ['reject', ID, '--step', 's3', '--reason', 'six fingers', '--by', 'mika'],
    at('2026-08-07T00:46:00Z'),
  );
  await house.json(0, ['retry', ID, '--step', 's3', '--reason', 'six fingers'], at('2026-08-07T00:50:00Z'));

  // Its provider lists nothing of it, and cannot prove that there is nothing.
  house.script({ ...unproving, lookup: { found: 'absent', complete: true } });
  await house.json(11, ['reconcile', ID], at('2026-08-07T14:30:00Z'));
  const shown = await house.line(['show', ID], at(NIGHT));
  expect([shown.code, shown.stderr]).toEqual([0, '']);
  const { client_ref } = house.record().steps[1]!.attempts[0]!;
  expect(shown.stdout).toBe(
    `2026-W32-0  HELD   key release-1   1.20 settled + up to 0.40 possible, of 20.00 USD
  ok       s1    house       0.40  approved by mika Fri 09:45
  UNKNOWN  s2    house     <=0.40  sent Fri 09:44:10, it exited with code 1 before it answered; held 13 h 55 min
  ok       s3    house       0.80  made Fri 09:50; take 2 (take 1 rejected: "six fingers")
  waiting  film  assembly    free  needs s2
house may have made and charged s2. Nothing is sent again until one of these:
  episode reconcile 2026-W32-0 --step s2                             # asks house; free; last asked Fri 23:30: not listed (house cannot prove absence)
  episode settle 2026-W32-0 --step s2 --accepted REF --evidence "…"  # found at house (Fri 09:44, "harbour at dawn")
  episode settle 2026-W32-0 --step s2 --not-accepted --evidence "…"  # surely not there; then: episode generate 2026-W32-0
  episode settle 2026-W32-0 --step s2 --write-off --evidence "…"     # cannot be known, 0.40 stays; then: episode retry …
  it was sent as ${client_ref}
`,
  );
  const document = await house.json(0, ['show', ID], at(NIGHT));
  expect(document.holds).toEqual([
    {
      step: 's2',
      what: 'unknown',
      since: '2026-08-07T00:44:10.000Z',
      at_risk: { amount: '0.40', unit: 'USD' },
      asked: { at: '2026-08-07T14:30:00.000Z', said: 'not listed (house cannot prove absence)' },
      called: { client_ref, ref: null, evidence: { adapter: 'it exited with code 1 before it answered' } },
      commands: document.next,
    },
  ]);

  const listed = await house.line(['list'], at(NIGHT));
  expect(listed.stdout).toBe(
    `NEEDS YOU  2026-W32-0  held      s2 unknown 13 h 55 min, 0.40 USD at risk  episode show 2026-W32-0
DONE       2026-W31-0  complete  0.40 USD
`,
  );
  // Of a Friday that was not the last one.
  expect((await house.line(['show', '2026-W31-0'], at(NIGHT))).stdout).toContain('made Fri 2026-07-31 09:10\n');
  const why = await house.line(['why', ID], at(NIGHT));
  expect(why.stdout).toContain('  Fri 2026-08-07 09:45 Asia/Tokyo  approved s1, mika\n');
  expect(why.stdout).toContain('  Fri 2026-08-07 09:46 Asia/Tokyo  rejected s3, mika: six fingers\n');
  expectWhole(house);
});

test.concurrent('show of every other way a step can stand says what it is and what is next', async () => {
  const house = await makeHouse({ config: tokyo });
  const scripted = (id: string, scenario: object) => step(id, { params: { scenario } });
  await house.allocate([
    step('gate', { review: true }),
    scripted('failed', { outcome: { outcome: 'released', reason: 'invalid_input', message: 'no such voice' } }),
    scripted('again', { outcome: { outcome: 'released', reason: 'throttled', message: 'slow down' } }),
    scripted('lost', { at: { 'submit.after_charge': 'exit:1' } }),
    step('after', { needs: ['gate'] }),
    step('later', { needs: ['after'] }),
  ]);
  await house.line(['generate', ID], at(FRIDAY));
  const settled = await house.line(
    ['settle', ID, '--step', 'lost', '--write-off', '--evidence', 'no answer', '--by', 'mika'],
    at(FRIDAY),
  );
  expect(settled.stdout).toContain('\n  written off  lost    <=0.40\n');
  const { sha256 } = house.record().steps[0]!.attempts[0]!.files![0]!;
  const shown = await house.line(['show', ID], at(NIGHT));
  expect(shown.stdout).toBe(
    `2026-W32-0  failed   key release-1   0.40 settled + up to 0.40 possible, of 20.00 USD
  review       gate    house    0.40  waits for approval since Fri 09:00
  failed       failed  house       0  no such voice
  ready        again   house       0  nothing was bought: slow down
  written off  lost    house  <=0.40  by mika Fri 09:00: no answer
  waiting      after   house          needs gate
  waiting      later   house          needs after
next: episode approve ${ID} --step gate --sha256 ${sha256.slice(0, 12)}
next: episode retry ${ID} --step failed --reason "…"
next: episode generate ${ID}
next: episode retry ${ID} --step lost --reason "…"
`,
  );
  const listed = await house.line(['list'], at(NIGHT));
  expect(listed.stdout).toBe(
    `NEEDS YOU  2026-W32-0  approval  gate since Fri 09:00              episode approve ${ID} --step gate --sha256 ${sha256.slice(0, 12)}
           2026-W32-0  failed    failed failed since Fri 09:00     episode retry ${ID} --step failed --reason "…"
           2026-W32-0  failed    lost written off since Fri 09:00  episode retry ${ID} --step lost --reason "…"
`,
  );
  expectWhole(house);
});

test.concurrent('list tells what runs, what is open and what is done, and keeps old work short', async () => {
  const house = await makeHouse({ config: tokyo, scenario: { ...SYNC } });
  const file = house.writePlan([step('s1')]);
  for (let key = 0; key < 6; key += 1) {
    await house.line(['allocate', '--key', `done-${key}`, '--week', '2026-W31', '--plan', file]);
    await house.line(['generate', `2026-W31-${key}`]);
  }
  house.script({ status: [{ state: 'running', progress: 0.42 }] });
  await house.allocate([step('s1'), step('s2', { needs: ['s1'] })]);
  await house.line(['generate', ID, '--wait', '0s']);
  await house.line(['allocate', '--key', 'bare', '--week', '2026-W32']);
  const titled = { format: 1, title: 'Ebb', steps: [step('s1')] };
  writeFileSync(join(house.root, 'titled.json'), JSON.stringify(titled));
  await house.line(['allocate', '--key', 'titled', '--week', '2026-W32', '--plan', 'titled.json']);
  const other = house.writePlan([step('s1', { params: { text: 'other' } })]);
  await house.json(0, ['plan', '2026-W31-5', '--file', other]);
  const listed = await house.line(['list']);
  expect(listed.stdout).toBe(
    `RUNNING  2026-W32-0  generating          0 of 2; s1 at house 42 %
OPEN     2026-W32-2  planned             0 of 1 steps; Ebb         episode generate 2026-W32-2
         2026-W32-1  allocated           no plan yet               episode plan 2026-W32-1 --file FILE
DONE     2026-W31-5  complete, s1 stale  0.40 USD
         2026-W31-4  complete            0.40 USD
         2026-W31-3  complete            0.40 USD
         2026-W31-2  complete            0.40 USD
         2026-W31-1  complete            0.40 USD     (1 older: --all)
`,
  );
  expect((await house.line(['list', '--all'])).stdout.split('\n')).toHaveLength(10);
  expect((await house.json(0, ['list', '--week', '2026-W32'])).episodes).toHaveLength(3);
  expect(house.read('history/2026-W31.json')).toContain('"episode_id": "2026-W31-5"');
  expectWhole(house);
});

test.concurrent('a week holds several completed episodes side by side, and a new revision updates its own', async () => {
  const house = await makeHouse();
  const media = (text: string) => [step('s1', { role: 'media', params: { text } })];
  for (const text of ['one', 'two', 'three']) await house.allocate(media(text), text);
  for (const sequence of [2, 0, 1]) await house.json(0, ['generate', `2026-W32-${sequence}`]);
  const before = house.history();
  expect(before.episodes.map(({ episode_id, allocation_key }) => [episode_id, allocation_key])).toEqual([
    ['2026-W32-0', 'one'],
    ['2026-W32-1', 'two'],
    ['2026-W32-2', 'three'],
  ]);
  expect(before.episodes[0]).toMatchObject({
    cost: [{ unit: 'USD', settled: '0.40', reserved: '0', possible: '0', unpriced: 0 }],
    references: [{ step: 's1', provider: 'house', ref: house.record('2026-W32-0').steps[0]!.attempts[0]!.ref }],
  });
  await house.json(0, ['plan', '2026-W32-1', '--file', house.writePlan(media('zwei'))]);
  await house.json(0, ['retry', '2026-W32-1', '--step', 's1', '--reason', 'in German']);
  const after = house.history();
  expect(after.revision).toBeGreaterThan(before.revision);
  expect([after.episodes[0], after.episodes[2]]).toEqual([before.episodes[0], before.episodes[2]]);
  expect(after.episodes[1]).toMatchObject({
    completed_at: before.episodes[1]!.completed_at,
    cost: [{ settled: '0.80' }],
    media_sha256: house.record('2026-W32-1').steps[0]!.attempts[1]!.files![0]!.sha256,
  });
  expectWhole(house);
});

describe('cost', () => {
  test.concurrent('shows every charge as a table, as JSON and as lines for a spreadsheet; units stay apart', async () => {
    const house = await makeHouse();
    const scripted = (id: string, scenario: object, more = {}) => step(id, { params: { scenario }, ...more });
    await house.allocate([
      scripted('dollars', { price: '0.375' }),
      scripted('lost', { at: { 'submit.after_charge': 'exit:1' } }, { needs: ['dollars'], quantity: { seconds: '8' } }),
      scripted(
        'refused',
        { outcome: { outcome: 'released', reason: 'auth' } },
        { needs: ['dollars'], quantity: { seconds: '8' } },
      ),
      step('free', { provider: 'local', kind: 'image', params: { width: 32, height: 32 } }),
    ]);
    await house.json(11, ['generate', ID], at(FRIDAY));
    // A charge in another unit, as a provider reports it.
    house.script({ status: ['done'], cost: { amount: '12', unit: 'credits', basis: 'reported', final: true } });
    await house.allocate([step('s1')], 'second');
    await house.json(0, ['generate', '2026-W32-1'], at(FRIDAY));

    const day = '2026-08-07T00:00:00.000Z';
    const [first, second, third] = house.record().costs.map(({ attempt_id }) => attempt_id);
    const [dollars, credits] = [house.record(), house.record('2026-W32-1')].map(
      ({ steps }) => steps[0]!.attempts[0]!.ref!,
    );
    const all = await house.line(['cost']);
    expect(all.stdout).toBe(
      `at                        episode     step     take  provider  reference          state     amount  unit     basis     quantities
${day}  2026-W32-0  dollars  1     house     ${dollars}  settled   0.375   USD      quoted
${day}  2026-W32-0  lost     1     house                        possible  0.40    USD      plan      seconds=8
${day}  2026-W32-0  refused  1     house                        released  0       USD      plan
${day}  2026-W32-1  s1       1     house     ${credits}  settled   12      credits  reported
0.375 settled + up to 0.40 possible USD
12 settled credits
`,
    );
    const csv = await house.line(['cost', ID, '--csv']);
    expect(csv.stdout).toBe(
      [
        'sent_at,at,episode_id,step,take,attempt_id,provider,reference,state,amount,unit,basis,quantities',
        `${day},${day},${ID},dollars,1,${first},house,${dollars},settled,0.375,USD,quoted,`,
        `${day},${day},${ID},lost,1,${second},house,,possible,0.40,USD,plan,seconds=8`,
        `${day},${day},${ID},refused,1,${third},house,,released,0,USD,plan,`,
        '',
      ].join('\r\n'),
    );
    const week = await house.json(0, ['cost', '--week', '2026-W32']);
    expect(week.rows).toHaveLength(4);
    expect(week.totals).toEqual([
      { unit: 'USD', settled: '0.375', reserved: '0', possible: '0.40', unpriced: 0 },
      { unit: 'credits', settled: '12', reserved: '0', possible: '0', unpriced: 0 },
    ]);
    expect((await house.json(64, ['cost', ID, '--week', '2026-W32'])).error?.code).toBe('USAGE');
    expect((await house.line(['cost', '--week', '2026-W40'])).stdout).toBe('nothing was, may be or will be charged\n');
    expectWhole(house);
  });

  test.concurrent('of a plan and a provider that only a spreadsheet could run harmlessly quoted', async () => {
    const house = await makeHouse({
      scenario: { status: ['done'], cost: { amount: '1', unit: '=HYPERLINK("x"),\n', basis: '+1', final: true } },
    });
    await house.allocate([step('s1')]);
    await house.json(0, ['generate', ID]);
    const csv = await house.line(['cost', ID, '--csv']);
    expect(csv.stdout).toContain(`,settled,1,"'=HYPERLINK(""x""),\n",'+1,`);
    expectWhole(house);
  });
});

test.concurrent('what a provider says never moves the cursor of whoever reads it', async () => {
  const house = await makeHouse({
    scenario: {
      ...SYNC,
      outcome: { outcome: 'released', reason: 'invalid_input', message: 'bad\u001b[2J\nok  s9  house' },
    },
  });
  await house.allocate([step('s1')]);
  await house.json(12, ['generate', ID]);
  const shown = await house.line(['show', ID]);
  expect(shown.stdout.split('\n')).toHaveLength(4);
  expect(shown.stdout).not.toContain('\u001b');
  expect(readFileSync(join(house.root, 'pipeline.json'), 'utf8')).not.toContain('\u001b');
  expectWhole(house);
  writeFileSync(join(house.home, 'seen'), '');
});
