import { dirname } from 'node:path';
import { type Container, identify, notWhole } from './container.ts';
import type { Ffmpeg } from './ffmpeg.ts';
import { createFrameTally, type Track } from './frames.ts';

export type MediaKind = 'video' | 'image' | 'audio';

/** What a file was found to hold after every frame of it was decoded. */
export interface Media {
  kind: MediaKind;
  container: Container;
  /** 0 for an image. */
  duration_seconds: number;
  /** `width` and `height` as shown, after rotation; `fps` on average; `seconds` until the last frame's end. */
  video: { width: number; height: number; frames: number; seconds: number; fps: number } | null;
  audio: { seconds: number } | null;
}

/**
 * How far a whole file may fall short of what it declares: writers round, and count encoder delay in or out.
 * A frame is allowed on top, since the last one's duration is not always known.
 */
const SHORT_SECONDS = 0.15;

/**
 * Decodes all of `path` and says what is in it; resolves only for a whole `kind`.
 * Throws `MEDIA_NOT_WHOLE` (76) naming the file and what is wrong: empty, cut, damaged, no media, other media.
 * Also `FFMPEG_MISSING` (78), `TOOL_FAILED` (74) when ffmpeg was killed, the signal's reason, and errno errors.
 * A stream without any mark of its length (bare MP3 or AAC, MPEG-TS) that is cut between frames looks whole.
 */
export async function verifyMedia(ffmpeg: Ffmpeg, path: string, kind: MediaKind, signal?: AbortSignal): Promise<Media> {
  const media = await decodeMedia(ffmpeg, path, signal);
  if (media.kind !== kind) throw notWhole(path, `it is ${named(media)}, not ${article(kind)}`);
  return media;
}

/** As `verifyMedia`, for whatever kind the file turns out to be. */
export async function decodeMedia(ffmpeg: Ffmpeg, path: string, signal?: AbortSignal): Promise<Media> {
  const container = await identify(path);
  const tally = createFrameTally();
  let declared = 0;
  const { code, errors } = await ffmpeg.run(
    [
      ...(container.strict ? ['-xerror'] : []),
      ...mediaInput(path, container),
      // Pictures but no cover art, and all sound.
      ...['-map', '0:V?', '-map', '0:a?', '-f', 'framecrc', 'pipe:1'],
    ],
    {
      cwd: dirname(path),
      signal,
      onOutput: tally.add,
      onDiagnostic(line) {
        declared ||= declaredSeconds(line);
        // Worked out from the size, by ffmpeg: nothing that the file declares.
        if (line.includes('Estimating duration from bitrate')) declared = Number.NaN;
      },
    },
  );
  if (code !== 0) throw notWhole(path, errors.join('; ') || `ffmpeg cannot decode it (exit ${code})`);
  const tracks = tally.tracks().filter((track) => track.frames > 0);
  return describe(path, container, tracks, declared);
}

/** Arguments that make ffmpeg read exactly this file as exactly this format, and stop at damage instead of hiding it. */
export const mediaInput = (path: string, container: Container): string[] => [
  ...['-protocol_whitelist', 'file', '-err_detect', 'explode'],
  ...['-f', container.demuxer, '-i', `file:${path}`],
];

function describe(path: string, container: Container, tracks: Track[], declared: number): Media {
  const picture = tracks.find((track) => track.media === 'video');
  const sound = tracks.find((track) => track.media === 'audio');
  if (!picture && !sound) throw notWhole(path, `the ${container.name} file holds no picture and no sound`);
  const video = picture ? describePicture(picture) : null;
  const decoded = Math.max(...tracks.map((track) => track.endSeconds));
  if (!container.still && declared - decoded > SHORT_SECONDS + (video ? 1 / video.fps : 0)) {
    throw notWhole(path, `it declares ${declared.toFixed(2)} s, but only ${decoded.toFixed(2)} s are there`);
  }
  return {
    kind: container.still ? 'image' : video ? 'video' : 'audio',
    container,
    duration_seconds: container.still ? 0 : decoded,
    video,
    audio: sound ? { seconds: sound.endSeconds } : null,
  };
}

const describePicture = ({ width, height, frames, startSeconds, endSeconds }: Track) => ({
  ...{ width, height, frames, seconds: endSeconds },
  fps: frames / (endSeconds - startSeconds),
});

/** Of `[info]   Duration: 00:01:02.50, start: …`, else 0; tags of the file are indented deeper. */
function declaredSeconds(line: string): number {
  const [, hours, minutes, seconds] = /^\[info\] {3}Duration: (\d+):(\d\d):(\d\d\.\d+),/.exec(line) ?? [];
  return hours ? Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) : 0;
}

const article = (kind: MediaKind): string => (kind === 'video' ? 'a video' : kind === 'image' ? 'an image' : 'audio');

const named = (media: Media): string => `${article(media.kind)} (${media.container.name})`;
