import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { episode, makeShow, type RunOptions, temporaryDirectory } from '../rig.ts';

const NOW = '2026-08-07T00:00:00Z';
let root: string;
let nowhere: string;
beforeAll(async () => {
  [root, nowhere] = await Promise.all([makeShow(), temporaryDirectory()]);
  await episode(root, ['allocate', '--key', 'a'], { now: NOW });
});
const run = (cwd: string, words: string[], options: RunOptions = {}) =>
  episode(root, words, { cwd, now: NOW, ...options });

describe('the show is', () => {
  it('the one of --root, before and after the verb, relative to where the command was started', async () => {
    const parent = join(root, '..');
    const relative = root.slice(realpathSync(parent).length + 1);
    for (const words of [
      ['--root', root, 'show', '2026-W32-0'],
      ['show', '2026-W32-0', '--root', root],
      ['show', '--root', root, '2026-W32-0'],
      [`--root=${root}`, 'show', '2026-W32-0'],
      ['--root', relative, 'show', '2026-W32-0'],
    ]) {
      expect((await run(parent, words)).code, words.join(' ')).toBe(0);
    }
  });

  it('that of $EPISODE_ROOT, and --root goes before it', async () => {
    expect((await run(nowhere, ['show', '2026-W32-0'], { env: { EPISODE_ROOT: root } })).code).toBe(0);
    const both = await run(nowhere, ['show', '2026-W32-0', '--root', root], { env: { EPISODE_ROOT: nowhere } });
    expect(both.code).toBe(0);
    // What is not looked at cannot be wrong.
    const unused = await run(nowhere, ['show', '2026-W32-0', '--root', root], { env: { EPISODE_ROOT: '' } });
    expect(unused.code).toBe(0);
  });

  it('the nearest directory above with a pipeline.json', async () => {
    const deep = join(root, 'episodes/2026-W32-0/raw');
    mkdirSync(deep, { recursive: true });
    expect((await run(deep, ['show', '2026-W32-0'])).code).toBe(0);
  });

  it('else none: 78, naming where was looked', async () => {
    expect(await run(nowhere, ['list'])).toMatchObject({
      code: 78,
      stderr: `episode: there is no pipeline.json in ${nowhere} or in a directory above it [NOT_A_SHOW]
  name the show: --root DIR, or EPISODE_ROOT=DIR
  episode init --time-zone ZONE  # makes one here
`,
    });
    expect(await run(root, ['list', '--root', nowhere])).toMatchObject({
      code: 78,
      stderr: `episode: ${nowhere} is no show: there is no pipeline.json in it [NOT_A_SHOW]
  name the show: --root DIR, or EPISODE_ROOT=DIR
  episode init --time-zone ZONE  # makes one here
`,
    });
  });
});

describe('global options', () => {
  it('work before and after the verb', async () => {
    const [before, after] = await Promise.all([run(root, ['--json', 'list']), run(root, ['list', '--json'])]);
    expect(before.json).toEqual(after.json);
    expect(before.json.episodes).toHaveLength(1);
  });

  it('--quiet silences the talk, not the errors', async () => {
    const replay = ['allocate', '--key', 'a'];
    expect((await run(root, replay)).stderr).toMatch(/^original episode 2026-W32-0/);
    expect(await run(root, [...replay, '--quiet'])).toMatchObject({ code: 0, stdout: '2026-W32-0\n', stderr: '' });
    expect(await run(root, ['--quiet', ...replay])).toMatchObject({ code: 0, stderr: '' });
    expect((await run(root, ['show', '2026-W32-9', '--quiet'])).stderr).toMatch(/^episode: there is no episode/);
  });

  it('--now is for tests: without EPISODE_TEST=1 it is no option at all', async () => {
    for (const EPISODE_TEST of [undefined, '0', '']) {
      const { code, stderr } = await run(root, ['list'], { env: { EPISODE_TEST } });
      expect([code, stderr]).toEqual([64, "episode: unknown option '--now' [USAGE]\n  episode --help\n"]);
    }
  });
});
