import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EpisodeError } from '../../src/errors.ts';
import { generate } from '../../src/generate.ts';
import type { Lookup } from '../../src/model/protocol.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { reconcile } from '../../src/reconcile.ts';
import { settle } from '../../src/settle.ts';
import { checkLedger } from '../ledger-check.ts';
import { type Desk, fake, makeDesk, sheet } from './desk.ts';
import { expectWhole, ID, makeHouse, scripted, step } from './rig.ts';

describe('a cost that is said only later', () => {
  const LATER = { sheet: { capabilities: { cost: 'final_later' } }, status: ['done'] };
  const saying = (amount: string | null, more: object = {}) => ({
    ...LATER,
    cost: { amount, unit: 'USD', basis: 'reported', ...more },
  });

  test.concurrent('is asked for until it is final, and counts in the record and in history', async () => {
    const house = await makeHouse({ scenario: saying(null) });
    await house.allocate([step('s1', { role: 'media' })]);
    await house.json(0, ['generate', ID]);
    const cost = () => house.record().costs.map(({ state, amount, final }) => [state, amount, final]);
    expect(cost()).toEqual([['settled', '0.40', undefined]]);
    // Not yet; then something, which may change; then all.
    const before = house.tree();
    expect((await house.line(['reconcile'])).code).toBe(0);
    expect(house.tree()).toEqual(before);
    house.script(saying('0.30'));
    await house.json(0, ['reconcile']);
    expect(cost()).toEqual([['settled', '0.30', undefined]]);
    const asked = house.tree();
    await house.json(0, ['reconcile', ID]);
    expect(house.tree()).toEqual(asked);
    house.script(saying('0.35', { final: true }));
    await house.json(0, ['reconcile']);
    expect(cost()).toEqual([['settled', '0.35', true]]);
    expect(house.history().episodes[0]!.cost).toMatchObject([{ settled: '0.35' }]);
    const final = house.tree();
    house.script(saying('9.99', { final: true }));
    const nothing = await house.line(['reconcile']);
    expect([nothing.code, nothing.stdout]).toEqual([0, expect.stringMatching(/^nothing is /)]);
    await house.json(0, ['reconcile', ID]);
    expect(house.tree()).toEqual(final);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent("is in nobody's way when it cannot be asked for, and is given up after two weeks unless named", async () => {
    const house = await makeHouse({ scenario: saying(null) });
    await house.allocate([step('s1')]);
    await house.json(0, ['generate', ID]);
    house.script({ ...LATER, cost: { error: 'AUTH' } });
    const asked = await house.line(['reconcile']);
    expect([asked.code, asked.stderr]).toEqual([0, expect.stringMatching(/^house does not say what s1 cost; /)]);
    house.script(saying('0.30', { final: true }));
    const later = { now: new Date(Date.now() + 15 * 86_400_000).toISOString() };
    expect((await house.line(['reconcile'], later)).stdout).toMatch(/^nothing is /);
    expect(house.costs()).toMatchObject([{ amount: '0.40' }]);
    await house.json(0, ['reconcile', ID], later);
    expect(house.costs()).toMatchObject([{ amount: '0.30' }]);
    expectWhole(house);
  });
});

describe('reconcile without an ID', () => {
  test.concurrent('asks about every episode with something open, and about no other', async () => {
    const house = await makeHouse({ scenario: { status: ['running'] } });
    const lost = { at: { 'submit.after_charge': 'exit:1' } };
    await house.allocate([step('s1')], 'runs');
    await house.allocate([scripted('s1', lost)], 'lost');
    await house.allocate([scripted('s1', { status: ['done'] })], 'done');
    await house.allocate([scripted('s1', lost)], 'given up');
    await house.allocate([step('s1')], 'never sent');
    for (const sequence of [0, 1, 2, 3]) await house.line(['generate', `2026-W32-${sequence}`, '--wait', '0s']);
    await house.json(0, ['settle', '2026-W32-3', '--step', 's1', '--write-off', '--evidence', 'no answer']);
    const others = ['2026-W32-2', '2026-W32-3', '2026-W32-4'].map((id) => house.record(id));

    const asked = await house.json(75, ['reconcile']);
    expect(asked.error?.message).toContain('step s1 of 2026-W32-0 is still running at house');
    expect(asked.episodes).toMatchObject([
      { episode_id: '2026-W32-0', status: 'generating' },
      // Found, and no more than asked about: the task runs.
      { episode_id: '2026-W32-1', status: 'generating', steps: [{ state: 'running' }] },
    ]);
    house.script({ status: ['done'] });
    const home = await house.line(['reconcile']);
    expect([home.code, home.stderr]).toEqual([0, '']);
    expect(home.stdout).toBe(
      `2026-W32-0  complete  0.40 settled USD
  succeeded  s1    0.40
2026-W32-1  complete  0.40 settled USD
  succeeded  s1    0.40
`,
    );
    expect(['2026-W32-2', '2026-W32-3', '2026-W32-4'].map((id) => house.record(id))).toEqual(others);
    const nothing = await house.line(['reconcile']);
    expect([nothing.code, nothing.stdout, nothing.stderr]).toEqual([0, 'nothing is open\n', '']);
    expect((await house.json(0, ['reconcile'])).episodes).toEqual([]);
    expect((await house.json(64, ['reconcile', '--step', 's1'])).error?.code).toBe('USAGE');
    expect(house.submissions()).toHaveLength(4);
    expectWhole(house);
  });

  test.concurrent('is stopped for one episode by its damage, and for no other', async () => {
    const house = await makeHouse({ scenario: { status: ['running'] } });
    for (const key of ['a', 'b', 'c']) {
      const id = await house.allocate([step('s1')], key);
      await house.json(75, ['generate', id, '--wait', '0s']);
    }
    const file = join(house.root, 'state/2026-W32/2026-W32-0.json');
    const text = house.read('state/2026-W32/2026-W32-0.json');
    writeFileSync(file, text.replace('"generating"', '"generatinf"'));
    house.script({ status: ['done'] });
    const damaged = await house.json(65, ['reconcile']);
    expect(damaged.error).toMatchObject({ code: 'RECORD_DAMAGED', subject: 'state/2026-W32/2026-W32-0.json' });
    expect(damaged.episodes).toMatchObject([{ episode_id: '2026-W32-1' }, { episode_id: '2026-W32-2' }]);
    writeFileSync(file, text);
    await house.json(0, ['reconcile']);
    expectWhole(house);
  });
});

test.concurrent('what a provider lists and a step already has is nobody else’s: what is left decides', async () => {
  const house = await makeHouse({ scenario: { status: ['done'] } });
  await house.allocate([step('s1')], 'other');
  await house.json(0, ['generate', ID]);
  const { ref: taken } = house.submissions()[0]!;
  const lost = { at: { 'submit.after_charge': 'exit:1' } };
  const second = await house.allocate([scripted('s1', lost)]);
  await house.json(11, ['generate', second]);
  const { ref } = house.submissions()[1]!;
  const listing = (found: string, ...refs: string[]) =>
    house.script({ status: ['done'], lookup: { found, complete: true, refs: refs.map((one) => ({ ref: one })) } });

  // One line of the same text in each of two episodes: only the other's task is listed so far.
  listing('present', taken);
  const held = await house.line(['reconcile', second]);
  expect([held.code, held.stderr.split('\n')[0]]).toEqual([11, 'house on s1: it lists only what other steps have']);
  expect(house.record(second).steps[0]!.attempts[0]).toMatchObject({
    ref: null,
    lookup: { found: 'present', refs: [] },
  });
  listing('ambiguous', taken, ref);
  expect(await house.json(0, ['reconcile', second])).toMatchObject({ status: 'complete' });
  expect(house.record(second).steps[0]!.attempts[0]).toMatchObject({ ref, lookup: { refs: [ref] } });
  expectWhole(house);
});

test.concurrent('a hold is said before what keeps its provider from being asked, and other steps are asked all the same', async () => {
  const house = await makeHouse({ scenario: { status: ['running'] } });
  await house.allocate([scripted('s1', { at: { 'submit.after_charge': 'exit:1' } }), step('s2')]);
  await house.json(11, ['generate', ID, '--wait', '0s']);
  house.script({ status: ['done'], lookup: { error: 'down' } });
  const down = await house.json(11, ['reconcile', ID]);
  expect(down.steps).toMatchObject([{ state: 'unknown' }, { state: 'succeeded' }]);
  const bare = await house.line(['reconcile', ID], { env: { ADAPTER_HOME: undefined } });
  expect([bare.code, bare.stderr.match(/\[[A-Z_]+\]/g)]).toEqual([11, ['[OUTCOME_UNKNOWN]', '[CREDENTIAL_MISSING]']]);
  expectWhole(house);
});

describe('a lookup', () => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await makeDesk();
  });
  const wanted = { step: null, maxCost: null, waitMs: 0 };
  const listed = (lookup: Lookup, more: Partial<Provider> = {}): Provider =>
    fake(async () => ({ outcome: 'unknown', reason: 'reset' }), {
      sheet: sheet({ lookup: { supported: true, proves: { present: true, absent: false } } }),
      lookup: async () => lookup,
      ...more,
    });
  const attemptOf = async (id: string, at = 0) => (await desk.read(id)).steps[at]!.attempts[0]!;

  test('leaves its last answer on the attempt, and one event however often it is asked', async () => {
    const id = await desk.allocate([step('s1')]);
    await generate(desk.services(listed({ found: 'absent' })), id, wanted);
    expect((await attemptOf(id)).lookup).toBeUndefined();
    const events = (await desk.read(id)).events.length;
    for (const hour of [1, 2, 3]) {
      const services = desk.services(listed({ found: 'absent', complete: true }), {
        now: () => Date.UTC(2027, 0, 1, hour),
      });
      await reconcile(services, id, { step: null });
    }
    expect((await attemptOf(id)).lookup).toEqual({
      at: '2027-01-01T03:00:00.000Z',
      found: 'absent',
      refs: [],
      complete: true,
    });
    expect((await desk.read(id)).events.slice(events)).toMatchObject([
      { at: '2027-01-01T03:00:00.000Z', event: 'looked up: absent' },
    ]);
  });

  test('of a provider that has none is noted once', async () => {
    const id = await desk.allocate([step('s1')]);
    const { lookup: _, ...without } = listed({ found: 'absent' });
    await generate(desk.services(without), id, wanted);
    await reconcile(desk.services(without), id, { step: null });
    const before = await desk.read(id);
    await reconcile(desk.services(without), id, { step: null });
    expect(await desk.read(id)).toEqual(before);
    expect(before.steps[0]!.attempts[0]!.lookup).toMatchObject({ found: 'unsupported' });
  });

  test('that finds two of our own by one text settles the second when the first is known', async () => {
    const id = await desk.allocate([step('s1'), step('s2')]);
    await generate(desk.services(listed({ found: 'absent' })), id, wanted);
    const both: Lookup = { found: 'ambiguous', refs: [{ ref: 'a' }, { ref: 'b' }], complete: true };
    const unsure = await reconcile(desk.services(listed(both)), id, { step: null });
    expect(unsure.failures).toHaveLength(2);
    expect(await attemptOf(id)).toMatchObject({ lookup: { found: 'ambiguous', refs: ['a', 'b'] } });
    await settle(desk.services(listed(both)), id, 's1', { form: 'accepted', ref: 'b', by: 'mika', evidence: 'heard' });
    expect((await reconcile(desk.services(listed(both)), id, { step: null })).report.status).toBe('complete');
    expect([(await attemptOf(id)).ref, (await attemptOf(id, 1)).ref]).toEqual(['b', 'a']);
  });

  test('proves nothing by what is left out: our own may be listed later', async () => {
    const proving = sheet({ lookup: { supported: true, proves: { present: true, absent: true }, settle_seconds: 0 } });
    const id = await desk.allocate([step('s1'), step('s2')]);
    const unknown = listed({ found: 'absent' }, { describe: async () => proving });
    await generate(desk.services(unknown), id, wanted);
    await settle(desk.services(unknown), id, 's1', { form: 'accepted', ref: 'mine', by: 'mika', evidence: 'heard' });
    const theirs = listed({ found: 'present', refs: [{ ref: 'mine' }], complete: true });
    await reconcile(desk.services(theirs), id, { step: null });
    expect((await desk.read(id)).steps[1]!.state).toBe('unknown');
  });

  test('ends with a bug as a bug', async () => {
    const id = await desk.allocate([step('s1')]);
    await generate(desk.services(listed({ found: 'absent' })), id, wanted);
    const broken = listed({ found: 'absent' }, { lookup: () => Promise.reject(new TypeError('a bug')) });
    const ended = await reconcile(desk.services(broken), id, { step: null }).catch((error: unknown) => error);
    expect(ended).toBeInstanceOf(TypeError);
    expect(ended).not.toBeInstanceOf(EpisodeError);
  });

  test('leaves a ledger that is whole', () => {
    expect(checkLedger(desk.root)).toEqual([]);
  });
});
