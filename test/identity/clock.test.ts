import { expect, it } from 'vitest';
import { makeShow } from '../rig.ts';
import { allocate, refusal } from './desk.ts';

const FRIDAY = '2026-08-07T09:00:00Z';

/** A show whose ledger ends on Friday at nine. */
async function showOfFriday(): Promise<string> {
  const root = await makeShow({ config: { schedules: { friday: { cron: '0 9 * * 5' } } } });
  await allocate(root, { key: 'newest', now: FRIDAY });
  return root;
}

it('a clock more than five minutes behind the ledger makes no episode: its week would be a guess', async () => {
  const root = await showOfFriday();
  expect(await refusal(root, { key: 'a', now: '2026-08-07T08:54:59Z' })).toEqual({
    code: 'CLOCK_BEHIND',
    exit: 75,
    message:
      'the clock says 2026-08-07T08:54:59.000Z, and the ledger already holds something of 2026-08-07T09:00:00.000Z',
    hints: [
      'set the clock (timedatectl), then the same command is safe',
      'or say which week is meant: --week YYYY-Www',
    ],
  });
  expect((await allocate(root, { key: 'a', now: '2026-08-07T08:55:00Z' })).verdict).toBe('proceed');
});

it('neither is the slot of a schedule taken from such a clock', async () => {
  const root = await showOfFriday();
  expect(await refusal(root, { schedule: 'friday', now: '2026-07-31T10:00:00Z' })).toMatchObject({
    code: 'CLOCK_BEHIND',
  });
});

it('a week or a slot that is given needs no clock', async () => {
  const root = await showOfFriday();
  const now = '2020-01-01T00:00:00Z';
  expect((await allocate(root, { key: 'a', week: '2026-W32', now })).episode_id).toBe('2026-W32-1');
  expect((await allocate(root, { key: 'b', slot: '2026-08-07', now })).episode_id).toBe('2026-W32-2');
  expect((await allocate(root, { schedule: 'friday', slot: '2026-08-07', now })).episode_id).toBe('2026-W32-3');
});

it('a clock ahead is no fault: the next week has come', async () => {
  const root = await showOfFriday();
  expect((await allocate(root, { key: 'a', now: '2031-08-07T09:00:00Z' })).verdict).toBe('proceed');
});
