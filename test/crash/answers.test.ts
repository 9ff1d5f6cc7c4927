import { closeSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';
import { checkLedger } from '../ledger-check.ts';
import { episode, makeShow, type Ran, start } from '../rig.ts';
import { give, NOW, WEEK } from './faults.ts';

const ALLOCATE = ['allocate', '--key', 'k'];

const NOT_PRINTED =
  'episode: it is recorded, and the answer could not be printed [COMMITTED_NOT_PRINTED]\n' +
  '  run the same command again: it prints the answer and changes nothing\n';

async function withStdoutTo(path: string, root: string, args: string[]): Promise<Ran> {
  const file = openSync(path, 'w');
  try {
    return await episode(root, args, { now: NOW, stdio: ['ignore', file, 'pipe'] });
  } finally {
    closeSync(file);
  }
}

/** Nobody reads what it prints: the reading end is closed before it starts to. */
async function withStdoutClosed(root: string, args: string[]): Promise<Ran> {
  const { child, done } = start(root, args, { now: NOW });
  child.stdout!.destroy();
  return done;
}

it.each([
  ['a full disk', (root: string, args: string[]) => withStdoutTo('/dev/full', root, args)],
  ['a reader that has gone', withStdoutClosed],
])('an answer that was recorded and goes to %s is 74, and the same command prints it', async (_, run) => {
  const root = await makeShow();
  for (const args of [ALLOCATE, [...ALLOCATE.slice(0, 2), 'k2', '--json']]) {
    const ran = await run(root, args);
    expect(ran.code).toBe(74);
    expect(ran.stderr).toBe(NOT_PRINTED);
    expect(await episode(root, args, { now: NOW })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(WEEK),
      stderr: expect.stringContaining('original episode'),
    });
  }
  expect(checkLedger(root)).toEqual([]);
});

it('a replay to a full disk says so, and that nothing was changed', async () => {
  const root = await makeShow();
  await give(root, 'k');
  const ran = await withStdoutTo('/dev/full', root, ['--quiet', ...ALLOCATE]);
  expect(ran.code).toBe(74);
  expect(ran.stderr).toBe(
    'episode: the answer could not be printed [IO_ERROR]\n' +
      '  free the disk that stdout goes to, then run the same command again: nothing was changed\n',
  );
});

it('a list whose reader has seen enough ends quietly', async () => {
  const root = await makeShow();
  await give(root, 'k');
  const ran = await withStdoutClosed(root, ['list']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
});

it('talk that nobody can hear changes neither the answer nor the exit', async () => {
  const root = await makeShow();
  const full = openSync('/dev/full', 'w');
  await give(root, 'k');
  const ran = await episode(root, ALLOCATE, { now: NOW, stdio: ['ignore', 'pipe', full] });
  closeSync(full);
  expect(ran).toMatchObject({ code: 0, stdout: `${WEEK}-0\n` });
});
