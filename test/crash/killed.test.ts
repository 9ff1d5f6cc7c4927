import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { checkLedger } from '../ledger-check.ts';
import { episode, memoryDirectory } from '../rig.ts';
import { runLine } from '../run-line.ts';
import {
  atEveryOperation,
  copiesOf,
  expectWhole,
  faulty,
  give,
  makeUsedShow,
  NOW,
  runAgain,
  STRIDE,
  struck,
  WEEK,
} from './faults.ts';

// Nobody else may read a record, however careless the account is that runs the command; `checkLedger` looks.
const umask = process.umask(0);
afterAll(() => {
  process.umask(umask);
});

it('allocate, killed before or after any of its operations, has recorded all or nothing', async () => {
  const copy = await copiesOf(makeUsedShow());
  const reached = await atEveryOperation(
    30,
    async (operation) => {
      const root = await copy(operation);
      const ran = await episode(root, ['allocate', '--key', 'k'], faulty(`kill:before:${operation}`));
      if (!struck(ran)) return false;
      expect(ran).toMatchObject({ signal: 'SIGKILL', stdout: '' });
      await expectWhole(root, 'k', runAgain);
      return true;
    },
    STRIDE,
  );
  // Before the next is after the one: only the last has no next.
  const root = await copy('last');
  const ran = await episode(root, ['allocate', '--key', 'k'], faulty(`kill:after:${reached}`));
  expect(ran.signal).toBe('SIGKILL');
  await expectWhole(root, 'k', runAgain);
});

it('init, killed before any of its operations, is finished by the next init', async () => {
  const place = await memoryDirectory();
  await atEveryOperation(
    30,
    async (operation) => {
      const root = join(place, String(operation));
      await mkdir(root);
      const init = ['init', '--time-zone', 'Asia/Tokyo', '--show', 'brief'];
      const ran = await episode(root, init, faulty(`kill:before:${operation}`));
      if (!struck(ran)) return false;
      expect(ran.signal).toBe('SIGKILL');

      const again = await runLine(root, init, { now: NOW });
      // It had been made, and only its answer was lost.
      if (again.code !== 0) expect(again).toMatchObject({ code: 73, stderr: expect.stringContaining('ALREADY_INIT') });
      expect(await give(root, 'first')).toBe(`${WEEK}-0`);
      expect(checkLedger(root)).toEqual([]);
      return true;
    },
    STRIDE,
  );
});
