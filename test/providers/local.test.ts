import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFfmpeg } from '../../src/media/ffmpeg.ts';
import { verifyMedia } from '../../src/media/verify.ts';
import type { SubmitOutcome } from '../../src/model/protocol.ts';
import { Sheet } from '../../src/model/sheet.ts';
import { createLocalProvider } from '../../src/providers/local/local.ts';
import {
  colourAt,
  filesOf,
  type Given,
  type Installed,
  installed,
  loudness,
  nameOf,
  PATH,
  processesIn,
  run,
  scratch,
  submit,
  tinyDisk,
  wrapped,
} from '../media/rig.ts';
import { task } from './exec-rig.ts';

const directory = await scratch();
const fresh = (): Promise<string> => mkdtemp(join(directory, 'out-'));

const SMALL = { width: 160, height: 90, seconds: 1 };

const speaks = await run('espeak-ng', ['--version']).then(
  () => true,
  () => false,
);

/** The provider on one ffmpeg, and what its submissions come to. */
function studio({ ffmpeg }: Pick<Installed, 'ffmpeg'>) {
  const notes: string[] = [];
  const local = createLocalProvider({ name: 'local', ffmpeg, path: PATH, onNote: (note) => notes.push(note) });

  const made = async (kind: string, params: Record<string, unknown>, provider = local) => {
    const outputDir = await fresh();
    const [file, ...others] = filesOf(await submit(provider, { kind, params, outputDir }));
    expect(others).toEqual([]);
    expect(await readdir(outputDir)).toEqual([file!.path.slice(outputDir.length + 1)]);
    return file!;
  };

  const released = async (given: Omit<Given, 'outputDir'>, outputDir?: string) => {
    const place = outputDir ?? (await fresh());
    const outcome = await submit(local, { ...given, outputDir: place });
    expect(await readdir(place), 'nothing is left behind').toEqual([]);
    expect(outcome).toMatchObject({ outcome: 'released', billable: 'no' });
    return outcome as Extract<SubmitOutcome, { outcome: 'released' }>;
  };

  return { local, notes, made, released };
}

describe.each(installed)('with $label', ({ ffmpeg }) => {
  const { local, notes, made, released } = studio({ ffmpeg });

  test('makes a film of the size, rate and length that were asked for, with sound to its end', async () => {
    const film = await made('video', { ...SMALL, seconds: 1.2, fps: 30, colour: '#ff0000' });
    const { video, audio } = await verifyMedia(ffmpeg, film.path, 'video');
    expect(video).toMatchObject({ width: 160, height: 90, frames: 36, fps: 30 });
    expect(audio?.seconds).toBeCloseTo(1.2, 1);
    expect(nameOf(await colourAt(film.path, 0.5))).toBe('red');
    expect(await loudness(film.path, 1, 1.2)).toBeGreaterThan(0.05);
  });

  test('makes the same bytes for the same params', async () => {
    const params = { ...SMALL, pattern: 'moving', caption: 'again', voice: 'again' };
    const [one, two] = [await made('video', params), await made('video', params)];
    expect(two.sha256).toBe(one.sha256);
    expect(await readFile(two.path)).toEqual(await readFile(one.path));
    expect((await made('video', { ...params, tone: 330 })).sha256).not.toBe(one.sha256);
  });

  test('makes an image and a sound', async () => {
    const image = await made('image', { width: 64, height: 48, pattern: 'bars' });
    expect((await verifyMedia(ffmpeg, image.path, 'image')).video).toMatchObject({ width: 64, height: 48 });
    const sound = await made('audio', { seconds: 1.5 });
    expect((await verifyMedia(ffmpeg, sound.path, 'audio')).duration_seconds).toBeCloseTo(1.5, 1);
  });

  test('draws any caption as it stands', async () => {
    const plain = await made('image', { width: 160, height: 90 });
    const hashes = new Set([plain.sha256]);
    for (const caption of ["it's 100%", '%{pts}', '#1: [v];,=', 'a\\nb', 'a\nb', '-i é 😀']) {
      hashes.add((await made('image', { width: 160, height: 90, caption })).sha256);
    }
    expect(hashes.size, 'each caption must show').toBe(7);
    expect((await made('image', { width: 160, height: 90, caption: ' \n ' })).sha256).toBe(plain.sha256);
    expect(notes.filter((note) => note.includes('caption'))).toEqual([]);
  });

  test('speaks over the tone, and takes the time it needs', async ({ skip }) => {
    if (!speaks) skip('there is no espeak-ng on this machine');
    const words =
      '-This sentence is so long that nobody could speak it out within the four seconds of a default. Or could you?';
    const spoken = await verifyMedia(ffmpeg, (await made('audio', { voice: words })).path, 'audio');
    expect(spoken.duration_seconds).toBeGreaterThan(5);
    const cut = await made('audio', { voice: words, seconds: 1.5 });
    expect((await verifyMedia(ffmpeg, cut.path, 'audio')).duration_seconds).toBeCloseTo(1.5, 1);
    expect(await loudness(cut.path, 0, 1.5)).toBeGreaterThan(0.15);
  });

  test('a full disk gives no film', async ({ skip }) => {
    const disk = await tinyDisk(directory, '48k', skip);
    const params = { ...SMALL, pattern: 'moving', seconds: 3 };
    const { reason, message } = await released({ kind: 'video', params }, disk);
    expect(reason).toBe('disk_full');
    expect(message).toMatch(/^no space left on device/);
  });

  test('an abort ends it at once, with every process', async () => {
    const stop = new AbortController();
    const outputDir = await fresh();
    const onProgress = () => stop.abort();
    const outcome = await submit(local, {
      kind: 'video',
      params: { seconds: 3000 },
      outputDir,
      onProgress,
      signal: stop.signal,
    });
    expect(outcome).toEqual({
      outcome: 'released',
      reason: 'aborted',
      message: 'the render was stopped',
      billable: 'no',
    });
    expect(await processesIn(outputDir)).toEqual([]);
    expect(await readdir(outputDir)).toEqual([]);
  });
});

describe('with any ffmpeg', () => {
  const { ffmpeg, path } = installed[0]!;
  const { local, made, released } = studio({ ffmpeg });

  test('makes the media without the voice where espeak-ng is not installed, and says so', async () => {
    const said: string[] = [];
    const mute = createLocalProvider({
      name: 'local',
      ffmpeg,
      path: '/nonexistent',
      onNote: (note) => said.push(note),
    });
    await made('audio', { seconds: 1, voice: 'hello' }, mute);
    expect(said).toEqual(['nothing is spoken: there is no espeak-ng (apt-get install espeak-ng)']);
  });

  test('makes the media without the caption where ffmpeg cannot draw text, and says so', async () => {
    const said: string[] = [];
    const plain = createLocalProvider({
      ...{ name: 'local', path: PATH, onNote: (note: string) => said.push(note) },
      ffmpeg: await wrapped(path, directory, '-filters', 'echo " TS. scale V->V x"'),
    });
    const image = await made('image', { width: 160, height: 90, caption: 'x' }, plain);
    expect(image.sha256).toBe((await made('image', { width: 160, height: 90 }, plain)).sha256);
    expect(said).toEqual(['the caption is left out: this ffmpeg has no drawtext filter']);
  });

  test('tells how far it is, never backwards', async () => {
    const told: number[] = [];
    filesOf(
      await submit(local, {
        kind: 'video',
        params: SMALL,
        outputDir: await fresh(),
        onProgress: (it) => told.push(it),
      }),
    );
    expect(told.length).toBeGreaterThan(0);
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect(told.every((fraction) => fraction >= 0 && fraction <= 1)).toBe(true);
  });

  test('an ffmpeg that is killed gives no film', async () => {
    const killed = await wrapped(path, directory, 'video.mp4', 'timeout -s KILL 0.2 "$REAL" "$@"; kill -9 $$');
    const { reason, message } = await studio({ ffmpeg: killed }).released({ kind: 'video', params: { seconds: 60 } });
    expect({ reason, message }).toEqual({ reason: 'render_failed', message: 'ffmpeg was killed by SIGKILL' });
  });

  test('an ffmpeg that stops early and calls it done gives no film', async () => {
    const lying = await wrapped(
      path,
      directory,
      '-f mp4 video.mp4',
      '"$REAL" -nostdin -v error -f lavfi -i color=s=160x90:d=0.5 -pix_fmt yuv420p -y video.mp4',
    );
    const { reason, message } = await studio({ ffmpeg: lying }).released({ kind: 'video', params: SMALL });
    expect({ reason, message }).toEqual({
      reason: 'render_failed',
      message: 'the render is 0.52 s long and not 1.00 s',
    });
  });

  test.each<[string, string, Record<string, unknown>, RegExp]>([
    ['an unknown parameter', 'video', { secnds: 3 }, /^params: .*"secnds"/],
    ['a parameter of another kind', 'image', { tone: 440 }, /^params: .*"tone"/],
    ['an odd size', 'video', { width: 161 }, /^params: width: must be an even number of pixels$/],
    ['a length out of range', 'audio', { seconds: 0 }, /^params: seconds: /],
    ['a colour that is a filter', 'video', { colour: 'red:s=9x9' }, /^params: colour: must be a colour like/],
    ['a kind that it does not make', 'text', {}, /^local makes video, image, audio, not text$/],
  ])('%s is refused by name', async (_, kind, params, message) => {
    const outcome = await released({ kind, params });
    expect(outcome.reason).toBe('invalid_input');
    expect(outcome.message).toMatch(message);
  });

  test('inputs are refused, since it would not use them', async () => {
    const inputs = [{ name: 's1', path: '/x', sha256: '0'.repeat(64) }];
    expect(await released({ kind: 'video', inputs })).toMatchObject({
      reason: 'invalid_input',
      message: 'local takes no inputs; "needs" puts steps in order',
    });
  });
});

const unusable = createLocalProvider({
  ...{ name: 'local', path: PATH, onNote: () => {} },
  ffmpeg: createFfmpeg({ PATH, EPISODE_FFMPEG: '/nonexistent' }),
});

test('a machine without ffmpeg is told what to install', async () => {
  const outcome = await submit(unusable, { kind: 'image', outputDir: await fresh() });
  expect(outcome).toMatchObject({ outcome: 'released', reason: 'ffmpeg_missing' });
  expect(outcome).toHaveProperty('message', expect.stringContaining('\napt-get install ffmpeg\n'));
});

test('it describes itself as free and done at once, and has no tasks', async () => {
  const sheet = Sheet.parse(await unusable.describe());
  expect(sheet).toMatchObject({ provider: 'local', kinds: ['video', 'image', 'audio'] });
  expect(sheet.capabilities).toMatchObject({ submit: 'sync', pure: true });
  const refusal = { code: 'PROVIDER_PROTOCOL', message: 'local works at once and has no task t1' };
  await expect(unusable.status(task('t1'))).rejects.toMatchObject(refusal);
  await expect(unusable.fetch(task('t1'), '/')).rejects.toMatchObject(refusal);
});
