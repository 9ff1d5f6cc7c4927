import { existsSync, mkdirSync, readFileSync, rmdirSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorText } from '../../src/cli/render.ts';
import type { EpisodeError } from '../../src/errors.ts';
import { createNodePort } from '../../src/node-port.ts';
import { faulty, give, NOW, WEEK } from '../crash/faults.ts';
import { checkLedger } from '../ledger-check.ts';
import { episode, hasStopped, makeShow, start } from '../rig.ts';

const { self } = createNodePort({ command: 'episode test' });
const acquire = (root: string, waitMs: number) =>
  createNodePort({ command: 'episode test' }).lock(join(root, 'state'), waitMs);

async function refusal(root: string, waitMs: number): Promise<EpisodeError> {
  return acquire(root, waitMs).then(
    async (held) => {
      await held.release();
      throw new Error('the lock was given');
    },
    (error) => error,
  );
}

const lockOf = (root: string) => join(root, 'state/lock');
const noteOf = (root: string) => join(root, 'state/lock.json');

/** Changes what the holder says of itself. */
function rewriteNote(root: string, change: object): void {
  writeFileSync(noteOf(root), JSON.stringify({ ...JSON.parse(readFileSync(noteOf(root), 'utf8')), ...change }));
}

function age(root: string): void {
  const minuteAgo = Date.now() / 1000 - 60;
  utimesSync(lockOf(root), minuteAgo, minuteAgo);
}

function holderPid(root: string): number | null {
  return existsSync(noteOf(root)) ? JSON.parse(readFileSync(noteOf(root), 'utf8')).pid : null;
}

it('what a command that was killed while it wrote its note leaves behind goes with the next lock', async () => {
  const root = await makeShow();
  writeFileSync(`${noteOf(root)}.new`, '{ "format": 1, "ho');
  await give(root, 'next');
  expect(existsSync(`${noteOf(root)}.new`)).toBe(false);
  expect(checkLedger(root)).toEqual([]);
  mkdirSync(`${noteOf(root)}.new`);
  expect(await give(root, 'after')).toBe(`${WEEK}-1`);
});

/** A command of another process that stands still inside its transaction. */
async function stoppedHolder(root: string) {
  // The tenth operation is inside the transaction, whatever changes around it: the lock is there.
  for (let operation = 10; ; operation += 5) {
    const { child, done } = start(root, ['allocate', '--key', 'holder'], faulty(`stop:before:${operation}`));
    if (!(await hasStopped(child))) throw new Error((await done).stderr);
    if (holderPid(root) === child.pid) return { child, done };
    child.kill('SIGKILL');
    await done;
  }
}

describe('a lock that is held', () => {
  it('by a living command is waited for, and the refusal names the holder', async () => {
    const root = await makeShow();
    const { child, done } = await stoppedHolder(root);
    const error = await refusal(root, 1000);
    expect(error.exit).toBe(75);
    expect(errorText(error).replace(/for \d+ s\)/, 'for N s)')).toBe(
      `episode: the ledger is busy: waited 1 s for pid ${child.pid} on ${hostname()} ("episode allocate", for N s) [LOCK_BUSY]\n` +
        '  the same command later is safe',
    );
    expect(error.details.holder).toMatchObject({ pid: child.pid, host: hostname(), command: 'episode allocate' });
    child.kill('SIGCONT');
    expect(await done).toMatchObject({ code: 0, stdout: `${WEEK}-0\n` });
  });

  it('by one who does not say who he is, is waited for too', async () => {
    const root = await makeShow();
    mkdirSync(lockOf(root));
    expect(errorText(await refusal(root, 100))).toBe(
      'episode: the ledger is busy: waited 0 s for another command that does not say which it is [LOCK_BUSY]\n' +
        '  the same command later is safe',
    );
    writeFileSync(noteOf(root), '{ "pid": 1, "hos');
    expect((await refusal(root, 100)).message).toContain('does not say which it is');
  });

  it('with a note left by an earlier holder names nobody wrongly', async () => {
    const root = await makeShow();
    await (await acquire(root, 0)).release();
    mkdirSync(lockOf(root));
    writeFileSync(
      noteOf(root),
      JSON.stringify({ format: 1, ...self, pid: 1, command: 'x', at: new Date().toISOString(), lock: 'earlier' }),
    );
    expect((await refusal(root, 100)).message).toContain('does not say which it is');
  });

  it.skipIf(process.platform !== 'linux')('by a command that was killed is taken over at once', async () => {
    const root = await makeShow();
    const { child, done } = await stoppedHolder(root);
    child.kill('SIGKILL');
    await done;
    expect(existsSync(lockOf(root))).toBe(true);
    const held = await acquire(root, 0).catch((error) => error);
    expect(held).toHaveProperty('release');
    await held.release();
    expect(await give(root, 'holder')).toBe(`${WEEK}-0`);
    expect(checkLedger(root)).toEqual([]);
  });

  it('by a pid that now is somebody else is taken over at once', async () => {
    const root = await makeShow();
    await acquire(root, 0);
    rewriteNote(root, { started: '1' });
    await (await acquire(root, 0)).release();
  });

  it('from before the last boot is taken over at once', async () => {
    const root = await makeShow();
    await acquire(root, 0);
    rewriteNote(root, { boot: '00000000-0000-0000-0000-000000000000 pid:[1]' });
    await (await acquire(root, 0)).release();
  });

  it.each([
    ['of another host', { host: 'elsewhere', pid: 1 }],
    ['of another container', { boot: `${self.boot.split(' ')[0]} pid:[1]`, pid: 1 }],
  ])('by a process %s is left alone until it is stale', async (_, holder) => {
    const root = await makeShow();
    await acquire(root, 0);
    rewriteNote(root, holder);
    expect((await refusal(root, 100)).code).toBe('LOCK_BUSY');
    age(root);
    await (await acquire(root, 0)).release();
  });
});

describe('releasing', () => {
  it('leaves nothing behind', async () => {
    const root = await makeShow();
    await (await acquire(root, 0)).release();
    expect([existsSync(lockOf(root)), existsSync(noteOf(root))]).toEqual([false, false]);
  });

  it('does not remove the lock of whoever took it over meanwhile', async () => {
    const root = await makeShow();
    const late = await acquire(root, 0);
    age(root);
    const { child, done } = await stoppedHolder(root);
    const note = readFileSync(noteOf(root), 'utf8');
    await late.release();
    expect(existsSync(lockOf(root))).toBe(true);
    expect(readFileSync(noteOf(root), 'utf8')).toBe(note);
    child.kill('SIGCONT');
    expect((await done).code).toBe(0);
    expect(existsSync(lockOf(root))).toBe(false);
  });

  it('of a lock that somebody removed by hand is no failure', async () => {
    const root = await makeShow();
    const held = await acquire(root, 0);
    rmdirSync(lockOf(root));
    await held.release();
    expect(existsSync(noteOf(root))).toBe(true);
  });
});

it('a file in the place of the lock is named at once, with what to do', async () => {
  const root = await makeShow();
  writeFileSync(lockOf(root), '');
  const ran = await episode(root, ['allocate', '--key', 'k'], { now: NOW });
  expect(ran.stderr).toBe(
    'episode: the ledger is damaged at state/lock: it is no directory, so no command of ours made it [LEDGER_DAMAGED]\n' +
      '  nothing was changed; mv state/lock ELSEWHERE\n' +
      '  episode doctor  # names every damaged record\n',
  );
  expect(ran.code).toBe(65);
});
