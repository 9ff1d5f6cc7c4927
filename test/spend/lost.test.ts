import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, scripted, step } from './rig.ts';

/** What a provider accepted and then no longer has, or never gives: no failure, and nothing that waiting mends. */

const generate = ['generate', ID];
const now = '2026-08-07T00:00:00Z';
const later = '2026-08-07T13:55:00Z';

const ways = (id: string, ref: string) => [
  `episode reconcile ${ID} --step ${id}  # asks for it again; free`,
  `episode settle ${ID} --step ${id} --accepted ${ref} --output FILE --evidence "…"  # FILE is its result`,
  `episode settle ${ID} --step ${id} --write-off --evidence "…"  # cannot be had any more, its cost stays; then: episode retry …`,
];

describe('a task that its provider accepted and no longer knows', () => {
  test.concurrent('is held, and every command says what ends it', async () => {
    const house = await makeHouse({
      scenario: { status: ['not_found'], outcome: { outcome: 'accepted', ref: 'task_1' } },
    });
    await house.allocate([step('s1'), step('s2', { needs: ['s1'] })]);
    const held = await house.json(11, [...generate, '--wait', '0s'], { now });
    expect(held).toMatchObject({
      status: 'held',
      steps: [
        { step: 's1', state: 'accepted', verdict: 'unknown', ref: 'task_1', cost: { state: 'reserved' } },
        { step: 's2', state: 'waiting', verdict: null },
      ],
      error: {
        code: 'OUTCOME_UNKNOWN',
        message: `step s1 of ${ID}: house accepted it as task_1 and calls that not_found now; it is held`,
        subject: `${ID}/s1`,
        hints: ways('s1', 'task_1'),
        details: { ref: 'task_1', remote: 'not_found' },
      },
    });
    const commands = ways('s1', 'task_1').map((way) => way.split('  # ')[0]!);
    expect(held.next).toEqual(commands);

    // Asking again is free, changes nothing about the step and comes to the same.
    const before = house.tree();
    for (const args of [
      ['generate', ID, '--wait', '0s'],
      ['wait', ID],
      ['close', ID, '--reason', 'gone'],
    ]) {
      const { error } = await house.json(11, args);
      expect([args[0], error?.message, error?.hints]).toEqual([args[0], held.error!.message, held.error!.hints]);
    }
    expect((await house.json(11, ['retry', ID, '--step', 's1', '--reason', 'gone'])).error?.hints).toEqual(
      ways('s1', 'task_1'),
    );
    expect(house.tree()).toEqual(before);
    // When it was last asked is noted, once, however often that is.
    const { events } = house.record();
    await house.json(11, ['reconcile', ID]);
    const asked = await house.json(11, ['reconcile', ID], { now: '2026-08-07T13:40:00Z' });
    expect([asked.error?.message, asked.error?.hints]).toEqual([held.error!.message, held.error!.hints]);
    expect(house.record().events.slice(events.length)).toMatchObject([{ event: 'asked again: not_found' }]);

    const shown = await house.json(0, ['show', ID]);
    expect(shown.holds).toEqual([
      {
        step: 's1',
        what: 'lost',
        since: '2026-08-07T00:00:00.000Z',
        at_risk: { amount: '0.40', unit: 'USD' },
        asked: { at: '2026-08-07T13:40:00.000Z', said: 'not_found' },
        called: { client_ref: house.submissions()[0]!.client_ref, ref: 'task_1', evidence: null },
        commands,
      },
    ]);
    expect(shown.next).toEqual(commands);
    expect((await house.line(['show', ID], { now: later })).stdout).toBe(
      `${ID}  HELD   key release-1   0 settled + up to 0.40 running, of 20.00 USD
  LOST     s1  house  <=0.40  ref task_1, not_found since Fri 00:00; held 13 h 55 min
  waiting  s2  house          needs s1
house accepted s1 and no longer has it. Nothing is sent again until one of these:
  episode reconcile ${ID} --step s1                                              # asks for it again; free; last asked Fri 13:40: not_found
  episode settle ${ID} --step s1 --accepted task_1 --output FILE --evidence "…"  # FILE is its result
  episode settle ${ID} --step s1 --write-off --evidence "…"                      # cannot be had any more, 0.40 stays; then: episode retry …
`,
    );
    expect((await house.line(['list'], { now: later })).stdout).toBe(
      `NEEDS YOU  ${ID}  held  s1 lost 13 h 55 min, 0.40 USD at risk  episode show ${ID}\n`,
    );
    expect((await house.json(0, ['list', '--status', 'held'])).episodes).toMatchObject([
      { episode_id: ID, running: [] },
    ]);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('is brought home when the provider finds it again', async () => {
    const house = await makeHouse({ scenario: { status: ['not_found'] } });
    await house.allocate([step('s1'), scripted('s2', { status: ['expired', 'done'] })]);
    await house.json(11, [...generate, '--wait', '0s']);
    house.script({ status: ['done'] });
    expect(await house.json(0, ['reconcile', ID])).toMatchObject({ status: 'complete', cost: { settled: '0.80' } });
    expect(house.submissions()).toHaveLength(2);
    expectWhole(house);
  });

  test.concurrent('is followed on while the command waits: a provider may not know yet what it just accepted', async () => {
    const house = await makeHouse({ scenario: { status: ['not_found', 'not_found', 'running', 'done'] } });
    await house.allocate([step('s1')]);
    await house.json(0, generate);
    const { events } = house.record();
    expect(events.map(({ event }) => event).filter((event) => event.startsWith('remote'))).toEqual([
      'remote: running',
      'remote: done',
    ]);
    expectWhole(house);
  });

  test.concurrent('is given up by a person, stays possible, and is paid once more by retry only', async () => {
    const house = await makeHouse({ scenario: { status: ['not_found'] } });
    await house.allocate([step('s1')]);
    await house.json(11, [...generate, '--wait', '0s']);
    const settled = await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'support: purged']);
    expect(settled).toMatchObject({
      status: 'failed',
      cost: { settled: '0', reserved: '0', possible: '0.40' },
      next: [`episode retry ${ID} --step s1 --reason "…"`],
    });
    // The provider lists it all the same: that it was accepted is no news, and undoes no word of a person.
    await house.json(0, ['reconcile', ID]);
    expect(house.record().status).toBe('failed');
    await house.json(14, generate);
    expect(house.submissions()).toHaveLength(1);

    house.script({ status: ['done'] });
    const retried = await house.json(0, ['retry', ID, '--step', 's1', '--reason', 'purged there']);
    expect(retried).toMatchObject({ status: 'complete', cost: { settled: '0.40', reserved: '0', possible: '0.40' } });
    await house.json(0, ['reconcile', ID]);
    expect(house.record().status).toBe('complete');
    expect(house.costs().map(({ state }) => state)).toEqual(['possible', 'settled']);
    expect(house.submissions()).toHaveLength(2);
    expectWhole(house);
  });

  test.concurrent('and that was given up is taken up again by a person, not by itself', async () => {
    const house = await makeHouse({ scenario: { status: ['not_found'] } });
    await house.allocate([step('s1')]);
    await house.json(11, [...generate, '--wait', '0s']);
    await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'support: purged']);
    const { ref } = house.submissions()[0]!;
    await house.json(0, ['settle', ID, '--step', 's1', '--accepted', ref, '--evidence', 'support: restored']);
    expect(house.record()).toMatchObject({ status: 'generating', steps: [{ state: 'accepted' }] });
    house.script({ status: ['done'] });
    expect(await house.json(0, ['reconcile', ID])).toMatchObject({ status: 'complete', cost: { settled: '0.40' } });
    expectWhole(house);
  });
});

test.concurrent('a result that has expired at its provider is held at once, whoever says so', async () => {
  const house = await makeHouse({ scenario: {} });
  await house.allocate([
    scripted('polled', { status: ['expired'], outcome: { outcome: 'accepted', ref: 'task_1' } }),
    scripted('fetched', {
      status: ['done'],
      fetch: { error: 'expired' },
      outcome: { outcome: 'accepted', ref: 'task_2' },
    }),
  ]);
  const held = await house.line([...generate, '--wait', '30m', '--json']);
  expect(held.code).toBe(11);
  for (const [id, ref] of [
    ['polled', 'task_1'],
    ['fetched', 'task_2'],
  ] as const) {
    expect(held.stderr).toContain(
      `step ${id} of ${ID}: house accepted it as ${ref} and calls that expired now; it is held [OUTCOME_UNKNOWN]\n  ${ways(id, ref).join('\n  ')}\n`,
    );
  }
  expect((await house.json(11, ['reconcile', ID])).status).toBe('held');
  expectWhole(house);
});

test.concurrent('a task that cannot be asked for, or whose result never comes, stays safe to ask for, and can be given up', async () => {
  const house = await makeHouse({ scenario: {} });
  await house.allocate([
    scripted('poll', { status: [{ error: 'down' }], outcome: { outcome: 'accepted', ref: 'task_poll' } }),
    scripted('fetch', {
      status: ['done'],
      fetch: { error: 'down' },
      outcome: { outcome: 'accepted', ref: 'task_fetch' },
    }),
    scripted('broken', {
      status: ['done'],
      fetch: { files: 'none' },
      outcome: { outcome: 'accepted', ref: 'task_broken' },
    }),
  ]);
  const down = (id: string, op: string) =>
    `step ${id} of ${ID}: house gave no answer to "${op}": it answered the error "down": scripted down [PROVIDER_UNREACHABLE]\n` +
    `  ${ways(id, `task_${id}`).join('\n  ')}\n`;
  for (const args of [generate, ['reconcile', ID]]) {
    const ran = await house.line([...args, '--json']);
    expect([args[0], ran.code, ran.json.status]).toEqual([args[0], 76, 'generating']);
    // What goes for both is said once.
    const [first, rest, ...more] = ran.stderr.split('  the same command later is safe\n');
    expect([rest !== undefined, more]).toEqual([true, []]);
    expect(`${first}${rest}`).toContain(down('poll', 'status'));
    expect(`${first}${rest}`).toContain(down('fetch', 'fetch'));
    expect(ran.stderr).toMatch(new RegExp(`step broken of ${ID}: house broke .* \\[PROVIDER_PROTOCOL\\]`));
    expect(ran.stderr).toContain(ways('broken', 'task_broken').join('\n  '));
    expect(ran.stderr).not.toContain('episode provider');
  }
  for (const id of ['poll', 'fetch', 'broken'])
    await house.json(0, ['settle', ID, '--step', id, '--write-off', '--evidence', 'down for a week']);
  expect(house.record().status).toBe('failed');
  expect(house.costs().map(({ state }) => state)).toEqual(['possible', 'possible', 'possible']);
  expectWhole(house);
});
