import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, onTestFinished } from 'vitest';
import { createFfmpeg, type Ffmpeg } from '../../src/media/ffmpeg.ts';
import { hashFile } from '../../src/media/hash.ts';
import type { SubmitOutcome } from '../../src/model/protocol.ts';
import type { Provider, Submission } from '../../src/providers/provider.ts';

export const run = promisify(execFile);

export const PATH = process.env.PATH ?? '';

export interface Installed {
  label: string;
  path: string;
  ffmpeg: Ffmpeg;
}

/** Every ffmpeg of this machine: a behaviour must hold for the 2018 build of the package and for the system's own. */
export const installed: Installed[] = await (async () => {
  const candidates = [createFfmpeg({ PATH: '/nonexistent' }), createFfmpeg({ PATH })];
  const found = new Map<string, Installed>();
  for (const ffmpeg of candidates) {
    const { path, version } = await ffmpeg.locate();
    found.set(path, { label: `ffmpeg ${version}`, path, ffmpeg });
  }
  return [...found.values()];
})();

/** A directory that is removed after the file's tests. */
export async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'episode-media-'));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Calls ffmpeg as nobody's code under test. */
export async function ffmpeg(...args: string[]): Promise<void> {
  await run(installed[0]!.path, ['-v', 'error', '-nostdin', '-y', ...args]);
}

export interface ClipOptions {
  colour?: string;
  size?: string;
  fps?: number;
  seconds?: number;
  /** Channels and rate of its sine, e.g. `mono 22050`. */
  sound?: string;
  codecs?: string[];
}

/** A film of one colour. */
export async function makeClip(file: string, options: ClipOptions = {}): Promise<string> {
  const {
    colour = 'red',
    size = '160x90',
    fps = 25,
    seconds = 1,
    sound,
    codecs = ['-c:v', 'libx264', '-preset', 'ultrafast'],
  } = options;
  const [layout, rate] = sound?.split(' ') ?? [];
  const noise = sound
    ? ['-f', 'lavfi', '-i', `sine=f=440:r=${rate}:d=${seconds},aformat=channel_layouts=${layout}`]
    : [];
  const picture = ['-f', 'lavfi', '-i', `color=c=${colour}:s=${size}:r=${fps}:d=${seconds}`];
  await ffmpeg(...picture, ...noise, ...codecs, '-pix_fmt', 'yuv420p', '-movflags', '+faststart', file);
  return file;
}

/** The colour in the middle of the picture at `seconds` (or `at` a place of it), as red, green, blue. */
export async function colourAt(
  file: string,
  seconds: number,
  at = { x: 0.5, y: 0.5 },
): Promise<[number, number, number]> {
  const crop = `crop=2:2:iw*${at.x}-1:ih*${at.y}-1,format=rgb24`;
  const args = [
    '-v',
    'error',
    '-ss',
    String(seconds),
    '-i',
    file,
    '-frames:v',
    '1',
    '-vf',
    crop,
    '-f',
    'rawvideo',
    '-',
  ];
  const { stdout } = await run(installed[0]!.path, args, { encoding: 'buffer' });
  return [stdout[0]!, stdout[1]!, stdout[2]!];
}

export function nameOf([red, green, blue]: [number, number, number]): string {
  const high = [red > 90, green > 90, blue > 90].map(Number).join('');
  return { '000': 'black', '100': 'red', '010': 'green', '001': 'blue', '111': 'white', '110': 'yellow' }[high] ?? high;
}

/** The loudest sample (0 to 1) between two moments. */
export async function loudness(file: string, from: number, to: number): Promise<number> {
  const args = ['-v', 'error', '-i', file, '-af', `atrim=${from}:${to}`, '-f', 's16le', '-ac', '1', '-'];
  const { stdout } = await run(installed[0]!.path, args, { encoding: 'buffer', maxBuffer: 64 << 20 });
  let peak = 0;
  for (let at = 0; at + 1 < stdout.length; at += 2) peak = Math.max(peak, Math.abs(stdout.readInt16LE(at)));
  return peak / 32_768;
}

export const input = async (name: string, path: string): Promise<Submission['inputs'][number]> => ({
  name,
  path,
  sha256: await hashFile(path).then(
    ({ sha256 }) => sha256,
    () => '0'.repeat(64),
  ),
});

export interface Given {
  kind: string;
  params?: Record<string, unknown>;
  inputs?: Submission['inputs'];
  outputDir: string;
  signal?: AbortSignal;
  onProgress?: (fraction: number) => void;
}

export function submit(provider: Provider, given: Given): Promise<SubmitOutcome> {
  const {
    kind,
    params = {},
    inputs = [],
    outputDir,
    signal = new AbortController().signal,
    onProgress = () => {},
  } = given;
  const never = () => Promise.reject(new Error('a free render has nothing to record'));
  return provider.submit(
    { attempt_id: 'a1', client_ref: 'c1', kind, params, inputs, output_dir: outputDir, checkpoint: null },
    { started: never, checkpoint: never, sending: never, accepted: never, progress: onProgress },
    signal,
  );
}

/** The files of a finished submission by name; fails with the provider's message if it was not finished. */
export function filesOf(
  outcome: SubmitOutcome,
): { path: string; sha256?: string | undefined; role?: string | undefined }[] {
  if (outcome.outcome !== 'completed') throw new Error(JSON.stringify(outcome));
  return outcome.files;
}

/** Command lines of the processes that run in `directory` or below it. */
export async function processesIn(directory: string): Promise<string[]> {
  const lines: string[] = [];
  for (const pid of await readdir('/proc').catch(() => [])) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (cwd.startsWith(directory)) lines.push(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''));
  }
  return lines.map((line) => line.replaceAll('\0', ' '));
}

/**
 * An ffmpeg that does what the real one does, but for runs whose arguments contain `mark`: those go to `instead`, a
 * shell command that finds the real one in `$REAL`.
 */
export async function wrapped(real: string, directory: string, mark: string, instead: string): Promise<Ffmpeg> {
  const path = join(await mkdtemp(join(directory, 'wrapped-')), 'ffmpeg');
  const script = `#!/bin/sh\nREAL='${real}'\ncase "$*" in *'${mark}'*) ${instead};; *) exec "$REAL" "$@";; esac\n`;
  await writeFile(path, script, { mode: 0o755 });
  return createFfmpeg({ PATH, EPISODE_FFMPEG: path });
}

/** A file system of its own with this much room, or `skip` with the reason why there can be none. */
export async function tinyDisk(directory: string, size: string, skip: (reason: string) => never): Promise<string> {
  const place = await mkdtemp(join(directory, 'disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', place]);
  } catch (error) {
    skip(`no file system can be mounted here: ${String(error).split('\n')[1]}`);
  }
  onTestFinished(async () => {
    await run('umount', [place]);
  });
  return place;
}
