import { execFile } from 'node:child_process';
import { chown, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished, type TestContext } from 'vitest';
import { checkLedger } from '../ledger-check.ts';
import { episode, makeShow, temporaryDirectory } from '../rig.ts';
import { give, makeUsedShow, NOW, WEEK } from './faults.ts';

/** The same refusals from a real kernel: a full disk, a read-only one, another user, a limit on file sizes. */

const run = promisify(execFile);
const ALLOCATE = ['allocate', '--key', 'k'];
const STRANGER = 4321;
const AS_STRANGER = ['setpriv', `--reuid=${STRANGER}`, `--regid=${STRANGER}`, '--clear-groups'];

/** A file system of this size with a copy of `show` in it, or the test is reported as not run, with the reason. */
async function mounted(ctx: TestContext, show: string, size: string): Promise<string> {
  const place = await temporaryDirectory();
  await orSkip(ctx, 'mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0755`, 'tmpfs', place]);
  onTestFinished(async () => {
    await run('umount', ['-l', place]);
  });
  await cp(show, join(place, 'show'), { recursive: true });
  return join(place, 'show');
}

async function orSkip(ctx: TestContext, command: string, args: string[]): Promise<void> {
  try {
    await run(command, args);
  } catch (error) {
    ctx.skip(`${command} is refused here: ${(error as Error).message.split('\n').slice(0, 2).join(' ')}`);
  }
}

it('a disk without room is named, and once there is room the same command gives the one episode', async (ctx) => {
  const root = await mounted(ctx, await makeUsedShow(), '300k');
  const ballast = join(root, 'ballast');
  // As far as it goes: what is left is less than a page.
  await writeFile(ballast, Buffer.alloc(300 * 1024)).catch(() => {});
  const full = await episode(root, ALLOCATE, { now: NOW });
  expect(full).toMatchObject({ code: 73, stdout: '' });
  expect(full.stderr).toBe(
    'episode: no space is left on the disk (state/staging); nothing was changed [CANNOT_WRITE]\n' +
      '  mend the disk, then run the same command again: it is safe\n',
  );
  await writeFile(ballast, '');
  expect((await episode(root, ALLOCATE, { now: NOW })).stdout).toBe(`${WEEK}-1\n`);
  expect(checkLedger(root)).toEqual([]);
});

it('a read-only disk is read, and a command that writes says what it is', async (ctx) => {
  const root = await mounted(ctx, await makeUsedShow(), '4m');
  await run('mount', ['-o', 'remount,ro', join(root, '..')]);
  expect((await episode(root, ['list', '--json'], { now: NOW })).json.episodes).toHaveLength(1);
  expect(await episode(root, ['allocate', '--key', 'before'], { now: NOW })).toMatchObject({
    code: 0,
    stdout: `${WEEK}-0\n`,
  });
  const refused = await episode(root, ALLOCATE, { now: NOW });
  expect(refused).toMatchObject({ code: 73, stdout: '' });
  expect(refused.stderr).toBe(
    'episode: the file system is read-only (state/lock); nothing was changed [CANNOT_WRITE]\n' +
      '  mend the disk, then run the same command again: it is safe\n',
  );
  await run('mount', ['-o', 'remount,rw', join(root, '..')]);
  expect(await give(root, 'k')).toBe(`${WEEK}-1`);
});

it('a file that may not grow is a clear error, and the ledger is as before', async (ctx) => {
  await orSkip(ctx, 'prlimit', ['--version']);
  const root = await makeUsedShow();
  const cut = await episode(root, ALLOCATE, { now: NOW, prefix: ['prlimit', '--fsize=300'] });
  expect(cut).toMatchObject({ code: 74, stdout: '' });
  expect(cut.stderr).toBe(
    'episode: the file would be larger than this process may write (ulimit -f) (state/staging); nothing was changed [IO_ERROR]\n' +
      '  mend the disk, then run the same command again: it is safe\n',
  );
  expect(checkLedger(root)).toEqual([]);
  expect(await give(root, 'k')).toBe(`${WEEK}-1`);
});

it('root is sent to the owner of state/ when it would write, and may read', async (ctx) => {
  const root = await makeShow();
  if (process.geteuid?.() !== 0) ctx.skip('only root can give files away');
  await run('chown', ['-R', `${STRANGER}`, root]);
  const refused = await episode(root, ['allocate', '--key', 'a key'], { now: NOW });
  expect(refused).toMatchObject({ code: 77, stdout: '' });
  expect(refused.stderr).toBe(
    `episode: state/ belongs to '#${STRANGER}', and another user would leave files that '#${STRANGER}' cannot change [NOT_OWNER]\n` +
      `  sudo -u '#${STRANGER}' episode allocate --key 'a key' --now ${NOW}\n`,
  );
  for (const verb of ['list', 'cost']) expect((await episode(root, [verb, '--json'], { now: NOW })).code).toBe(0);
  expect(checkLedger(root)).toEqual([]);
});

it('a stranger is told that state/ is not his, whatever he runs', async (ctx) => {
  await orSkip(ctx, AS_STRANGER[0]!, [...AS_STRANGER.slice(1), 'true']);
  const show = await makeUsedShow();
  const place = await temporaryDirectory();
  await run('chmod', ['0755', place]);
  const root = join(place, 'show');
  await cp(show, root, { recursive: true });
  await run('chmod', ['0755', root]);
  await run('chmod', ['0644', join(root, 'pipeline.json')]);
  for (const args of [ALLOCATE, ['list'], ['show', `${WEEK}-0`], ['why', '--key', 'before']]) {
    const ran = await episode(root, args, { now: NOW, prefix: AS_STRANGER });
    expect(ran, args.join(' ')).toMatchObject({ code: 77, stdout: '' });
    expect(ran.stderr).toMatch(/^episode: .*state.* \[(NOT_OWNER|NOT_PERMITTED)\]\n {2}\S/);
  }
  expect(checkLedger(root)).toEqual([]);
});

it('a directory in which nothing may be made is said to be that', async (ctx) => {
  await orSkip(ctx, AS_STRANGER[0]!, [...AS_STRANGER.slice(1), 'true']);
  const place = await temporaryDirectory();
  await run('chmod', ['0755', place]);
  const ran = await episode(place, ['init', '--time-zone', 'UTC'], { now: NOW, prefix: AS_STRANGER });
  expect(ran).toMatchObject({ code: 77, stdout: '' });
  expect(ran.stderr).toContain('permission denied');
  await mkdir(join(place, 'his'));
  await chown(join(place, 'his'), STRANGER, STRANGER);
  const his = await episode(join(place, 'his'), ['init', '--time-zone', 'UTC'], { now: NOW, prefix: AS_STRANGER });
  expect(his.code).toBe(0);
});
