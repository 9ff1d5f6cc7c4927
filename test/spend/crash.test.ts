import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import type { Episode } from '../../src/model/episode.ts';
import type { Ran } from '../rig.ts';
import { expectWhole, type House, ID, makeHouse, SILENT, SYNC, step, until } from './rig.ts';

const generate = ['generate', ID];
const once = (point: string) => ({ at: { [point]: { do: 'hang', times: 1 } } });

/** Adapters that stand still until somebody ends them. */
const left = new Set<number>();
afterAll(() => {
  for (const pid of left) killAdapter(pid);
});

/** Starts `generate`, and returns once the adapter stands still at `point`. */
async function standAt(house: House, point: string) {
  const started = house.start([...generate, '--json']);
  await until(() => house.fired(point).length === 1, `the adapter reaches ${point}`);
  const adapter = house.fired(point)[0]!.pid;
  left.add(adapter);
  return { ...started, adapter };
}

async function killed({ child, done }: { child: { kill(signal: NodeJS.Signals): unknown }; done: Promise<Ran> }) {
  child.kill('SIGKILL');
  expect((await done).signal).toBe('SIGKILL');
}

/** Its whole process group. */
function killAdapter(pid: number): void {
  left.delete(pid);
  process.kill(-pid, 'SIGKILL');
}

/** A signal is sent at once and does its work a little later; a zombie is dead. */
async function endAdapter(pid: number): Promise<void> {
  killAdapter(pid);
  await until(() => {
    try {
      return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    } catch {
      return true;
    }
  }, 'the adapter is gone');
}

interface Case {
  point: string;
  /** Exit code of the next generate while the adapter that was left behind lives; any of them where it is a race. */
  alive: number[];
  /** Once it is gone. */
  gone: number[];
  /** Submissions that may have been counted by then. */
  sent: number[];
}

const ready = (point: string): Case => ({ point, alive: [75], gone: [0], sent: [1] });
const held = (point: string, sent: number): Case => ({ point, alive: [11], gone: [11], sent: [sent] });
const known = (point: string): Case => ({ point, alive: [0], gone: [0], sent: [1] });

const steps = [step('s1')];

async function dieAt({ point, alive, gone, sent }: Case, scenario: object): Promise<void> {
  const house = await makeHouse({ scenario: { ...scenario, ...once(point) } });
  await house.allocate(steps);
  const standing = await standAt(house, point);
  await killed(standing);
  const first = await house.line(generate);
  expect([point, first.stderr, alive.includes(first.code!)]).toEqual([point, first.stderr, true]);
  await endAdapter(standing.adapter);
  const second = await house.line(generate);
  expect([point, second.stderr, gone.includes(second.code!)]).toEqual([point, second.stderr, true]);
  const status = house.record().status;
  expect(status).toBe(second.code === 0 ? 'complete' : 'held');
  expect(sent).toContain(house.submissions().length);
  expectWhole(house);
}

describe('killed at any moment of a submission, the next command knows what it may do', () => {
  const full = { status: ['done'], events: ['checkpoint', 'sending', 'accepted'] };
  test.concurrent.each<Case>([
    known('describe.request'),
    ready('submit.request'),
    ready('submit.after_checkpoint'),
    ready('submit.before_sending'),
    // Whether "sending" was recorded before the kill is a race; both answers are right, and none sends twice.
    { point: 'submit.unacked_sending', alive: [75, 11], gone: [0, 11], sent: [0, 1] },
    held('submit.after_sending', 0),
    held('submit.after_charge', 1),
    { point: 'submit.unacked_accepted', alive: [0, 11], gone: [0, 11], sent: [1] },
    known('submit.after_accepted'),
    known('fetch.before_answer'),
  ])('an adapter that announces: $point', async (one) => {
    await dieAt(one, full);
  });

  test.concurrent.each<Case>([known('describe.request'), held('submit.request', 0), held('submit.before_answer', 1)])(
    'an adapter that gives no promise: $point',
    async (one) => {
      await dieAt(one, SILENT);
    },
  );
});

test.concurrent('killed at any of its own disk operations, it sends nothing twice and finishes or holds', async () => {
  const house = await makeHouse();
  const STRIDE = 19;
  let reached = 0;
  for (let at = 2; ; at += STRIDE) {
    const id = await house.allocate(steps, `release-${at}`);
    const ran = await house.run(['generate', id], {
      env: { EPISODE_FAULT: `kill:${at % 2 ? 'before' : 'after'}:${at}` },
    });
    if (ran.signal !== 'SIGKILL') {
      expect(ran.stderr).toContain('EPISODE_FAULT not reached');
      break;
    }
    reached += 1;
    let next = await house.line(['generate', id]);
    // The adapter notices that nobody is left to talk to, and ends.
    for (; next.code === 75; next = await house.line(['generate', id]));
    expect([at, next.stderr, next.code]).toEqual([at, next.code === 11 ? next.stderr : '', next.code === 11 ? 11 : 0]);
    // As a reader sees it: a record that the newest commit names may still lie in staging.
    const shown = (await house.line(['show', id, '--json'])).json as unknown as Episode;
    expect(shown.status).toBe(next.code === 11 ? 'held' : 'complete');
    const refs = new Set(shown.steps[0]!.attempts.map(({ client_ref }) => client_ref));
    const sent = house.submissions().filter(({ client_ref }) => refs.has(client_ref)).length;
    expect(sent).toBeLessThanOrEqual(1);
    if (next.code === 0) expect(sent).toBe(1);
  }
  expect(reached).toBeGreaterThan(6);
  expectWhole(house);
});

describe('a command that is still there', () => {
  test.concurrent('is not disturbed: the second one is told who sends, and sends nothing', async () => {
    const house = await makeHouse({ scenario: { ...SYNC, ...once('submit.before_sending') } });
    await house.allocate(steps);
    const standing = await standAt(house, 'submit.before_sending');
    const { attempt_id } = house.record().steps[0]!.attempts[0]!;
    const second = await house.json(75, generate);
    expect(second).toMatchObject({
      steps: [{ step: 's1', state: 'claimed', verdict: 'inflight', attempt_id }],
      error: { code: 'ATTEMPT_IN_FLIGHT', details: { attempt_id }, hints: [`episode wait ${ID}`] },
    });
    expect(second.error?.message).toMatch(
      new RegExp(`^step s1 of ${ID} is being sent by pid ${standing.child.pid} on .+; this command sent nothing$`),
    );
    for (const args of [
      ['retry', ID, '--step', 's1', '--reason', 'x'],
      ['settle', ID, '--step', 's1', '--not-accepted', '--evidence', 'x'],
      ['close', ID, '--reason', 'x'],
    ]) {
      expect((await house.json(75, args)).error?.code).toBe('ATTEMPT_IN_FLIGHT');
    }

    // Stopped for however long, it is alive.
    standing.child.kill('SIGSTOP');
    await house.json(75, generate);
    await house.json(75, ['reconcile', ID]);
    standing.child.kill('SIGCONT');
    await endAdapter(standing.adapter);
    expect((await standing.done).code).toBe(69);
    await house.json(0, generate);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });
});

describe('interrupted', () => {
  test.concurrent('while a task runs it says where, dies by the signal, and another generate goes on', async () => {
    const house = await makeHouse({ scenario: { status: ['running'] } });
    await house.allocate(steps);
    const { child, done } = house.start(generate);
    await until(() => house.states().s1 === 'running', 'the task runs');
    child.kill('SIGINT');
    const { signal, stderr } = await done;
    expect(signal).toBe('SIGINT');
    const { ref } = house.submissions()[0]!;
    expect(stderr).toContain(`step s1 of ${ID} is still running at house, ref ${ref} [STILL_RUNNING]`);
    house.script({ status: ['done'] });
    await house.json(0, generate);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('while it sends it waits for the answer and starts nothing more', async () => {
    const house = await makeHouse({ scenario: SYNC });
    // The adapter waits before its answer until somebody reads its mind: here, until it is told to die.
    house.script({ ...SYNC, ...once('submit.after_charge') });
    await house.allocate([...steps, step('s2', { needs: ['s1'] })]);
    const standing = await standAt(house, 'submit.after_charge');
    standing.child.kill('SIGTERM');
    await new Promise((resolve) => standing.child.stderr!.once('data', resolve));
    await endAdapter(standing.adapter);
    const { signal, stderr, json } = await standing.done;
    expect(signal).toBe('SIGTERM');
    expect(stderr).toContain('stopping; what is being sent is waited for');
    expect(json).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN' }, status: 'held' });
    expectWhole(house);
  });

  test.concurrent('twice it dies at once, and what was being sent is held', async () => {
    const house = await makeHouse({ scenario: { ...SYNC, ...once('submit.after_charge') } });
    await house.allocate(steps);
    const standing = await standAt(house, 'submit.after_charge');
    standing.child.kill('SIGINT');
    await new Promise((resolve) => standing.child.stderr!.once('data', resolve));
    standing.child.kill('SIGINT');
    expect((await standing.done).signal).toBe('SIGINT');
    await house.json(11, generate);
    await endAdapter(standing.adapter);
    await house.json(11, generate);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });
});
