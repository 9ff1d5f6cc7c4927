import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import type { EpisodeError } from '../../src/errors.ts';
import { createFfmpeg } from '../../src/media/ffmpeg.ts';
import { PATH, processesIn, run, scratch } from './rig.ts';

const INSTALL = ['apt-get install ffmpeg', 'brew install ffmpeg', 'EPISODE_FFMPEG=/path/to/ffmpeg uses another one'];

const directory = await scratch();

/** An executable that answers `-version` with these lines. */
async function fake(name: string, answer: string, mode = 0o755): Promise<string> {
  const bin = join(directory, `bin-${name}`);
  await mkdir(bin);
  await writeFile(join(bin, 'ffmpeg'), `#!/bin/sh\ncat <<'EOF'\n${answer}\nEOF\n`, { mode });
  return bin;
}

const version = (name: string, libavutil: string): string =>
  `ffmpeg version ${name} Copyright (c)\nlibavutil      ${libavutil}.100 /`;

const failure = (promise: Promise<unknown>): Promise<EpisodeError> =>
  promise.then(
    () => expect.fail('it did not fail'),
    (error: EpisodeError) => error,
  );

describe('the ffmpeg that is used', () => {
  test('is the one on PATH', async () => {
    const bin = await fake('path', version('7.1', '59. 39'));
    expect(await createFfmpeg({ PATH: `${bin}:${PATH}` }).locate()).toEqual({ path: 'ffmpeg', version: '7.1' });
  });

  test('is the one of the package where PATH has none', async () => {
    const { path } = await createFfmpeg({ PATH: '/nonexistent' }).locate();
    expect(path).toMatch(/node_modules\/@ffmpeg-installer\/.*\/ffmpeg$/);
  });

  test('is the one that EPISODE_FFMPEG names, before that on PATH', async () => {
    const bin = await fake('chosen', version('6.0', '58. 2'));
    const path = join(bin, 'ffmpeg');
    expect(await createFfmpeg({ PATH, EPISODE_FFMPEG: path }).locate()).toEqual({ path, version: '6.0' });
  });

  test('is never another one than EPISODE_FFMPEG names', async () => {
    const error = await failure(createFfmpeg({ PATH, EPISODE_FFMPEG: '/nonexistent/ffmpeg' }).locate());
    expect(error.code).toBe('FFMPEG_MISSING');
    expect(error.exit).toBe(78);
    expect(error.message).toBe('there is no ffmpeg at /nonexistent/ffmpeg, which EPISODE_FFMPEG names');
    expect(error.hints).toEqual(INSTALL);
  });

  test('is refused by name when it is older than 4.1, although the package would do', async () => {
    const bin = await fake('old', version('3.4.11-0ubuntu0.1', '55. 78'));
    const error = await failure(createFfmpeg({ PATH: `${bin}:/bin` }).locate());
    expect(error.code).toBe('FFMPEG_MISSING');
    expect(error.message).toBe('the ffmpeg on PATH is version 3.4.11-0ubuntu0.1; 4.1 or newer is needed');
  });

  test('is told apart from a program of the same name', async () => {
    const bin = await fake('other', 'hello');
    const error = await failure(createFfmpeg({ PATH: `${bin}:/bin` }).locate());
    expect(error.message).toBe('the ffmpeg on PATH does not answer "-version" as ffmpeg does');
  });

  test('must be executable, and the fix is told', async () => {
    const path = join(await fake('mode', version('7.1', '59. 39'), 0o644), 'ffmpeg');
    const error = await failure(createFfmpeg({ PATH, EPISODE_FFMPEG: path }).locate());
    expect(error.message).toBe(`${path} cannot be started (EACCES)`);
    expect(error.hints[0]).toBe(`chmod +x ${path}`);
  });

  test('is looked for again after it was missing: a worker lives on while it is installed', async () => {
    const path = join(directory, 'later');
    const ffmpeg = createFfmpeg({ PATH, EPISODE_FFMPEG: path });
    await failure(ffmpeg.locate());
    await symlink(join(await fake('later', version('7.1', '59. 39')), 'ffmpeg'), path);
    expect((await ffmpeg.locate()).version).toBe('7.1');
  });
});

describe('the bundled program', () => {
  const bundleInto = async (place: string): Promise<string> => {
    await mkdir(place);
    const main = `import { createFfmpeg } from './src/media/ffmpeg.ts';
      createFfmpeg({ PATH: '/nonexistent' }).locate().then(
        ({ path }) => console.log(path), (error) => console.log(error.code, error.exit, error.message));`;
    const outfile = join(place, 'main.js');
    await build({
      stdin: { contents: main, resolveDir: resolve('.'), loader: 'ts' },
      ...{ bundle: true, platform: 'node', format: 'cjs', target: 'node20', outfile, logLevel: 'error' },
      define: { 'import.meta.url': '__filename' },
    });
    const { stdout } = await run(process.execPath, [outfile], { cwd: '/' });
    return stdout.trim();
  };

  test('does not contain the package and says what is missing without it', async () => {
    expect(await bundleInto(join(directory, 'alone'))).toBe(
      'FFMPEG_MISSING 78 there is no ffmpeg on PATH, and no package @ffmpeg-installer/ffmpeg',
    );
  });

  test('finds the package beside itself, from any directory', async () => {
    const clone = join(directory, 'clone');
    await mkdir(clone);
    await symlink(resolve('node_modules'), join(clone, 'node_modules'));
    expect(await bundleInto(join(clone, 'dist'))).toMatch(/@ffmpeg-installer\/.*\/ffmpeg$/);
  });
});

describe('a run', () => {
  const killed = `${version('7.1', '59. 39')}\nEOF\n[ "$1" = -version ] || kill -9 $$\ncat <<'EOF'`;

  test('that something kills is no answer about the file', async () => {
    const path = join(await fake('killed', killed), 'ffmpeg');
    const error = await failure(createFfmpeg({ PATH, EPISODE_FFMPEG: path }).run(['-i', 'x'], { cwd: directory }));
    expect(error.code).toBe('TOOL_FAILED');
    expect(error.message).toBe('ffmpeg was killed by SIGKILL');
  });

  test('is ended by an abort, for its reason', async () => {
    const stop = new AbortController();
    const forever = ['-f', 'lavfi', '-i', 'color=s=16x16', '-f', 'framecrc', '-'];
    const running = createFfmpeg({ PATH }).run(forever, {
      ...{ cwd: directory, signal: stop.signal },
      onOutput: () => stop.abort(new Error('enough')),
    });
    await expect(running).rejects.toThrow('enough');
    expect(await processesIn(directory)).toEqual([]);
  });

  test('has none of the secrets in the environment of this program', async () => {
    process.env.EPISODE_TEST_SECRET = 'hunter2';
    const path = join(await fake('env', `${version('7.1', '59. 39')}\nEOF\nenv\ncat <<'EOF'`), 'ffmpeg');
    const said: string[] = [];
    await createFfmpeg({ PATH, EPISODE_FFMPEG: path }).run([], { cwd: directory, onOutput: (line) => said.push(line) });
    delete process.env.EPISODE_TEST_SECRET;
    expect(said.join('\n')).toContain('PATH=');
    expect(said.join('\n')).not.toContain('hunter2');
  });
});
