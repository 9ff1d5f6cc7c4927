import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isErrno } from '../../src/errors.ts';
import { checkLedger } from '../ledger-check.ts';
import { hasStopped, start } from '../rig.ts';
import { atEveryOperation, copiesOf, faulty, give, makeUsedShow, struck, WEEK } from './faults.ts';

/** As a laptop that slept: the lock looks left behind, and the next command takes it. */
function age(lock: string): void {
  const minuteAgo = Date.now() / 1000 - 60;
  try {
    utimesSync(lock, minuteAgo, minuteAgo);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error; // stopped before it had the lock
  }
}

describe.skipIf(process.platform !== 'linux')('a command that is stopped before any of its operations', () => {
  it.each([
    ['others commit', ['other']],
    ['others commit, the same key among them', ['other', 'k']],
  ])('loses its lock, %s, and then overwrites and repeats nothing', async (_, meanwhile) => {
    const copy = await copiesOf(makeUsedShow());
    const taken = new Set<string>();
    await atEveryOperation(60, async (operation) => {
      const root = await copy(operation);
      const { child, done } = start(root, ['allocate', '--key', 'k'], faulty(`stop:before:${operation}`));
      if (!(await hasStopped(child))) return struck(await done);
      age(join(root, 'state/lock'));
      const others: string[] = [];
      for (const key of meanwhile) others.push(await give(root, key));
      child.kill('SIGCONT');

      const ran = await done;
      expect(struck(ran)).toBe(true);
      const own = await give(root, 'k');
      expect(ran).toMatchObject({ code: 0, stdout: `${own}\n` });
      expect([own, others[0]].sort()).toEqual([`${WEEK}-1`, `${WEEK}-2`]);
      expect(await give(root, 'next')).toBe(`${WEEK}-3`);
      expect(checkLedger(root)).toEqual([]);
      taken.add(ran.stdout);
      return true;
    });
    // Stopped early it came second, stopped late first: else the lock was never taken from it.
    expect(taken.size).toBe(2);
  });
});
