import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Ffmpeg } from '../../src/media/ffmpeg.ts';
import { verifyMedia } from '../../src/media/verify.ts';
import type { SubmitOutcome } from '../../src/model/protocol.ts';
import { Sheet } from '../../src/model/sheet.ts';
import { createAssemblyProvider } from '../../src/providers/assembly/assembly.ts';
import type { Submission } from '../../src/providers/provider.ts';
import {
  colourAt,
  filesOf,
  type Given,
  input,
  installed,
  loudness,
  makeClip,
  nameOf,
  processesIn,
  scratch,
  submit,
  tinyDisk,
  ffmpeg as tool,
  wrapped,
} from '../media/rig.ts';

/** Apostrophes, spaces and signs that mean something to shells, URLs, printf and ffmpeg, also in the directory. */
const ODD = "it's 100% #1: [v];,\\ é😀\n%03d -y";

const directory = await scratch();
let clips = { red: '', green: '', blue: '', moving: '', card: '', words: '' };

beforeAll(async () => {
  const odd = join(directory, ODD);
  await mkdir(odd);
  clips = {
    red: await makeClip(join(odd, `${ODD}.mp4`), { colour: 'red' }),
    green: await makeClip(join(odd, 'tall.mkv'), { colour: 'lime', size: '90x160', fps: 30, sound: 'mono 22050' }),
    blue: await makeClip(join(odd, 'old.mov'), {
      colour: 'blue',
      size: '64x64',
      fps: 12,
      sound: 'stereo 44100',
      codecs: ['-c:v', 'mpeg4'],
    }),
    moving: join(odd, 'moving.mp4'),
    card: join(odd, 'card %d.png'),
    words: join(odd, 'words.mp3'),
  };
  await tool(
    '-f',
    'lavfi',
    '-i',
    'color=c=white:s=102x76',
    '-frames:v',
    '1',
    '-f',
    'image2pipe',
    '-c:v',
    'png',
    clips.card,
  );
  await tool('-f', 'lavfi', '-i', 'sine=d=1.5', clips.words);
  await tool('-f', 'lavfi', '-i', 'testsrc2=s=160x90:d=1', '-pix_fmt', 'yuv420p', clips.moving);
});

const fresh = (): Promise<string> => mkdtemp(join(directory, "out 100% '%d-"));

/** The provider on one ffmpeg, and what its submissions come to. */
function studio(ffmpeg: Ffmpeg) {
  const assembly = createAssemblyProvider({ name: 'assembly', ffmpeg });

  const assemble = async (inputs: Submission['inputs'], params: Record<string, unknown> = {}) => {
    const outputDir = await fresh();
    const [film, cover] = filesOf(await submit(assembly, { kind: 'video', inputs, params, outputDir }));
    expect([film?.role, cover?.role]).toEqual(['media', 'cover']);
    expect((await readdir(outputDir)).sort()).toEqual(['cover.png', 'film.mp4']);
    const { video, audio } = await verifyMedia(ffmpeg, film!.path, 'video');
    return { film: film!, cover: cover!, video: video!, audio: audio! };
  };

  const released = async (given: Omit<Given, 'outputDir' | 'kind'>, outputDir?: string) => {
    const place = outputDir ?? (await fresh());
    const outcome = await submit(assembly, { kind: 'video', ...given, outputDir: place });
    expect(await readdir(place), 'nothing is left behind').toEqual([]);
    expect(outcome).toMatchObject({ outcome: 'released', billable: 'no' });
    return outcome as Extract<SubmitOutcome, { outcome: 'released' }>;
  };

  return { assembly, assemble, released };
}

const three = async () => [await input('s1', clips.red), await input('s2', clips.green), await input('s3', clips.blue)];

const stateOf = (files: string[]) =>
  Promise.all(files.map(async (file) => [await readFile(file), (await stat(file)).mtimeMs]));

describe.each(installed)('with $label', ({ ffmpeg }) => {
  const { assemble, released } = studio(ffmpeg);

  test('joins clips of any size, rate and sound, whatever their names, and leaves them as they were', async () => {
    const before = await stateOf(Object.values(clips));
    const { film, cover, video, audio } = await assemble(await three());
    expect(await stateOf(Object.values(clips))).toEqual(before);

    expect(video).toMatchObject({ width: 160, height: 90, frames: 75, fps: 25 });
    expect(audio.seconds).toBeCloseTo(3, 1);
    const colours: string[] = [];
    for (const at of [0.1, 0.9, 1.1, 1.9, 2.1, 2.9]) colours.push(nameOf(await colourAt(film.path, at)));
    expect(colours).toEqual(['red', 'red', 'green', 'green', 'blue', 'blue']);
    expect(nameOf(await colourAt(film.path, 1.5, { x: 0.1, y: 0.5 })), 'the tall clip is letterboxed').toBe('black');
    expect(await loudness(film.path, 0, 0.95), 'the first clip has no sound').toBeLessThan(0.001);
    expect(await loudness(film.path, 1.1, 1.9)).toBeGreaterThan(0.05);
    expect(await loudness(film.path, 2.1, 2.9)).toBeGreaterThan(0.05);
    expect(nameOf(await colourAt(cover.path, 0)), 'the cover is from second 1').toBe('green');

    const again = await assemble(await three());
    expect([again.film.sha256, again.cover.sha256], 'the same bytes').toEqual([film.sha256, cover.sha256]);
    expect(await readFile(again.film.path)).toEqual(await readFile(film.path));
  });

  test('shows an image also in a film of few pictures a second', async () => {
    const { video } = await assemble([await input('card', clips.card), await input('red', clips.red)], {
      fps: 5,
      image_seconds: 1,
    });
    expect([video.frames, Math.round(video.fps)]).toEqual([10, 5]);
    const { video: alone } = await assemble([await input('card', clips.card)], { fps: 1, image_seconds: 2 });
    expect(alone.frames).toBe(2);
  });

  test('shows an image for image_seconds', async () => {
    const inputs = [await input('s1', clips.red), await input('card', clips.card)];
    const { film, video } = await assemble(inputs, { image_seconds: 2 });
    expect(video.frames).toBe(75);
    expect(nameOf(await colourAt(film.path, 2.9))).toBe('white');
  });

  test('lays sound alone over the film, and holds the last picture until it ends', async () => {
    const { film, video, audio } = await assemble([await input('s1', clips.red), await input('words', clips.words)]);
    expect(video.frames / 25).toBeCloseTo(1.5, 1);
    expect(audio.seconds).toBeCloseTo(1.5, 1);
    expect(nameOf(await colourAt(film.path, 1.4))).toBe('red');
    expect(await loudness(film.path, 0.1, 0.9)).toBeGreaterThan(0.05);
    expect(await loudness(film.path, 1.1, 1.4)).toBeGreaterThan(0.05);
  });

  test('a middle clip with a hole gives no film, although ffmpeg plays over it', async () => {
    const holed = join(await mkdtemp(join(directory, 'bad-')), 'middle.mp4');
    const bytes = await readFile(clips.moving);
    await writeFile(holed, bytes.fill(0, bytes.length >> 1, (bytes.length >> 1) + 2000));
    const outcome = await released({ inputs: [await input('s1', clips.red), await input('s2', holed)] });
    expect(outcome.reason).toBe('invalid_input');
    expect(outcome.message).toMatch(/^input s2: .* is not whole media: /s);
  });

  test('a full disk gives no film', async ({ skip }) => {
    const outputDir = await tinyDisk(directory, '8k', skip);
    const outcome = await released({ inputs: await three() }, outputDir);
    expect(outcome.reason).toBe('disk_full');
    expect(outcome.message).toMatch(/^no space left on device/i);
  });

  test('an abort ends it at once, with every process', async () => {
    const stop = new AbortController();
    const outputDir = await fresh();
    const onProgress = (fraction: number) => {
      if (fraction > 0.1) stop.abort();
    };
    const given = {
      inputs: [await input('card', clips.card)],
      params: { image_seconds: 3600 },
      onProgress,
      signal: stop.signal,
    };
    expect(await released(given, outputDir)).toMatchObject({
      reason: 'aborted',
      message: 'the render was stopped',
    });
    expect(await processesIn(outputDir)).toEqual([]);
  });
});

describe('with any ffmpeg', () => {
  const { ffmpeg, path } = installed[0]!;
  const { assembly, assemble, released } = studio(ffmpeg);

  test('takes size, rate and the moment of the cover from its params', async () => {
    const params = { width: 128, height: 128, fps: 24, cover: { at_seconds: 2.99 } };
    const { video, cover } = await assemble(await three(), params);
    expect(video).toMatchObject({ width: 128, height: 128, frames: 72 });
    expect(video.fps).toBeCloseTo(24, 5);
    expect(nameOf(await colourAt(cover.path, 0))).toBe('blue');
  });

  test('an input named cover is the cover, not a part of the film', async () => {
    const { video, cover } = await assemble([await input('cover', clips.card), await input('s1', clips.red)]);
    expect(video.frames).toBe(25);
    expect((await verifyMedia(ffmpeg, cover.path, 'image')).video).toMatchObject({ width: 102, height: 76 });
  });

  test('keeps the sound of clips under the narration', async () => {
    const inputs = [await input('s1', clips.green), await input('s2', clips.blue), await input('words', clips.words)];
    const { film } = await assemble(inputs);
    expect(await loudness(film.path, 1.6, 1.9), 'after the narration').toBeGreaterThan(0.02);
  });

  test.each<[string, (file: string) => Promise<unknown>, RegExp]>([
    ['missing', (file) => rm(file), /cannot be read \(ENOENT\)/],
    ['empty', (file) => writeFile(file, ''), /it is empty/],
    [
      'cut',
      async (file) => writeFile(file, (await readFile(file)).subarray(0, 1800)),
      /the end of the MP4 file is missing/,
    ],
    ['an error page', (file) => writeFile(file, '<html>502 Bad Gateway</html>'), /it is text/],
    ['a PNG', (file) => copyFile(clips.card, file), /holds image \(PNG\) under the name of a film/],
    ['sound only', (file) => copyFile(clips.words, file), /holds audio \(MP3\) under the name of a film/],
    ['a playlist', (file) => writeFile(file, `ffconcat version 1.0\nfile '${clips.red}'\n`), /it is text/],
  ])('a middle clip that is %s gives no film', async (_, spoil, what) => {
    const middle = join(await mkdtemp(join(directory, 'bad-')), 'middle.mp4');
    await copyFile(clips.red, middle);
    await spoil(middle);
    const inputs = [await input('s1', clips.green), await input('s2', middle), await input('s3', clips.blue)];
    const outcome = await released({ inputs });
    expect(outcome.reason).toBe('invalid_input');
    expect(outcome.message).toMatch(/^input s2: /);
    expect(outcome.message).toMatch(what);
  });

  test('a clip with other bytes than were claimed gives no film', async () => {
    const inputs = await three();
    const outcome = await released({ inputs: [{ ...inputs[0]!, sha256: 'a'.repeat(64) }, ...inputs.slice(1)] });
    expect(outcome.reason).toBe('invalid_input');
    expect(outcome.message).toMatch(/^input s1: .* has changed: its SHA-256 is [0-9a-f]{64}, not a{64}$/s);
  });

  test('a clip that changes while the film is rendered gives no film', async () => {
    const moving = join(await mkdtemp(join(directory, 'moving-')), 'clip.mp4');
    await copyFile(clips.red, moving);
    const using = await wrapped(path, directory, '-f mp4 film.mp4', `printf x >>'${moving}'; exec "$REAL" "$@"`);
    const outcome = await studio(using).released({ inputs: [await input('s1', moving)] });
    expect(outcome).toMatchObject({ reason: 'invalid_input', message: expect.stringContaining('has changed') });
  });

  test('an ffmpeg that is killed gives no film', async () => {
    const using = await wrapped(path, directory, '-f mp4 film.mp4', 'timeout -s KILL 0.05 "$REAL" "$@"; kill -9 $$');
    const outcome = await studio(using).released({ inputs: await three() });
    expect(outcome).toMatchObject({ reason: 'render_failed', message: 'ffmpeg was killed by SIGKILL' });
  });

  test('an ffmpeg that ends the film early and calls it done gives no film', async () => {
    const short =
      '"$REAL" -nostdin -v error -f lavfi -i testsrc2=s=160x90:d=2 -f lavfi -i sine=d=2 -pix_fmt yuv420p film.mp4';
    const outcome = await studio(await wrapped(path, directory, '-f mp4 film.mp4', short)).released({
      inputs: await three(),
    });
    expect(outcome.reason).toBe('render_failed');
    expect(outcome.message).toMatch(
      /^the film came out wrong: 160x90, 50 frames, 2\.0\d s of sound; its clips make 160x90, 75 frames, 3\.00 s of sound$/,
    );
  });

  test('tells how far it is, never backwards', async () => {
    const told: number[] = [];
    const onProgress = (fraction: number) => told.push(fraction);
    filesOf(await submit(assembly, { kind: 'video', inputs: await three(), outputDir: await fresh(), onProgress }));
    expect(told.length).toBeGreaterThan(3);
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect(told.every((fraction) => fraction >= 0 && fraction <= 1)).toBe(true);
  });

  test('what cannot become a film is refused with the reason', async () => {
    const [s1, words, card] = [
      await input('s1', clips.red),
      await input('words', clips.words),
      await input('card', clips.card),
    ];
    const reasons = [
      await released({ inputs: [] }),
      await released({ inputs: [words] }),
      await released({ inputs: [s1], params: { codec: 'hevc' } }),
      await released({ inputs: [s1], params: { width: 161 } }),
      await released({ inputs: [s1], params: { cover: { at_seconds: 1 } } }),
      await released({ inputs: [s1, { ...card, name: 'cover' }], params: { cover: { at_seconds: 0 } } }),
      await released({ inputs: [s1, { ...words, name: 'cover' }] }),
    ];
    expect(new Set(reasons.map(({ reason }) => reason))).toEqual(new Set(['invalid_input']));
    expect(reasons.map(({ message }) => message)).toEqual([
      'there is no picture among the inputs: a film needs a video or an image',
      'there is no picture among the inputs: a film needs a video or an image',
      'params: Unrecognized key: "codec" (is "cover" meant?)',
      'params: width: must be an even number of pixels',
      'params: cover.at_seconds: 1 is past the end of the film (1.00 s)',
      'params: cover: the input named cover is the cover already',
      `input cover: ${clips.words} is audio, not an image`,
    ]);
  });
});

test('it describes itself as free and done at once', async () => {
  const sheet = Sheet.parse(
    await createAssemblyProvider({ name: 'assembly', ffmpeg: installed[0]!.ffmpeg }).describe(),
  );
  expect(sheet).toMatchObject({ provider: 'assembly', kinds: ['video'], capabilities: { submit: 'sync', pure: true } });
});
