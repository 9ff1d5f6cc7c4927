import { utimesSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isErrno } from '../../src/errors.ts';
import { checkLedger } from '../ledger-check.ts';
import { hasStopped, memoryDirectory, start } from '../rig.ts';
import { runVerb } from '../run-verb.ts';
import { atEveryOperation, copiesOf, faulty, give, makeUsedShow, STRIDE, struck, WEEK } from './faults.ts';

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
    await atEveryOperation(
      60,
      async (operation) => {
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
      },
      STRIDE,
    );
    // Stopped early it came second, stopped late first: else the lock was never taken from it.
    expect(taken.size).toBe(2);
  });

  it('while it makes the ledger and another makes it first, makes no second one', async () => {
    const place = await memoryDirectory();
    const made = new Set<string>();
    await atEveryOperation(
      40,
      async (operation) => {
        const root = join(place, String(operation));
        await mkdir(root);
        const init = ['init', '--time-zone', 'UTC', '--show', 'brief', '--json'];
        const { child, done } = start(root, init, faulty(`stop:before:${operation}`));
        if (!(await hasStopped(child))) return struck(await done);
        const other = await runVerb(root, 'init', { options: { timeZone: 'UTC', show: 'brief', currency: 'USD' } });
        child.kill('SIGCONT');

        const ran = await done;
        expect([ran.code, other.exit].sort()).toEqual([0, 73]);
        const { ledger_id } = ran.code === 0 ? ran.json : other.document;
        expect(JSON.parse(await readFile(join(root, 'state/ledger.json'), 'utf8')).ledger_id).toBe(ledger_id);
        expect(await give(root, 'first')).toBe(`${WEEK}-0`);
        expect(checkLedger(root)).toEqual([]);
        made.add(ran.code === 0 ? 'first' : 'second');
        return true;
      },
      STRIDE,
    );
    expect(made.size).toBe(2);
  });
});
