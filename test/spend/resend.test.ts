import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EpisodeError } from '../../src/errors.ts';
import { generate } from '../../src/generate.ts';
import type { SubmitOutcome } from '../../src/model/protocol.ts';
import type { Sheet } from '../../src/model/sheet.ts';
import type { Port, ProcessIdentity } from '../../src/port.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { reconcile } from '../../src/reconcile.ts';
import { settleByResend } from '../../src/settle.ts';
import { show } from '../../src/show.ts';
import { checkLedger } from '../ledger-check.ts';
import { type Desk, fake, gate, makeDesk, sheet } from './desk.ts';
import { expectWhole, type House, ID, makeHouse, step, until } from './rig.ts';

/** The very same sent once more, where a provider promises to count that once: never by itself, never without a look. */

const ONCE = { idempotent_submit: { supported: true, window_seconds: 3600 } };
const resend = ['settle', ID, '--step', 's1', '--resend', '--evidence', 'not in Requests', '--by', 'mika'];

/** A show with s1 sent and its answer lost; `at` says where its adapter died. */
async function lost({ at = 'submit.after_charge', sheet: more = {}, step: of = step('s1') } = {}): Promise<House> {
  const capabilities = { ...ONCE, ...more };
  const house = await makeHouse({ scenario: { sheet: { capabilities }, at: { [at]: 'exit:1' } } });
  await house.allocate([of]);
  await house.json(11, ['generate', ID]);
  house.script({ sheet: { capabilities }, status: ['done'], lookup: { found: 'absent', complete: false } });
  return house;
}

describe('settle --resend', () => {
  test.concurrent.each([
    ['that had arrived', 'submit.after_charge'],
    ['that had not', 'submit.before_charge'],
  ])('sends what is lost under the same reference, and a submission %s counts once', async (_what, at) => {
    const house = await lost({ at });
    const [before] = house.record().steps[0]!.attempts;
    expect((await house.line(['show', ID])).stdout).toContain(
      `  episode settle ${ID} --step s1 --resend --evidence "…"        `,
    );
    const sent = await house.json(0, resend);
    expect(sent).toMatchObject({
      status: 'generating',
      steps: [{ state: 'accepted', verdict: 'proceed', cost: { state: 'reserved', amount: '0.40' } }],
      next: [`episode generate ${ID}`],
    });
    const [after] = house.record().steps[0]!.attempts;
    expect(after).toMatchObject({
      attempt_id: before!.attempt_id,
      client_ref: before!.client_ref,
      params: before!.params,
      lookup: { found: 'absent' },
      resends: [{ by: 'mika', evidence: 'not in Requests', sent_at: before!.sending_at }],
      settlement: null,
    });
    expect(after!.claim.token).not.toBe(before!.claim.token);
    const events = house.record().events.map(({ event }) => event);
    expect(events.slice(events.indexOf('settled: resend'))).toEqual(
      expect.arrayContaining(['settled: resend', 'sending', 'accepted']),
    );
    // A lost answer of this very command: the same again sends nothing.
    const tree = house.tree();
    expect(await house.json(0, resend)).toMatchObject({ steps: [{ verdict: 'replay' }] });
    expect(house.tree()).toEqual(tree);
    expect(await house.json(0, ['generate', ID])).toMatchObject({ status: 'complete', cost: { settled: '0.40' } });
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('takes up what the lookup finds, and sends nothing', async () => {
    const house = await lost();
    house.script({ sheet: { capabilities: ONCE }, status: ['done'], at: { 'submit.request': 'exit:1' } });
    const found = await house.line([...resend, '--json']);
    expect([found.code, found.stderr]).toEqual([0, 'house has s1; nothing was sent again\n']);
    expect(found.json).toMatchObject({ steps: [{ state: 'accepted', verdict: 'replay' }] });
    expect(house.record().steps[0]!.attempts[0]!.resends).toBeUndefined();
    expect(house.fired('submit.request')).toEqual([]);
    expectWhole(house);
  });

  test.concurrent('is refused where the adapter is another than the one that sent', async () => {
    const house = await lost();
    const capabilities = ONCE;
    house.script({ sheet: { capabilities, version: '99' }, lookup: { found: 'absent', complete: false } });
    const before = house.tree();
    const { error } = await house.json(12, resend);
    expect(error).toMatchObject({
      code: 'RESEND_REFUSED',
      message: expect.stringContaining('house is not as it was when this was sent, and might send something else'),
    });
    expect(house.tree()).toEqual(before);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('is refused for a provider that makes no such promise, at the claim or now', async () => {
    const never = await lost({ sheet: { idempotent_submit: { supported: false, window_seconds: null } } });
    // What a later version of the adapter says does not reinterpret the claim.
    never.script({ sheet: { capabilities: ONCE }, lookup: { found: 'absent', complete: false } });
    const noMore = await lost();
    noMore.script({ lookup: { found: 'absent', complete: false } });
    for (const house of [never, noMore]) {
      const before = house.tree();
      const { error } = await house.json(12, resend);
      expect(error).toMatchObject({
        code: 'RESEND_REFUSED',
        message: `step s1 of ${ID} is not sent again: house does not promise to count the same reference once; it is held as before`,
        subject: `${ID}/s1`,
      });
      expect(error?.hints[0]).toBe(`episode reconcile ${ID} --step s1  # asks house; free`);
      expect(house.tree()).toEqual(before);
      expectWhole(house);
    }
    expect((await never.run(['show', ID])).stdout).not.toContain('--resend');
  });

  test.concurrent('is refused when an input is no longer what was sent', async () => {
    const house = await makeHouse();
    writeFileSync(join(house.root, 'text.txt'), 'harbour at dawn');
    const capabilities = ONCE;
    house.script({ sheet: { capabilities }, at: { 'submit.after_charge': 'exit:1' } });
    await house.allocate([step('s1', { inputs: [{ name: 'text', file: 'text.txt' }] })]);
    await house.json(11, ['generate', ID]);
    house.script({ sheet: { capabilities }, lookup: { found: 'absent', complete: false } });
    writeFileSync(join(house.root, 'text.txt'), 'harbor at dawn');
    expect((await house.json(10, resend)).error).toMatchObject({ code: 'ARTIFACT_CHANGED', subject: 'text.txt' });
    writeFileSync(join(house.root, 'text.txt'), 'harbour at dawn');
    await house.json(0, resend);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('that is killed while it sends leaves the step held, not released', async () => {
    const house = await lost();
    house.script({
      sheet: { capabilities: ONCE },
      lookup: { found: 'absent', complete: false },
      at: { 'submit.request': 'hang' },
    });
    const command = house.start(resend);
    await until(() => house.fired('submit.request').length > 0, 'the adapter was asked to send');
    // Alive, and owned by it.
    expect((await house.json(75, ['generate', ID])).error?.code).toBe('ATTEMPT_IN_FLIGHT');
    expect((await house.json(75, resend)).error?.code).toBe('ATTEMPT_IN_FLIGHT');
    command.child.kill('SIGKILL');
    await command.done;
    process.kill(house.fired('submit.request')[0]!.pid, 'SIGKILL');
    // Announced nothing this time; that it may have arrived the first time stays true.
    expect((await house.json(11, ['generate', ID])).error?.code).toBe('OUTCOME_UNKNOWN');
    expect(house.costs()).toEqual([{ step: 's1', state: 'possible', amount: '0.40' }]);
    house.script({ sheet: { capabilities: ONCE }, status: ['done'], lookup: { found: 'absent', complete: false } });
    await house.json(0, resend);
    expect(await house.json(0, ['generate', ID])).toMatchObject({ status: 'complete' });
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('is said exactly once, with evidence, of a step that is held so', async () => {
    const house = await lost();
    expect((await house.json(64, [...resend, '--write-off'])).error?.code).toBe('USAGE');
    expect((await house.json(64, ['settle', ID, '--step', 's1', '--resend'])).error?.message).toBe(
      '--evidence is missing',
    );
    await house.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'no answer']);
    expect((await house.json(14, resend)).error?.message).toBe(
      `step s1 of ${ID}: it is written-off, and nothing about it can be settled so`,
    );
    expectWhole(house);
  });
});

describe('what was sent again', () => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await makeDesk();
  });

  const wanted = { step: null, maxCost: null, waitMs: 0 };
  const said = { by: 'mika', evidence: 'looked' };
  const promising: Sheet = sheet({ ...ONCE, lookup: { supported: true, proves: { present: true, absent: false } } });
  const absent = async () => ({ found: 'absent', complete: false }) as const;
  const provider = (submit: Parameters<typeof fake>[0], more: Partial<Provider> & { sheet?: Sheet } = {}): Provider =>
    fake(submit, { sheet: promising, lookup: absent, ...more });
  const lose: Parameters<typeof fake>[0] = async (_submission, events) => {
    await events.sending();
    return { outcome: 'unknown', reason: 'reset' };
  };
  const losing = (more: { sheet?: Sheet } = {}) => provider(lose, more);

  async function held(sending = losing(), port: Partial<Port> = {}): Promise<string> {
    const id = await desk.allocate([step('s1')]);
    await generate(desk.services(sending, port), id, wanted);
    expect((await desk.read(id)).steps[0]!.state).toBe('unknown');
    return id;
  }
  const codeOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'done',
      (error: unknown) => (error instanceof EpisodeError ? `${error.code}: ${error.message}` : error),
    );
  const attemptOf = async (id: string) => (await desk.read(id)).steps[0]!.attempts[0]!;

  test.each<[string, SubmitOutcome]>([
    ['provably did not go out', { outcome: 'released', reason: 'not_sent' }],
    ['was refused for want of funds', { outcome: 'released', reason: 'insufficient_funds' }],
    ['was refused', { outcome: 'released', reason: 'invalid_input', billable: 'no' }],
    ['was lost as well', { outcome: 'unknown', reason: 'reset' }],
  ])('and %s says nothing of the first time: it stays held', async (_what, answer) => {
    const id = await held();
    const { failures } = await settleByResend(desk.services(provider(async () => answer)), id, 's1', said);
    expect(failures.map(({ code }) => code)).toEqual(['OUTCOME_UNKNOWN']);
    const record = await desk.read(id);
    expect([record.steps[0]!.state, record.costs[0]!.state, record.status]).toEqual(['unknown', 'possible', 'held']);
    // Held since it was sent for the first time.
    const [hold] = (await show(desk.services(losing()), id)).holds;
    expect(hold!.since).toBe(record.steps[0]!.attempts[0]!.resends![0]!.sent_at);
    // Only a proof of absence, counted from the last time, or a person leaves it.
    expect((await generate(desk.services(losing()), id, wanted)).failures.map(({ code }) => code)).toEqual([
      'OUTCOME_UNKNOWN',
    ]);
  });

  test('is kept when its adapter cannot even be started', async () => {
    const id = await held();
    const dead = provider(async () => {
      throw new EpisodeError('PROVIDER_CONFIGURATION', 'no such command');
    });
    const { failures } = await settleByResend(desk.services(dead), id, 's1', said);
    expect(failures.map(({ code }) => code)).toEqual(['PROVIDER_CONFIGURATION', 'OUTCOME_UNKNOWN']);
    expect((await attemptOf(id)).outcome).toMatchObject({ outcome: 'unknown', reason: 'sent_again' });
  });

  test('carries the same bytes, and its result is placed like any other', async () => {
    const submissions: unknown[] = [];
    const sync = provider(async (submission) => {
      submissions.push({ ...submission, output_dir: '' });
      if (submissions.length === 1) return { outcome: 'unknown', reason: 'reset' };
      const path = join(submission.output_dir, 'text.txt');
      writeFileSync(path, 'here');
      return { outcome: 'completed', files: [{ path }], cost: { amount: '0.005', unit: 'USD' } };
    });
    const id = await held(sync);
    expect((await settleByResend(desk.services(sync), id, 's1', said)).report.status).toBe('complete');
    expect(submissions[1]).toEqual(submissions[0]);
    expect((await desk.read(id)).costs).toMatchObject([{ state: 'settled', amount: '0.005' }]);
  });

  const HOUR = 3_600_000;
  test.each<[string, Sheet, number, string]>([
    ['after the window', promising, HOUR, 'house counts the same reference once for 3600 s, and that is over'],
    [
      'in the last minute of it',
      promising,
      HOUR - 50_000,
      'house counts the same reference once for 3600 s, and that is over',
    ],
    [
      'where no window is promised',
      sheet({ ...promising.capabilities, idempotent_submit: { supported: true, window_seconds: null } }),
      0,
      'house does not say for how long it counts the same reference once',
    ],
    [
      'where it cannot be looked up first',
      sheet({ ...promising.capabilities, lookup: { supported: false } }),
      0,
      'house cannot look it up first',
    ],
  ])('%s is not', async (_what, described, laterMs, why) => {
    const id = await held(losing({ sheet: described }));
    const never = fake(
      async () => {
        throw new Error('must not be asked to send');
      },
      { sheet: described, lookup: absent },
    );
    const services = desk.services(never, { now: () => Date.now() + laterMs });
    expect(await codeOf(settleByResend(services, id, 's1', said))).toBe(
      `RESEND_REFUSED: step s1 of ${id} is not sent again: ${why}; it is held as before`,
    );
    expect((await show(services, id)).holds[0]!.commands.join()).not.toContain('--resend');
  });

  test('counts its window from the first time, however often it is sent', async () => {
    const id = await held();
    const at = (minutes: number) => desk.services(losing(), { now: () => Date.now() + minutes * 60_000 });
    await settleByResend(at(40), id, 's1', said);
    expect(await codeOf(settleByResend(at(70), id, 's1', said))).toContain('and that is over');
    expect((await attemptOf(id)).resends).toHaveLength(1);
  });

  test.each([
    ['ambiguous', [{ ref: 'a' }, { ref: 'b' }]],
    ['present', [{ ref: 'a', match: 'probable' as const }]],
    ['unsupported', []],
  ] as const)('is not while a lookup is %s', async (found, refs) => {
    const id = await held();
    const unsure = provider(
      async () => {
        throw new Error('must not be asked to send');
      },
      { lookup: async () => ({ found, refs: [...refs] }) },
    );
    expect(await codeOf(settleByResend(desk.services(unsure), id, 's1', said))).toMatch(/^RESEND_REFUSED: /);
    const down = provider(lose, {
      lookup: async () => {
        throw new EpisodeError('PROVIDER_UNREACHABLE', 'down');
      },
    });
    expect(await codeOf(settleByResend(desk.services(down), id, 's1', said))).toBe('PROVIDER_UNREACHABLE: down');
    expect((await attemptOf(id)).resends).toBeUndefined();
  });

  test('is not while the adapter of the first time may still send', async () => {
    const adapter: ProcessIdentity = { host: 'here', boot: 'b', pid: 99, started: '1' };
    const outliving = provider(async (_submission, events) => {
      await events.started(adapter);
      await events.sending();
      return { outcome: 'unknown', reason: 'timeout' };
    });
    const id = await held(outliving, { liveness: () => 'alive' });
    expect(await codeOf(settleByResend(desk.services(losing(), { liveness: () => 'alive' }), id, 's1', said))).toMatch(
      /^ATTEMPT_IN_FLIGHT: .* the adapter, pid 99 on here, which outlived its command/,
    );
  });

  test('keeps the command from sending that was taken for dead before it had', async () => {
    const id = await desk.allocate([step('s1')]);
    const elsewhere: ProcessIdentity = { host: 'far', boot: 'b', pid: 4, started: '1' };
    // Its claim is unknown from the start, and it has not sent yet.
    const silent = sheet({ ...promising.capabilities, announces_sending: false });
    const before = gate();
    let sentLate = 0;
    const asleep = fake(
      async (_submission, events) => {
        await before.pass();
        await events.sending();
        sentLate += 1;
        return { outcome: 'accepted', ref: 'late' };
      },
      { sheet: silent, lookup: absent },
    );
    const sleeping = generate(desk.services(asleep, { self: elsewhere }), id, wanted);
    await before.arrived;
    const later: Partial<Port> = { now: () => Date.now() + HOUR / 2, liveness: () => 'elsewhere' };
    await generate(desk.services(asleep, later), id, wanted);
    const answering = gate();
    const again = fake(
      async () => {
        await answering.pass();
        return { outcome: 'accepted', ref: 'task_1' };
      },
      { sheet: silent, lookup: absent },
    );
    const resending = settleByResend(desk.services(again, later), id, 's1', said);
    await answering.arrived;
    before.open();
    await sleeping;
    answering.open();
    await resending;
    expect(sentLate).toBe(0);
    expect((await attemptOf(id)).ref).toBe('task_1');
  });

  test('by two commands at once is sent by one', async () => {
    const id = await held();
    let sent = 0;
    const both = gate();
    const slow = provider(async () => {
      sent += 1;
      await both.pass();
      return { outcome: 'accepted', ref: 'task_1' };
    });
    const commands = [0, 1].map(() => codeOf(settleByResend(desk.services(slow), id, 's1', said)));
    const first = await Promise.race(commands);
    both.open();
    expect(first).toMatch(/^ATTEMPT_IN_FLIGHT: /);
    expect((await Promise.all(commands)).sort()).toEqual([first, 'done']);
    expect(sent).toBe(1);
  });

  test('is proved absent only when the provider had its time since the last time', async () => {
    const proving = sheet({
      ...ONCE,
      lookup: { supported: true, proves: { present: true, absent: true }, settle_seconds: 600 },
    });
    const id = await held(losing({ sheet: proving }));
    const at = (minutes: number, complete: boolean) =>
      desk.services(fake(lose, { sheet: proving, lookup: async () => ({ found: 'absent', complete }) }), {
        now: () => Date.now() + minutes * 60_000,
      });
    await settleByResend(at(30, true), id, 's1', said);
    await reconcile(at(35, true), id, { step: null });
    expect((await desk.read(id)).steps[0]!.state).toBe('unknown');
    await reconcile(at(41, true), id, { step: null });
    expect((await desk.read(id)).steps[0]!.state).toBe('ready');
  });

  test('is looked up around each time that it was sent', async () => {
    const id = await held();
    const start = Date.now();
    const at = (minutes: number, more: Partial<Provider> = {}) =>
      desk.services(provider(lose, more), { now: () => start + minutes * 60_000 });
    await settleByResend(at(40), id, 's1', said);
    const around: number[] = [];
    const lookup: Provider['lookup'] = async ({ claimed_at }) => {
      around.push(Math.round(Math.abs(Date.parse(claimed_at) - start) / 60_000));
      return around.length === 1 ? { found: 'absent' } : { found: 'present', refs: [{ ref: 'task_twice' }] };
    };
    await reconcile(at(50, { lookup }), id, { step: null });
    expect(around).toEqual([0, 40]);
    expect(await attemptOf(id)).toMatchObject({ ref: 'task_twice', lookup: { found: 'present' } });
  });

  test('leaves a ledger that is whole', () => {
    expect(checkLedger(desk.root)).toEqual([]);
  });
});
