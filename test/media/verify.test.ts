import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { EpisodeError } from '../../src/errors.ts';
import { type MediaKind, verifyMedia } from '../../src/media/verify.ts';
import { installed, makeClip, scratch, ffmpeg as tool } from './rig.ts';

const directory = await scratch();
const at = (name: string): string => join(directory, name);

beforeAll(async () => {
  await makeClip(at('film.mp4'), { fps: 30000 / 1001, seconds: 1, sound: 'mono 22050' });
  await makeClip(at('silent.mp4'), { seconds: 1 });
  const sine = ['-f', 'lavfi', '-i', 'sine=d=2'];
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=s=160x90', '-frames:v', '1'];
  await tool(...picture, at('picture.png'));
  await tool(...sine, at('sound.mp3'));
  await tool('-i', at('picture.png'), at('picture.jpg'));
  await tool(...sine, at('sound.m4a'));
  await tool(...sine, '-c:a', 'libvorbis', at('sound.ogg'));
  await tool(...sine, at('sound.wav'));
  await tool(...sine, at('sound.flac'));
  await tool('-i', at('film.mp4'), '-c:v', 'libvpx', '-deadline', 'realtime', '-c:a', 'libvorbis', at('film.webm'));
  await tool('-i', at('film.mp4'), '-c', 'copy', at('film.ts'));
  await tool('-i', at('film.mp4'), '-c', 'copy', at('moov-last.mp4'));
});

/** A file made of the bytes of another. */
async function changed(source: string, name: string, change: (bytes: Buffer) => Buffer): Promise<string> {
  await writeFile(at(name), change(await readFile(at(source))));
  return at(name);
}

const cutTo = (share: number) => (bytes: Buffer) => bytes.subarray(0, Math.floor(bytes.length * share));

describe.each(installed)('with $label', ({ ffmpeg }) => {
  const refusal = async (path: string, kind: MediaKind): Promise<string> => {
    const error = await verifyMedia(ffmpeg, path, kind).then(
      (media) => expect.fail(`taken as ${JSON.stringify(media)}`),
      (error: EpisodeError) => error,
    );
    expect(error.code, error.stack).toBe('MEDIA_NOT_WHOLE');
    expect(error.exit).toBe(76);
    expect(error.message).toBe(`${path} is not whole media: ${error.details.what}`);
    return String(error.details.what);
  };

  test('a whole film is measured by its decoded frames', async () => {
    const { video, audio, kind, duration_seconds } = await verifyMedia(ffmpeg, at('film.mp4'), 'video');
    expect(kind).toBe('video');
    expect(video).toMatchObject({ width: 160, height: 90, frames: 30 });
    expect(video?.fps).toBeCloseTo(29.97, 2);
    expect(video?.seconds).toBeCloseTo(1.001, 3);
    expect(audio?.seconds).toBeCloseTo(1, 1);
    expect(duration_seconds).toBeCloseTo(1.02, 1);
  });

  test('a film without sound has none', async () => {
    expect((await verifyMedia(ffmpeg, at('silent.mp4'), 'video')).audio).toBeNull();
  });

  test.each<[string, MediaKind, string]>([
    ['film.webm', 'video', 'Matroska'],
    ['film.ts', 'video', 'MPEG-TS'],
    ['moov-last.mp4', 'video', 'MP4'],
    ['picture.png', 'image', 'PNG'],
    ['picture.jpg', 'image', 'JPEG'],
    ['sound.mp3', 'audio', 'MP3'],
    ['sound.m4a', 'audio', 'MP4'],
    ['sound.ogg', 'audio', 'Ogg'],
    ['sound.wav', 'audio', 'WAV'],
    ['sound.flac', 'audio', 'FLAC'],
  ])('%s is whole', async (name, kind, container) => {
    const media = await verifyMedia(ffmpeg, at(name), kind);
    expect(media.container.name).toBe(container);
    if (kind === 'audio') expect(media.duration_seconds).toBeCloseTo(2, 1);
    if (kind === 'image') expect(media.video).toMatchObject({ width: 160, height: 90 });
  });

  test('a WAV that was written into a pipe, without knowing its length, is whole', async () => {
    const path = await changed('sound.wav', 'piped.wav', (bytes) => {
      bytes.writeUInt32LE(0xffffffff, 4);
      bytes.writeUInt32LE(0xffffffff, bytes.indexOf('data') + 4);
      return bytes;
    });
    expect((await verifyMedia(ffmpeg, path, 'audio')).duration_seconds).toBeCloseTo(2, 1);
  });

  test('what a name may contain is no matter', async () => {
    const path = at("it's 100% #1: é😀 %d\n-.mp4");
    await copyFile(at('film.mp4'), path);
    expect((await verifyMedia(ffmpeg, path, 'video')).video?.frames).toBe(30);
    const picture = at('%03d*.png');
    await copyFile(at('picture.png'), picture);
    await verifyMedia(ffmpeg, picture, 'image');
  });

  test.each<[string, MediaKind, () => Promise<string>, string | RegExp]>([
    ['an empty file', 'video', () => changed('film.mp4', 'empty.mp4', () => Buffer.alloc(0)), 'it is empty'],
    [
      'a file of zero bytes only, as a crash leaves it',
      'video',
      () => changed('film.mp4', 'zeros.mp4', (bytes) => bytes.fill(0)),
      'it begins with nothing but zero bytes',
    ],
    [
      'an error page',
      'video',
      () => changed('film.mp4', 'page.mp4', () => Buffer.from('<!DOCTYPE html>\n<html>502</html>\n')),
      'it is text, perhaps an error page or a playlist',
    ],
    [
      'a playlist that would open a whole film',
      'video',
      () => changed('film.mp4', 'list.mp4', () => Buffer.from('ffconcat version 1.0\nfile film.mp4\n')),
      'it is text, perhaps an error page or a playlist',
    ],
    [
      'something else',
      'video',
      () => changed('film.mp4', 'noise.mp4', () => Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2])),
      'it is of no known media format',
    ],
    [
      'a picture named .mp4',
      'video',
      () => changed('picture.png', 'p.mp4', (all) => all),
      'it is an image (PNG), not a video',
    ],
    [
      'a film named .png',
      'image',
      () => changed('film.mp4', 'f.png', (all) => all),
      'it is a video (MP4), not an image',
    ],
    ['sound alone', 'video', async () => at('sound.m4a'), 'it is audio (MP4), not a video'],
    [
      'a film cut in its frames',
      'video',
      () => changed('film.mp4', 'cut.mp4', cutTo(0.7)),
      'the end of the MP4 file is missing',
    ],
    [
      'a film cut before its index',
      'video',
      () => changed('moov-last.mp4', 'no-moov.mp4', cutTo(0.7)),
      'the end of the MP4 file is missing',
    ],
    [
      'a film without its index',
      'video',
      () => changed('moov-last.mp4', 'without.mp4', (bytes) => bytes.subarray(0, bytes.lastIndexOf('moov') - 4)),
      /moov atom not found/,
    ],
    [
      'a film with a hole, every length right',
      'video',
      () => changed('film.mp4', 'hole.mp4', (bytes) => bytes.fill(0, bytes.length >> 1, bytes.length - 2000)),
      /./,
    ],
    [
      'a Matroska cut between frames',
      'video',
      () => changed('film.webm', 'cut.webm', cutTo(0.7)),
      /^it declares 1\.\d\d s, but only/,
    ],
    ['a cut PNG', 'image', () => changed('picture.png', 'cut.png', cutTo(0.95)), 'the end of the PNG file is missing'],
    ['a PNG with a hole', 'image', () => changed('picture.png', 'hole.png', (bytes) => bytes.fill(7, 500, 700)), /./],
    ['a cut JPEG', 'image', () => changed('picture.jpg', 'cut.jpg', cutTo(0.9)), 'the end of the JPEG file is missing'],
    [
      'a JPEG that lacks its middle',
      'image',
      () => changed('picture.jpg', 'gap.jpg', (all) => Buffer.concat([cutTo(0.6)(all), all.subarray(-2)])),
      /./,
    ],
    ['a cut MP3', 'audio', () => changed('sound.mp3', 'cut.mp3', cutTo(0.7)), /^it declares 2\.\d\d s, but only/],
    ['a cut WAV', 'audio', () => changed('sound.wav', 'cut.wav', cutTo(0.7)), 'the end of the WAV file is missing'],
    ['a cut Ogg', 'audio', () => changed('sound.ogg', 'cut.ogg', cutTo(0.7)), 'the end of the Ogg file is missing'],
    ['a cut FLAC', 'audio', () => changed('sound.flac', 'cut.flac', cutTo(0.7)), /./],
  ])('%s is refused', async (_, kind, make, what) => {
    const said = await refusal(await make(), kind);
    if (typeof what === 'string') expect(said).toBe(what);
    else expect(said).toMatch(what);
  });

  test('an aborted check ends with the reason', async () => {
    const stopped = new AbortController();
    const checking = verifyMedia(ffmpeg, at('film.mp4'), 'video', stopped.signal);
    stopped.abort(new Error('enough'));
    await expect(checking).rejects.toThrow('enough');
  });
});
