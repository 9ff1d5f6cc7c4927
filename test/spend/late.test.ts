import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EpisodeError } from '../../src/errors.ts';
import { generate } from '../../src/generate.ts';
import type { SubmitOutcome } from '../../src/model/protocol.ts';
import type { Port, ProcessIdentity } from '../../src/port.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { reconcile } from '../../src/reconcile.ts';
import { retry } from '../../src/retry.ts';
import { settle } from '../../src/settle.ts';
import { checkLedger } from '../ledger-check.ts';
import { type Desk, fake, filesIn, gate, makeDesk, sheet } from './desk.ts';
import { step } from './rig.ts';

/** Answers that come late, and commands that come back from the dead; both sides share one ledger, as two hosts do. */

let desk: Desk;
beforeAll(async () => {
  desk = await makeDesk();
});

const wanted = { step: null, maxCost: null, waitMs: 0 };
const elsewhere: ProcessIdentity = { host: 'far', boot: 'b', pid: 4, started: '1' };
const HOUR = 3_600_000;

/** A command on another host than the one that looks after it. */
const far: Partial<Port> = { self: elsewhere };
/** Looks an hour later, when every lease has ended. */
const later: Partial<Port> = { now: () => Date.now() + HOUR, liveness: () => 'elsewhere' };
const never = fake(async () => {
  throw new Error('must not be asked to send');
});

/** A submission that is asked for, and then stands still at `pass` before and after it says that it sends. */
function standing(answer: SubmitOutcome) {
  const before = gate();
  const after = gate();
  let sent = 0;
  const provider = fake(async (_submission, events) => {
    await before.pass();
    await events.sending();
    sent += 1;
    await after.pass();
    return answer;
  });
  return { provider, before, after, sent: () => sent };
}

const attemptsOf = async (id: string) => (await desk.read(id)).steps[0]!.attempts;
const costsOf = async (id: string) => (await desk.read(id)).costs.map(({ state, amount }) => `${state} ${amount}`);
const evidence = { by: 'mika', evidence: 'looked' };

describe('a command that was taken for dead', () => {
  test('does not send when it comes back before it had', async () => {
    const id = await desk.allocate([step('s1')]);
    const { provider, before, sent } = standing({ outcome: 'accepted', ref: 'late' });
    const asleep = generate(desk.services(provider, far), id, wanted);
    await before.arrived;
    // Nothing was announced: the intent is free again, and somebody else sends it.
    const paid = fake(async () => ({ outcome: 'accepted', ref: 'task_1' }));
    const other = await generate(desk.services(paid, later), id, wanted);
    expect(other.report.status).toBe('complete');
    before.open();
    const { failures } = await asleep;
    expect(failures.map(({ message }) => message)).toEqual([
      `step s1 of ${id}: this command was taken for dead before it could send; nothing was sent`,
    ]);
    expect(sent()).toBe(0);
    expect((await attemptsOf(id)).map(({ ref }) => ref)).toEqual([null, 'task_1']);
    expect(await costsOf(id)).toEqual(['released 0.40', 'settled 0.40']);
  });

  test('is believed when it had sent: its answer is better than not knowing', async () => {
    const id = await desk.allocate([step('s1')]);
    const { provider, before, after } = standing({ outcome: 'accepted', ref: 'late' });
    before.open();
    const asleep = generate(desk.services(provider, far), id, wanted);
    await after.arrived;
    const held = await generate(desk.services(never, later), id, wanted);
    expect(held.failures.map(({ code }) => code)).toEqual(['OUTCOME_UNKNOWN']);
    after.open();
    expect((await asleep).report).toMatchObject({ status: 'complete', cost: { settled: '0.40', possible: '0' } });
  });

  test('is believed although the intent was settled and sent again; nothing it bought is forgotten', async () => {
    const id = await desk.allocate([step('s1')]);
    const { provider, before, after } = standing({ outcome: 'accepted', ref: 'late' });
    before.open();
    const asleep = generate(desk.services(provider, far), id, wanted);
    await after.arrived;
    await generate(desk.services(never, later), id, wanted);
    await settle(desk.services(never, later), id, 's1', { form: 'not_accepted', ...evidence });
    const refused = fake(async () => ({ outcome: 'released', reason: 'content_rejected' }));
    await generate(desk.services(refused), id, wanted);
    after.open();
    await asleep;
    const record = await desk.read(id);
    expect(record.status).toBe('complete');
    expect(record.steps[0]!.attempts[0]).toMatchObject({ ref: 'late', files: [{}] });
    expect(await costsOf(id)).toEqual(['settled 0.40', 'released 0.40']);
    // What the person said stays on record, with the evidence.
    expect(record.events).toContainEqual(
      expect.objectContaining({ event: 'settled: not_accepted', by: 'mika', evidence: 'looked' }),
    );
  });

  test.each<[string, SubmitOutcome]>([
    ['does not know', { outcome: 'unknown', reason: 'reset' }],
    ['says that it sent nothing', { outcome: 'released', reason: 'not_sent' }],
  ])('cannot take a reference back that a person recorded when it %s', async (_what, answer) => {
    const id = await desk.allocate([step('s1')]);
    const { provider, before, after } = standing(answer);
    before.open();
    const asleep = generate(desk.services(provider, far), id, wanted);
    await after.arrived;
    await generate(desk.services(never, later), id, wanted);
    await settle(desk.services(never, later), id, 's1', { form: 'accepted', ref: 'task_9', ...evidence });
    after.open();
    await asleep;
    const [attempt] = await attemptsOf(id);
    expect(attempt).toMatchObject({ ref: 'task_9', settlement: { form: 'accepted' } });
    expect((await generate(desk.services(never), id, wanted)).report.status).toBe('complete');
  });

  test('does not reopen what a person settled when it knows nothing itself', async () => {
    const id = await desk.allocate([step('s1')]);
    const { provider, before, after } = standing({ outcome: 'unknown', reason: 'reset' });
    before.open();
    const asleep = generate(desk.services(provider, far), id, wanted);
    await after.arrived;
    await generate(desk.services(never, later), id, wanted);
    await settle(desk.services(never, later), id, 's1', { form: 'not_accepted', ...evidence });
    after.open();
    await asleep;
    expect((await desk.read(id)).steps[0]!.state).toBe('ready');
  });

  test('before its lease has ended is taken for alive, whatever cannot be seen of it', async () => {
    const id = await desk.allocate([step('s1')]);
    const { provider, before } = standing({ outcome: 'accepted', ref: 'task_1' });
    const slow = generate(desk.services(provider, far), id, wanted);
    await before.arrived;
    const second = await generate(desk.services(never, { liveness: () => 'elsewhere' }), id, wanted);
    expect(second.failures.map(({ code }) => code)).toEqual(['ATTEMPT_IN_FLIGHT']);
    before.open();
    // The second gate stays shut; the first command is left to its end by this.
    expect(await Promise.race([slow, Promise.resolve('still sending')])).toBe('still sending');
  });
});

describe('a reference that a person mistyped', () => {
  const lost = fake(async () => ({ outcome: 'unknown', reason: 'reset' }));
  const settledAs = (id: string, ref: string) =>
    settle(desk.services(never), id, 's1', { form: 'accepted', ref, ...evidence });

  test('gives way to the one that the command brings which was taken for dead', async () => {
    const id = await desk.allocate([step('s1')]);
    const { provider, before, after } = standing({ outcome: 'accepted', ref: 'task_1' });
    const down = async (): Promise<never> => {
      throw new EpisodeError('PROVIDER_UNREACHABLE', 'down');
    };
    before.open();
    const asleep = generate(desk.services({ ...provider, status: down }, far), id, wanted);
    await after.arrived;
    await settle(desk.services(never, later), id, 's1', { form: 'accepted', ref: 'task_typo', ...evidence });
    const ignorant: Provider = { ...never, status: async () => ({ state: 'not_found' }) };
    expect((await reconcile(desk.services(ignorant), id, { step: null })).report.status).toBe('held');
    after.open();
    expect((await asleep).report.status).toBe('generating');
    expect(await attemptsOf(id)).toMatchObject([{ ref: 'task_1', remote: null, settlement: null }]);
  });

  test.each<[string, Partial<Provider>]>([
    ['is being asked for', { status: async () => ({ state: 'error', reason: 'nsfw' }) }],
    ['is not found', { status: async () => ({ state: 'not_found' }) }],
    ['is being fetched', {}],
    ['has expired', { fetch: async () => 'expired' }],
  ])('and corrected while its task %s leaves nothing behind', async (_what, answers) => {
    const id = await desk.allocate([step('s1')]);
    await generate(desk.services(lost), id, wanted);
    await settledAs(id, 'task_typo');
    const answering = gate();
    const provider: Provider = {
      ...fake(async () => ({ outcome: 'unknown', reason: 'reset' }), answers),
      ...(answers.status
        ? { status: async (task) => answering.pass().then(() => answers.status!(task)) }
        : {
            fetch: async (task, directory) =>
              answering.pass().then(() => answers.fetch?.(task, directory) ?? filesIn(directory)),
          }),
    };
    const following = generate(desk.services(provider), id, wanted);
    await answering.arrived;
    await settledAs(id, 'task_1');
    answering.open();
    expect((await following).failures.map(({ message }) => message)).toEqual([
      `step s1 of ${id} is still running at house, ref task_1`,
    ]);
    expect(await attemptsOf(id)).toMatchObject([{ ref: 'task_1', remote: null, files: null }]);
    expect(await costsOf(id)).toEqual(['reserved 0.40']);
    expect(existsSync(join(desk.root, `episodes/${id}/s1/take-1`))).toBe(false);
  });
});

test('a write-off that was paid again can still be settled as accepted, and is', async () => {
  const id = await desk.allocate([step('s1')]);
  const lost = fake(async () => ({ outcome: 'unknown', reason: 'reset' }));
  await generate(desk.services(lost), id, wanted);
  await settle(desk.services(never), id, 's1', { form: 'write_off', ...evidence });
  const paid = fake(async () => ({ outcome: 'accepted', ref: 'task_2' }));
  await retry(desk.services(paid), id, { ...wanted, step: 's1', reason: 'no answer' });
  await settle(desk.services(never), id, 's1', { form: 'accepted', ref: 'task_1', ...evidence });
  expect((await desk.read(id)).steps[0]!.state).toBe('accepted');
  expect((await generate(desk.services(never), id, wanted)).report.status).toBe('complete');
  expect((await attemptsOf(id)).map(({ ref, files }) => [ref, files !== null])).toEqual([
    ['task_1', true],
    ['task_2', true],
  ]);
  expect(await costsOf(id)).toEqual(['settled 0.40', 'settled 0.40']);
});

test('an interrupt that ends what was being asked says where the task runs on', async () => {
  const id = await desk.allocate([step('s1')]);
  let controller = new AbortController();
  const provider = fake(async () => ({ outcome: 'accepted', ref: 'task_1' }), {
    async status() {
      controller.abort();
      throw new EpisodeError('PROVIDER_UNREACHABLE', 'it was stopped before it answered');
    },
  });
  const running = [`step s1 of ${id} is still running at house, ref task_1`];
  for (const who of ['the command that sent it', 'one that only follows it']) {
    const services = desk.services(provider, {}, { interrupted: controller.signal });
    const { failures } = await generate(services, id, { ...wanted, waitMs: 60_000 });
    expect([who, failures.map(({ message }) => message)]).toEqual([who, running]);
    controller = new AbortController();
  }
});

describe('absence is proved', () => {
  const proving = sheet({ lookup: { supported: true, proves: { present: true, absent: true }, settle_seconds: 0 } });
  const absent = fake(async () => ({ outcome: 'unknown', reason: 'reset' }), {
    sheet: proving,
    lookup: async () => ({ found: 'absent', complete: true }),
  });
  const withAdapter: Provider = {
    ...absent,
    async submit(_submission, events) {
      await events.started({ host: 'here', boot: 'b', pid: 99, started: '1' });
      await events.sending();
      return { outcome: 'unknown', reason: 'reset' };
    },
  };

  test('only once the adapter that was told to send is gone', async () => {
    const id = await desk.allocate([step('s1')]);
    await generate(desk.services(withAdapter), id, wanted);
    const notes: string[] = [];
    const note = (line: string): unknown => notes.push(line);
    const stillHeld = await reconcile(desk.services(absent, { liveness: () => 'alive' }, { note }), id, { step: null });
    expect(stillHeld.failures.map(({ code }) => code)).toEqual(['OUTCOME_UNKNOWN']);
    expect(notes).toEqual(['house on s1: not listed, which proves nothing yet']);
    await reconcile(desk.services(absent, { liveness: () => 'gone' }), id, { step: null });
    expect((await desk.read(id)).steps[0]!.state).toBe('ready');
  });

  test('only once the provider has had its time', async () => {
    const id = await desk.allocate([step('s1')]);
    const slow = sheet({ lookup: { supported: true, proves: { present: true, absent: true }, settle_seconds: 600 } });
    const unsure: Provider = { ...absent, describe: async () => slow };
    await generate(desk.services(unsure), id, wanted);
    expect((await reconcile(desk.services(unsure), id, { step: null })).failures).toHaveLength(1);
    await reconcile(desk.services(unsure, { now: () => Date.now() + HOUR }), id, { step: null });
    expect((await desk.read(id)).steps[0]!.state).toBe('ready');
  });

  test.each([
    ['a minute before', -61_000, 'ready'],
    ['for clocks differ, not a moment later', -59_000, 'unknown'],
    ['never afterwards', 24 * HOUR, 'unknown'],
  ])('only as long as it lists what is so old: %s', async (_what, after, state) => {
    const id = await desk.allocate([step('s1')]);
    const forgetful: Provider = {
      ...absent,
      describe: async () =>
        sheet({ lookup: { supported: true, proves: { present: true, absent: true }, window_seconds: 3600 } }),
    };
    await generate(desk.services(forgetful), id, wanted);
    const sent = Date.parse((await desk.read(id)).steps[0]!.attempts[0]!.sending_at ?? '') || Date.now();
    const notes: string[] = [];
    const note = (line: string): unknown => notes.push(line);
    const services = desk.services(forgetful, { now: () => sent + HOUR + after }, { note });
    await reconcile(services, id, { step: null });
    expect((await desk.read(id)).steps[0]!.state).toBe(state);
    expect(notes).toEqual(
      state === 'ready' ? [] : ['house on s1: not listed, and house lists nothing for longer than 3600 s'],
    );
  });
});

test('after all that the ledger is whole', () => {
  expect(checkLedger(desk.root)).toEqual([]);
});
