import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorText } from '../../src/cli/render.ts';
import { EpisodeError } from '../../src/errors.ts';
import { checkLedger } from '../ledger-check.ts';
import { episode, memoryDirectory } from '../rig.ts';
import { runVerb } from '../run-verb.ts';
import { atEveryOperation, copiesOf, expectWhole, faulty, give, makeUsedShow, said, struck, WEEK } from './faults.ts';

/** What went wrong, on which file of the show, what became of the ledger, and what to do: each message says all four. */
const NOTHING =
  /^episode: [^\n]+ \((state|history|episodes|pipeline)[^)\n]*\); nothing was changed \[[A-Z_]+\]\n {2}\S/;
const RECORDED = /^episode: [^\n]+ \(state[^)\n]*\); it (may have been|is) recorded[^\n]* \[IO_ERROR\]\n {2}\S/;

/** A message that is clear, and true of the ledger as it stands. */
function expectClear(message: string, root: string): void {
  expect(
    [NOTHING, RECORDED].some((form) => form.test(message)),
    message,
  ).toBe(true);
  if (NOTHING.test(message)) expect(isRecorded(root)).toBe(false);
  if (/it is recorded/.test(message)) expect(isRecorded(root)).toBe(true);
}

/** Commit 0 is `init`, 1 the episode that was there before. */
const isRecorded = (root: string): boolean => existsSync(join(root, 'state/commits/000000002.json'));

describe('a disk that fails once, at any operation of allocate', () => {
  it('with EIO ends the program with 74, or with 0 where nothing depends on it, and the same command gives the one episode', async () => {
    const copy = await copiesOf(makeUsedShow());
    // Some of them: each starts a process, and all of them are tried below.
    const exits = await Promise.all(
      [2, 9, 17, 25, 33, 41, 49, 57].map(async (operation) => {
        const root = await copy(operation);
        const ran = await episode(root, ['allocate', '--key', 'k'], faulty(`EIO:before:${operation}`));
        expect(struck(ran)).toBe(true);
        if (ran.code === 0) expect(said(ran)).toBe('');
        else expectClear(said(ran), root);
        expect(ran.stdout).toBe(ran.code === 0 ? `${WEEK}-1\n` : '');
        await expectWhole(root, 'k');
        return ran.code;
      }),
    );
    expect(new Set(exits)).toContain(74);
  });

  // The same code in this process: what differs is what the disk said, and how often it can be tried in a minute.
  it('with EIO in spite of a success is never said to have changed nothing when it did', async () => {
    const copy = await copiesOf(makeUsedShow());
    await atEveryOperation(60, async (operation) => {
      const root = await copy(operation);
      const { fired, error } = await giveWithFault(root, `EIO:after:${operation}`);
      if (!fired) return false;
      if (error) expectClear(errorText(error), root);
      await expectWhole(root, 'k');
      return true;
    });
  });

  it.each([
    { errno: 'EIO', exits: [74], least: 60 },
    { errno: 'EACCES', exits: [74, 77], least: 60 },
    { errno: 'ENOSPC', exits: [73, 74], least: 35 },
    { errno: 'EROFS', exits: [73, 74], least: 35 },
  ])('with $errno ends it with $exits, and the same command gives the one episode', async ({ errno, exits, least }) => {
    const copy = await copiesOf(makeUsedShow());
    const seen = new Set<number>();
    await atEveryOperation(least, async (operation) => {
      const root = await copy(operation);
      const { fired, error } = await giveWithFault(root, `${errno}:before:${operation}`);
      if (!fired) return false;
      if (error) {
        seen.add(error.exit);
        expectClear(errorText(error), root);
      }
      await expectWhole(root, 'k');
      return true;
    });
    expect([...seen].sort()).toEqual(exits);
  });

  it('with a write that takes only half is written to again', async () => {
    const copy = await copiesOf(makeUsedShow());
    await atEveryOperation(4, async (operation) => {
      const root = await copy(operation);
      const { fired, error } = await giveWithFault(root, `short:before:${operation}`);
      if (!fired) return false;
      expect(error).toBeNull();
      await expectWhole(root, 'k');
      return true;
    });
  });
});

async function giveWithFault(root: string, fault: string): Promise<{ fired: boolean; error: EpisodeError | null }> {
  let fired = false;
  const say = (): void => {
    fired = true;
  };
  try {
    expect(await give(root, 'k', { fault, say })).toBe(`${WEEK}-1`);
    return { fired, error: null };
  } catch (error) {
    if (error instanceof EpisodeError) return { fired, error };
    throw error;
  }
}

it('a disk that is full once, at any operation of init, is named, and the next init makes the ledger', async () => {
  const place = await memoryDirectory();
  await atEveryOperation(30, async (operation) => {
    const root = join(place, String(operation));
    await mkdir(root);
    let fired = false;
    const say = (): void => {
      fired = true;
    };
    const options = { timeZone: 'Asia/Tokyo', show: 'brief', currency: 'USD' };
    const ran = await runVerb(root, 'init', { options, fault: { specification: `ENOSPC:before:${operation}`, say } });
    if (!fired) return false;
    if (ran.error) {
      expect([73, 74]).toContain(ran.exit);
      expect(errorText(ran.error)).toMatch(/^episode: no space is left on the disk \([^\n]+; [^\n]+\n {2}\S/);
    }
    const again = await runVerb(root, 'init', { options });
    if (again.error) expect(again.error).toMatchObject({ exit: 73, code: 'ALREADY_INITIALISED' });
    expect(await give(root, 'first')).toBe(`${WEEK}-0`);
    expect(checkLedger(root)).toEqual([]);
    return true;
  });
});
