import { describe, expect, it } from 'vitest';
import type { SubmitOutcome } from '../../src/model/protocol.ts';
import { groupOf, recorder, rig, sleep, until, untilReaped } from './exec-rig.ts';

const sheet = (announces_sending: boolean) => ({ sheet: { capabilities: { announces_sending } } });
/** For the tables: a provider reads its sheet once. */
const announcing = rig(sheet(true));
const plain = rig(sheet(false));
const EVENTS = ['checkpoint', 'sending', 'accepted'];

/** Outcome for an adapter that announces sending, for one that does not, and submissions made. */
type Row = [point: string, announcing: SubmitOutcome['outcome'], other: SubmitOutcome['outcome'], charged: number];

const DEATHS: Row[] = [
  ['submit.request', 'released', 'unknown', 0],
  ['submit.before_checkpoint', 'released', 'unknown', 0],
  ['submit.unacked_checkpoint', 'released', 'unknown', 0],
  ['submit.after_checkpoint', 'released', 'unknown', 0],
  ['submit.before_sending', 'released', 'unknown', 0],
  ['submit.unacked_sending', 'released', 'unknown', 0],
  ['submit.after_sending', 'unknown', 'unknown', 0],
  ['submit.after_charge', 'unknown', 'unknown', 1],
  ['submit.before_accepted', 'unknown', 'unknown', 1],
  ['submit.unacked_accepted', 'accepted', 'accepted', 1],
  ['submit.after_accepted', 'accepted', 'accepted', 1],
  ['submit.before_answer', 'accepted', 'accepted', 1],
  ['submit.after_answer', 'accepted', 'accepted', 1],
];

describe.concurrent.each([true, false])('an adapter that announces sending: %s', (announces) => {
  it.each(DEATHS)('killed at %s', async (point, expected, other, charged) => {
    const house = announces ? announcing : plain;
    // Where nothing waits for the acknowledgement any more, the death must be seen before it would be written.
    const gone = (event: string) => async () => {
      if (point === `submit.unacked_${event}`) await untilReaped(ledger.pid());
    };
    const ledger = recorder({ checkpoint: gone('checkpoint'), sending: gone('sending'), accepted: gone('accepted') });
    const { outcome, submissions, faults } = await house.attempt(
      { events: EVENTS, at: { [point]: 'die' } },
      ledger.events,
    );

    expect(outcome.outcome).toBe(announces ? expected : other);
    expect(faults).toHaveLength(1);
    expect(submissions).toHaveLength(charged);
    if (outcome.outcome === 'accepted') expect(outcome.ref).toBe(submissions[0].ref);
    if (outcome.outcome === 'released') expect(outcome.reason).toBe('not_sent');
    if (outcome.outcome === 'unknown') {
      expect(outcome).toMatchObject({ reason: 'died', message: 'it was ended by SIGKILL before it answered' });
    }
  });

  it('killed before it was told anything', async () => {
    const house = rig(sheet(announces));
    await house.provider.describe();
    house.script({ at: { start: 'die' } });
    const outcome = await house.submit();
    expect(outcome.outcome).toBe(announces ? 'released' : 'unknown');
    expect(house.fired('start')).toHaveLength(1);
  });
});

const RESULT = '{"id":"this","ok":true,"result":';
const FAULTS: [fault: string, action: string | string[], reason: string][] = [
  ['exits with a code', 'exit:3', 'died'],
  ['exits in the middle of its answer', ['cut', 'exit:0'], 'died'],
  ['prints something else', 'garbage', 'protocol'],
  ['prints a line without end', ['oversize', 'hang'], 'protocol'],
  ['answers an error', 'error:overloaded', 'adapter_error'],
  ['answers another request', 'say:{"id":77,"ok":true,"result":{"outcome":"accepted","ref":"t"}}', 'protocol'],
  ['answers an outcome that does not exist', `say:${RESULT}{"outcome":"perhaps"}}`, 'protocol'],
  ['answers accepted without a reference', `say:${RESULT}{"outcome":"accepted","ref":""}}`, 'protocol'],
  ['sends an event that does not exist', 'say:{"event":"sent","seq":40}', 'protocol'],
  ['nests beyond reason', `say:${RESULT}${'['.repeat(9_000)}${']'.repeat(9_000)}}`, 'protocol'],
];

describe.concurrent.each(FAULTS)('an adapter that %s', (_fault, action, reason) => {
  it.each([
    ['announces sending, before that', true, 'submit.before_sending', 'released', 'not_sent'],
    ['announces sending, after that was acknowledged', true, 'submit.after_sending', 'unknown', reason],
    ['does not announce it', false, 'submit.request', 'unknown', reason],
  ])('and %s', async (_when, announces, point, outcome, expected) => {
    const said = await (announces ? announcing : plain).attempt({ at: { [point]: action } });
    expect(said.outcome).toMatchObject({ outcome, reason: expected });
    expect(said.faults).toHaveLength(1);
  });
});

it.concurrent('an error answer is kept as evidence', async () => {
  const house = rig({ at: { 'submit.before_sending': ['note:queue full', 'error:overloaded'] } });
  expect(await house.submit()).toEqual({
    outcome: 'released',
    reason: 'not_sent',
    message: 'it answered the error "overloaded": scripted overloaded',
    billable: 'no',
    evidence: {
      adapter: 'it answered the error "overloaded": scripted overloaded',
      code: 'overloaded',
      message: 'scripted overloaded',
      stderr: ['queue full'],
    },
  });
});

describe.concurrent('a submission that takes too long', () => {
  it.each([
    [true, { outcome: 'released', reason: 'not_sent' }],
    [false, { outcome: 'unknown', reason: 'timeout', message: 'it did not answer within 0.001 s' }],
  ])('before it said anything (announcing: %s)', async (announces, expected) => {
    const house = rig({ ...sheet(announces), at: { 'submit.request': 'hang' } }, { timeoutsMs: { submit: 1 } });
    expect(await house.submit()).toMatchObject(expected);
  });

  it('after it was told to send', async () => {
    const house = rig({ at: { 'submit.after_sending': 'hang' } }, { timeoutsMs: { submit: 5_000 } });
    expect(await house.submit()).toMatchObject({ outcome: 'unknown', reason: 'timeout' });
    expect(house.fired('submit.after_sending')).toHaveLength(1);
  });

  it('while the ledger writes that it may send: it is never told', async () => {
    const house = rig({}, { timeoutsMs: { submit: 5_000 } });
    const ledger = recorder({ sending: () => untilReaped(ledger.pid()) });
    expect(await house.submit({}, ledger.events)).toMatchObject({ outcome: 'released', reason: 'not_sent' });
    expect(ledger.log).toEqual(['started', 'sending']);
    expect(house.submissions()).toEqual([]);
  });
});

describe.concurrent('a submission that is stopped', () => {
  it('before it began: no process', async () => {
    const house = rig({ ...sheet(false), at: { start: 'note:up' } });
    await house.provider.describe();
    const ledger = recorder();
    const outcome = await house.submit({}, ledger.events, AbortSignal.abort());
    expect(outcome).toMatchObject({ outcome: 'released', reason: 'not_sent' });
    expect(ledger.log).toEqual([]);
    expect(house.fired('start')).toHaveLength(1);
  });

  it.each([
    ['submit.before_sending', 'released', 'not_sent'],
    ['submit.after_sending', 'unknown', 'aborted'],
  ])('at %s', async (point, outcome, reason) => {
    const house = rig({ at: { [point]: 'hang' } });
    const stop = new AbortController();
    const submitted = house.submit({}, recorder().events, stop.signal);
    await until(() => house.fired(point).length > 0, point);
    stop.abort();
    expect(await submitted).toMatchObject({ outcome, reason });
  });

  it('while the ledger writes that it may send: it is never told', async () => {
    const house = rig({ ignores_eof: true, at: { 'submit.after_sending': 'note:told' } });
    const stop = new AbortController();
    const ledger = recorder({ sending: async () => stop.abort() });
    const outcome = await house.submit({}, ledger.events, stop.signal);
    expect(outcome).toMatchObject({ outcome: 'released', reason: 'not_sent' });
    expect(ledger.log).toEqual(['started', 'sending']);
    expect(house.fired('submit.after_sending')).toEqual([]);
  });

  it('after its reference is on record', async () => {
    const house = rig({ at: { 'submit.after_accepted': 'hang' } });
    const stop = new AbortController();
    const submitted = house.submit({}, recorder().events, stop.signal);
    await until(() => house.fired('submit.after_accepted').length > 0, 'accepted');
    stop.abort();
    const { ref } = house.submissions()[0];
    expect(await submitted).toMatchObject({ outcome: 'accepted', ref });
  });
});

describe.concurrent('the ledger goes first', () => {
  it('the adapter is told nothing before its start is on record, and leads its group', async () => {
    const house = rig({ at: { 'submit.request': 'note:asked' } });
    let recorded = 0;
    let group: number | undefined;
    const ledger = recorder({
      started: async ({ pid }) => {
        group = groupOf(pid);
        await sleep(500);
        recorded = Date.now();
      },
    });
    await house.submit({}, ledger.events);
    expect(group).toBe(ledger.pid());
    expect(Date.parse(house.fired('submit.request')[0]!.time)).toBeGreaterThanOrEqual(recorded);
  });

  it.each(EVENTS)('"%s" is acknowledged only once it is durable', async (event) => {
    const house = rig({ events: EVENTS, at: { [`submit.after_${event}`]: 'note:acknowledged' } });
    let durable = 0;
    const slow = async () => {
      await sleep(200);
      durable = Date.now();
    };
    await house.submit({}, recorder({ [event]: slow }).events);
    expect(Date.parse(house.fired(`submit.after_${event}`)[0]!.time)).toBeGreaterThanOrEqual(durable);
    expect(durable).toBeGreaterThan(0);
  });

  it.each(['started', 'checkpoint', 'sending', 'accepted'])('"%s" cannot be written: ended unheard', async (event) => {
    const house = rig({ events: EVENTS, ignores_eof: true, at: { [`submit.after_${event}`]: 'note:acknowledged' } });
    const full = new Error('disk full');
    const ledger = recorder({ [event]: () => Promise.reject(full) });
    await expect(house.submit({}, ledger.events)).rejects.toBe(full);
    expect(ledger.log.at(-1)).toBe(event);
    expect(groupOf(ledger.pid())).toBeUndefined();
    expect(house.fired(`submit.after_${event}`)).toEqual([]);
    expect(house.submissions()).toHaveLength(event === 'accepted' ? 1 : 0);
  });
});
