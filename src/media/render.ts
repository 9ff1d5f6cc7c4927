import { EpisodeError } from '../errors.ts';
import type { Ffmpeg } from './ffmpeg.ts';

interface RenderOptions {
  /** Where outputs go, by relative names: ffmpeg reads patterns into some paths, e.g. `%d`. */
  cwd: string;
  signal: AbortSignal;
  /** `tell` gets 0 to 1 of an output that will be `seconds` long. */
  progress?: { seconds: number; tell(fraction: number): void };
}

/**
 * Makes a file with ffmpeg. That it is whole is for the caller to verify afterwards: ffmpeg's exit does not say so.
 * Throws `TOOL_FAILED` (74) with what ffmpeg said, an `ENOSPC` error when the disk is full, else as `Ffmpeg.run`.
 */
export async function render(ffmpeg: Ffmpeg, args: readonly string[], options: RenderOptions): Promise<void> {
  const { cwd, signal, progress } = options;
  const { code, errors } = await ffmpeg.run(['-progress', 'pipe:1', ...args], {
    cwd,
    signal,
    onOutput(line) {
      const [, hours, minutes, rest] = /^out_time=(\d+):(\d\d):(\d\d\.\d+)/.exec(line) ?? [];
      if (!hours || !progress) return;
      const seconds = Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);
      progress.tell(Math.min(1, seconds / progress.seconds));
    },
  });
  const said = errors.join('; ');
  if (/No space left on device|Disk quota exceeded/.test(said)) {
    throw Object.assign(new Error(`no space left on device for ${cwd}`), { code: 'ENOSPC' });
  }
  if (code === 0) return;
  throw new EpisodeError('TOOL_FAILED', `ffmpeg failed: ${said || `exit ${code}`}`, { subject: 'ffmpeg' });
}

/**
 * The same input gives the same bytes on one ffmpeg: nothing of the day, the version or the number of processors gets
 * into the file. x264's output depends on its number of threads, so that is fixed and not the machine's.
 */
const REPEATABLE = [
  ...['-map_metadata', '-1', '-map_chapters', '-1', '-fflags', '+bitexact'],
  ...['-flags:v', '+bitexact', '-flags:a', '+bitexact'],
];

const H264 = [
  ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '18', '-pix_fmt', 'yuv420p', '-threads:v', '4'],
  ...['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv'],
];
const AAC = ['-c:a', 'aac', '-b:a', '160k', '-ar', '48000', '-ac', '2'];
/** It starts to play before it is all there. */
const MP4 = ['-movflags', '+faststart', '-f', 'mp4'];

/** What every player and platform takes. */
export const filmOutput = (fps: number, file: string): string[] => [
  ...[...H264, '-r', String(fps), ...AAC, ...REPEATABLE, ...MP4, file],
];

export const soundOutput = (file: string): string[] => [...AAC, ...REPEATABLE, ...MP4, file];

/** One frame as PNG. */
export const stillOutput = (file: string): string[] => [
  ...['-frames:v', '1', '-c:v', 'png', '-pix_fmt', 'rgb24', ...REPEATABLE, '-f', 'image2pipe', file],
];

/** The second of two stereo sounds over the first, in a filter graph. The shares add up to 1, so that it never clips. */
export const SPOKEN_OVER = 'amerge=inputs=2,pan=stereo|c0=0.3*c0+0.7*c2|c1=0.3*c1+0.7*c3';

/** Into BT.709 whatever a picture was in; the two flags make scaling the same on every processor. */
export const TO_BT709 = 'out_color_matrix=bt709:out_range=tv:flags=bicubic+accurate_rnd+bitexact';
