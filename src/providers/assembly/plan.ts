import { Refused } from '../pure.ts';
import type { Clip } from './clips.ts';
import { type AssemblyParams, COVER, NO_PICTURE } from './params.ts';

/** What the film will be, frame by frame, before anything is rendered. */
export interface FilmPlan {
  width: number;
  height: number;
  fps: number;
  /** One after the other: a film for as long as its picture lasts, an image for `image_seconds`. */
  shots: Shot[];
  /** Sound without a picture: one after the other, from the start of the film, over its own sound. */
  narration: Clip[];
  frames: number;
  seconds: number;
  cover: { clip: Clip } | { atSeconds: number };
}

export interface Shot {
  clip: Clip;
  frames: number;
}

const DEFAULT_FPS = 30;
/** Rates that a film takes over from its first clip: a slide show or a screen recording says nothing about the others. */
const OWN_FPS = { min: 10, max: 60 };

/**
 * Lays out `clips` in their order. Narration that is longer than the pictures is not cut off: the last picture stays
 * until it ends. Throws `Refused` when no film can be made of them.
 */
export function planFilm(clips: readonly Clip[], params: AssemblyParams): FilmPlan {
  const coverClip = clips.find((clip) => clip.name === COVER);
  const pictures = clips.filter((clip) => clip !== coverClip && clip.media.kind !== 'audio');
  const narration = clips.filter((clip) => clip !== coverClip && clip.media.kind === 'audio');
  const first = pictures.find((clip) => clip.media.kind === 'video')?.media.video;
  const ownFps = first && first.fps >= OWN_FPS.min && first.fps <= OWN_FPS.max ? first.fps : DEFAULT_FPS;
  const fps = params.fps ?? ownFps;

  const shots = pictures.map((clip) => {
    const seconds = clip.media.kind === 'video' ? clip.media.video!.seconds : params.image_seconds;
    return { clip, frames: Math.max(1, Math.round(seconds * fps)) };
  });
  const last = shots.at(-1);
  if (!last) throw new Refused(NO_PICTURE);
  const spoken = narration.reduce((sum, clip) => sum + clip.media.duration_seconds, 0);
  last.frames += Math.max(0, Math.ceil(spoken * fps) - total(shots));

  const frames = total(shots);
  const seconds = frames / fps;
  return {
    width: params.width ?? even(first?.width ?? 1920),
    height: params.height ?? even(first?.height ?? 1080),
    ...{ fps, shots, narration, frames, seconds },
    cover: planCover(coverClip, params, seconds),
  };
}

function planCover(clip: Clip | undefined, { cover }: AssemblyParams, seconds: number): FilmPlan['cover'] {
  if (!clip) {
    const atSeconds = cover?.at_seconds ?? Math.min(1, seconds / 2);
    if (atSeconds < seconds) return { atSeconds };
    throw new Refused(`params: cover.at_seconds: ${atSeconds} is past the end of the film (${seconds.toFixed(2)} s)`);
  }
  if (clip.media.kind !== 'image') {
    throw new Refused(`input ${COVER}: ${clip.path} is ${clip.media.kind}, not an image`);
  }
  return { clip };
}

const total = (shots: readonly Shot[]): number => shots.reduce((sum, shot) => sum + shot.frames, 0);

const even = (pixels: number): number => Math.max(16, pixels - (pixels % 2));
