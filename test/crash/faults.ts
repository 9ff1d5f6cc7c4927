import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { allocate } from '../../src/allocate.ts';
import { faultyDisk, readFault } from '../../src/cli/faults.ts';
import { createNodePort } from '../../src/node-port.ts';
import { createFileStore } from '../../src/store/file/file-store.ts';
import { checkLedger } from '../ledger-check.ts';
import { makeShow, memoryDirectory, type Ran } from '../rig.ts';
import { runLine } from '../run-line.ts';

/** One operation after the other of a real command goes wrong, until a fault is no longer reached. */

export const WEEK = '2026-W32';
export const NOW = '2026-08-07T00:00:00Z';

/** As many cases at once as keep two processors busy. */
const BATCH = 8;

/** Where each operation takes a process of its own, one in so many is tried; all of them in the long run (`npm run torture`). */
export const STRIDE = Number(process.env.EPISODE_STRIDE ?? 3);

/**
 * Calls `run` for operation 1, 1 + `stride`, … and hands back the last one that was reached. `run` answers whether its
 * fault struck; the first that did not must come after at least `least`, or the loop has proved nothing.
 */
export async function atEveryOperation(
  least: number,
  run: (operation: number) => Promise<boolean>,
  stride = 1,
): Promise<number> {
  for (let first = 1; ; first += BATCH * stride) {
    const struck = await Promise.all(Array.from({ length: BATCH }, (_, index) => run(first + index * stride)));
    const missed = struck.indexOf(false);
    if (missed < 0) continue;
    const reached = first + (missed - 1) * stride;
    expect(struck.slice(missed)).not.toContain(true);
    expect(reached).toBeGreaterThanOrEqual(least);
    return reached;
  }
}

/** Whether the fault struck; exactly one of the two is said, or the injector itself is broken. */
export function struck(ran: Ran): boolean {
  const fired = /^EPISODE_FAULT \S+ (before|after) /m.test(ran.stderr);
  const missed = /^EPISODE_FAULT not reached/m.test(ran.stderr);
  if (fired === missed) throw new Error(`exit ${ran.code ?? ran.signal}, and no word of the fault: ${ran.stderr}`);
  return fired;
}

/** What the program itself said, without the injector's lines. */
export const said = ({ stderr }: Ran): string => stderr.replace(/^EPISODE_FAULT .*\n/gm, '');

export const faulty = (fault: string) => ({ now: NOW, env: { EPISODE_FAULT: fault } });

/** A show with one episode on record, so that the next command finds a head, an index and a key to build upon. */
export async function makeUsedShow(): Promise<string> {
  const root = await makeShow();
  expect(await give(root, 'before')).toBe(`${WEEK}-0`);
  return root;
}

/** Copies of a show, one for each case: they run side by side. */
export async function copiesOf(show: Promise<string>): Promise<(name: string | number) => Promise<string>> {
  const [original, place] = [await show, await memoryDirectory()];
  return async (name) => {
    const root = join(place, String(name));
    await cp(original, root, { recursive: true });
    return root;
  };
}

/** What another process of the same user does, in this one: the episode of a key. `say` is told when a fault strikes. */
export async function give(root: string, key: string, broken?: { fault: string; say: () => void }): Promise<string> {
  const port = createNodePort({ command: 'a test', now: () => Date.parse(NOW) });
  if (broken) port.disk = faultyDisk(port.disk, readFault(broken.fault), broken.say);
  const { episode_id } = await allocate(
    { store: createFileStore(port, root), port, root },
    {
      source: 'typed',
      key,
      week: WEEK,
      currentWeek: () => WEEK,
      byClock: false,
      schedule: null,
      slot: null,
      timeZone: 'UTC',
      plan: null,
      schedulePlan: null,
      issuedAt: null,
      keyIsStable: null,
      refuseNew: () => null,
    },
  );
  return episode_id;
}

/** With the fault over: one episode for the key, the next number for the next key, and no trace of what went wrong. */
export async function expectWhole(root: string, key: string, again: typeof runAgain = give): Promise<void> {
  expect(checkLedger(root, { interrupted: true })).toEqual([]);
  expect(await again(root, key)).toBe(`${WEEK}-1`);
  expect(await give(root, 'after')).toBe(`${WEEK}-2`);
  expect(checkLedger(root)).toEqual([]);
}

/** The same as `give` by the whole command line, as whoever was told "run the same command again" does it. */
export async function runAgain(root: string, key: string): Promise<string> {
  const ran = await runLine(root, ['allocate', '--key', key], { now: NOW });
  expect(ran.code).toBe(0);
  return ran.stdout.trim();
}
