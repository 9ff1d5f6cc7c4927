import { expect, it } from 'vitest';
import { checkLedger } from '../ledger-check.ts';
import { episode, makeShow, temporaryDirectory } from '../rig.ts';
import { NOW, WEEK } from './faults.ts';

const PROCESSES = 64;

const allAtOnce = (root: string, key: (index: number) => string) =>
  Promise.all(
    Array.from({ length: PROCESSES }, (_, index) => episode(root, ['allocate', '--key', key(index)], { now: NOW })),
  );

it('64 processes with a key each get 64 consecutive IDs, and nobody starves', async () => {
  const root = await makeShow();
  const ran = await allAtOnce(root, (index) => `key-${index}`);
  expect(ran.map(({ code }) => code)).toEqual(ran.map(() => 0));
  const ids = ran.map(({ stdout }) => stdout.trim());
  expect(new Set(ids)).toEqual(new Set(ran.map((_, index) => `${WEEK}-${index}`)));
  expect(checkLedger(root)).toEqual([]);
});

it('64 processes with one key get one ID', async () => {
  const root = await makeShow();
  const ran = await allAtOnce(root, () => 'the one key');
  expect(new Set(ran.map(({ code, stdout }) => `${code} ${stdout}`))).toEqual(new Set([`0 ${WEEK}-0\n`]));
  expect(checkLedger(root)).toEqual([]);
});

it('of 8 inits at once one makes the ledger, and the others say that there is one', async () => {
  const root = await temporaryDirectory();
  const init = () => episode(root, ['init', '--time-zone', 'UTC', '--show', 'brief', '--json'], { now: NOW });
  const ran = await Promise.all(Array.from({ length: 8 }, init));
  expect(ran.map(({ code }) => code).sort()).toEqual([0, 73, 73, 73, 73, 73, 73, 73]);
  for (const { code, json } of ran) if (code !== 0) expect(json.error?.code).toBe('ALREADY_INITIALISED');
  expect(checkLedger(root)).toEqual([]);
});
