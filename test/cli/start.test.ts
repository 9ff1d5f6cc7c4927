import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, inject, it } from 'vitest';
import { makeShow, temporaryDirectory } from '../rig.ts';
import { runLine } from '../run-line.ts';

/** What a scheduler starts lies in a bundle of its own. Here one of the two is taken away. */

const NOW = '2026-08-07T00:00:00Z';
const KEPT = '67f8b7a6-2b3f-4f0a-8a39-3c9d9c1f1a11';

async function programWithout(bundle: string): Promise<string> {
  const copy = await temporaryDirectory();
  for (const part of ['bin', 'dist'])
    cpSync(join(dirname(inject('program')), '..', part), join(copy, part), { recursive: true });
  for (const name of readdirSync(join(copy, 'dist')))
    if (name === `${bundle}.js` || name.endsWith('.cache')) rmSync(join(copy, 'dist', name));
  return join(copy, 'bin/episode.js');
}

async function run(program: string, root: string, words: string[]) {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', EPISODE_TEST: '1' };
  const line = [program, ...words, '--now', NOW];
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, line, { cwd: root, env });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

let root: string;
beforeAll(async () => {
  root = await makeShow({
    config: { schedules: { friday: { cron: '0 9 * * 5', plan: 'plan.json' }, hourly: { cron: '0 * * * *' } } },
  });
  const step = { id: 's1', provider: 'local', kind: 'image', params: { captoin: 'x' } };
  const film = { id: 'film', provider: 'assembly', kind: 'video', needs: ['s1'], role: 'media' };
  writeFileSync(join(root, 'wrong.json'), JSON.stringify({ format: 1, steps: [step, film] }));
  writeFileSync(join(root, 'plan.json'), JSON.stringify({ format: 1, steps: [{ ...step, params: {} }] }));
});

it('allocate needs nothing of the verbs of people, whatever it is given', async () => {
  const program = await programWithout('main');
  const lines = [
    ['allocate', '--key', 'a'],
    ['allocate', '--key', 'a'],
    ['--root', root, '--json', 'allocate', '--key', 'a'],
    ['allocate', '--key', 'b', '--plan', 'plan.json', '--slot', '2026-08-07', '--issued-at', NOW],
    ['allocate', '--key', 'c', '--plan', 'wrong.json'],
    ['allocate', '--key', 'c', '--plan', 'no.json'],
    ['allocate', '--key', 'c', '--slot', 'yesterday'],
    ['allocate', '--key', 'c', '--week', '2026-W54'],
    ['allocate', '--key', KEPT],
    ['allocate', '--key', KEPT, '--key-is-stable', 'made once a release'],
    ['allocate', '--schedule', 'friday'],
    ['allocate', '--schedule', 'friday', '--slot', '2026-07-31'],
    ['allocate', '--schedule', 'hourly', '--slot', '2026-07-31'],
    ['allocate', '--schedule', 'fridya'],
    ['allocate', '--key'],
    ['allocate', '--help'],
    ['allocate'],
    ['--version'],
    ['--help'],
    [],
    ['--nonsense'],
  ];
  const other = await temporaryDirectory();
  cpSync(root, other, { recursive: true });
  const same = (text: string) => text.replaceAll(other, root).replace(/^\d+\.\d+\.\d+(-test)?\n$/, 'VERSION');
  for (const words of lines) {
    const { code, stdout, stderr } = await runLine(other, words, { now: NOW });
    const ran = await run(program, root, words);
    expect({ ...ran, stdout: same(ran.stdout) }, words.join(' ')).toEqual({
      code,
      stdout: same(stdout),
      stderr: same(stderr),
    });
  }
  // The missing caches were made again, and no other.
  const caches = readdirSync(join(dirname(program), '../dist')).filter((name) => name.endsWith('.cache'));
  expect(caches).toEqual([expect.stringMatching(/^scheduled-/)]);
});

it('every other verb, and the help of one, needs nothing but the whole program', async () => {
  const program = await programWithout('scheduled');
  for (const words of [['list'], ['show', '2026-W32-0'], ['help', 'allocate'], ['help', 'exits'], ['doctor']]) {
    const { code, stderr } = await run(program, root, words);
    expect([code, stderr], words.join(' ')).toEqual([0, '']);
  }
  expect(existsSync(join(dirname(program), '../dist/scheduled.js'))).toBe(false);
});
