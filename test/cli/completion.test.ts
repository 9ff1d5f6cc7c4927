import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs.ts';
import { episode, makeShow, temporaryDirectory } from '../rig.ts';

const NOW = '2026-08-07T00:00:00Z';
let root: string;
let home: string;
beforeAll(async () => {
  [root, home] = await Promise.all([makeShow(), temporaryDirectory()]);
  for (const key of ['a', 'b']) await episode(root, ['allocate', '--key', key], { now: NOW });
  await episode(root, ['allocate', '--key', 'c', '--week', '2026-W40'], { now: NOW });
  mkdirSync(join(home, 'bin'));
  symlinkSync(inject('program'), join(home, 'bin/episode'));
  for (const shell of ['bash', 'zsh', 'fish']) {
    writeFileSync(join(home, `episode.${shell}`), (await episode(root, ['completion', shell])).stdout);
  }
});

/** What bash offers after these words; the last one is being typed. */
async function complete(...words: string[]): Promise<string[]> {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _episode; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)(
    'bash',
    ['--norc', '-c', script, '-', join(home, 'episode.bash'), 'episode', ...words],
    {
      cwd: root,
      env: { PATH: `${home}/bin:${process.env.PATH}`, HOME: '/nonexistent' },
    },
  );
  return stdout.split('\n').filter((line) => line !== '');
}

describe('in bash, tab completes', () => {
  it('verbs', async () => {
    expect((await complete('')).sort()).toEqual([...Object.keys(VERBS), 'help'].sort());
    expect((await complete('re')).sort()).toEqual(
      Object.keys(VERBS)
        .filter((verb) => verb.startsWith('re'))
        .sort(),
    );
  });

  it('episode IDs of this show', async () => {
    expect((await complete('show', '')).sort()).toEqual(['2026-W32-0', '2026-W32-1', '2026-W40-0']);
    expect(await complete('show', '2026-W4')).toEqual(['2026-W40-0']);
  });

  it('the options of the verb', async () => {
    expect((await complete('allocate', '--k')).sort()).toEqual(['--key', '--key-is-stable']);
    expect(await complete('list', '--st')).toEqual(['--status']);
    expect(await complete('list', '--j')).toEqual(['--json']);
    expect(await complete('close', '--status')).toEqual([]);
  });

  it('topics of help', async () => {
    expect(await complete('help', 'ex')).toEqual(['exits']);
    expect(await complete('help', 'alloc')).toEqual(['allocate']);
  });

  it('nothing where there is no show, without a word on the terminal', async () => {
    const script = `source "$1"; COMP_WORDS=(episode show ''); COMP_CWORD=2; _episode; echo "\${#COMPREPLY[@]}"`;
    const ran = await promisify(execFile)('bash', ['--norc', '-c', script, '-', join(home, 'episode.bash')], {
      cwd: '/',
      env: { PATH: `${home}/bin:${process.env.PATH}` },
    });
    expect(ran).toMatchObject({ stdout: '0\n', stderr: '' });
  });
});

it.each(['bash', 'zsh', 'fish'])('the script for %s is one that this shell can read, where it is there', (shell) => {
  const { status, stderr, error } = spawnSync(shell, ['-n', join(home, `episode.${shell}`)], { encoding: 'utf8' });
  if (error) return; // No such shell here.
  expect([status, stderr]).toEqual([0, '']);
});

it('another shell is refused with the ones there are', async () => {
  expect(await episode(root, ['completion', 'tcsh'])).toMatchObject({
    code: 64,
    stderr: 'episode: there is no completion for "tcsh" [USAGE]\n  there is bash, zsh, fish\n',
  });
});
