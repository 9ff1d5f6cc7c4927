import { filmOutput, SPOKEN_OVER, soundOutput, stillOutput, TO_BT709 } from '../../media/render.ts';
import type { MediaKind } from '../../media/verify.ts';
import type { FilmParams, PictureParams, SoundParams } from './params.ts';
import type { Voice } from './voice.ts';

/** What ffmpeg is told, and what must come out of it. */
export interface Recipe {
  kind: MediaKind;
  file: string;
  mime: string;
  /** 0 for an image. */
  seconds: number;
  args: string[];
}

const DEFAULT_SECONDS = 4;
/** Silence after the last word. */
const BREATH_SECONDS = 0.5;

/** A picture under `caption` (a filter), a sine, and `voice` over it. */
export function film(params: FilmParams, caption: string, voice: Voice | null): Recipe {
  const frames = Math.round(lengthOf(params, voice) * params.fps);
  const seconds = frames / params.fps;
  const picture = `[0:v]${pictureFilters(caption)},trim=end_frame=${frames}[v]`;
  return {
    kind: 'video',
    file: 'video.mp4',
    mime: 'video/mp4',
    seconds,
    args: [
      ...generated(`${patternOf(params)}:r=${params.fps}`),
      ...soundInputs(params, voice),
      ...['-filter_complex', `${picture};${soundGraph(1, seconds, voice)}`, '-map', '[v]', '-map', '[a]'],
      ...filmOutput(params.fps, 'video.mp4'),
    ],
  };
}

export const still = (params: PictureParams, caption: string): Recipe => ({
  kind: 'image',
  file: 'image.png',
  mime: 'image/png',
  seconds: 0,
  args: [...generated(patternOf(params)), '-vf', `format=rgb24,${caption}setsar=1`, ...stillOutput('image.png')],
});

export function sound(params: SoundParams, voice: Voice | null): Recipe {
  const seconds = lengthOf(params, voice);
  const graph = ['-filter_complex', soundGraph(0, seconds, voice), '-map', '[a]'];
  const args = [...soundInputs(params, voice), ...graph, ...soundOutput('audio.m4a')];
  return { kind: 'audio', file: 'audio.m4a', mime: 'audio/mp4', seconds, args };
}

const lengthOf = (params: SoundParams, voice: Voice | null): number =>
  params.seconds ?? Math.max(DEFAULT_SECONDS, voice ? voice.seconds + BREATH_SECONDS : 0);

const generated = (source: string): string[] => ['-f', 'lavfi', '-i', source];

function patternOf({ pattern, colour, width, height }: PictureParams): string {
  const size = `s=${width}x${height}`;
  if (pattern === 'plain') return `color=c=0x${colour.slice(1)}:${size}`;
  return `${pattern === 'bars' ? 'smptehdbars' : 'testsrc2'}=${size}`;
}

/** Drawn in RGB, so that a colour is the one that was asked for. */
const pictureFilters = (caption: string): string => `format=rgb24,${caption}scale=${TO_BT709},format=yuv420p,setsar=1`;

const soundInputs = ({ tone }: SoundParams, voice: Voice | null): string[] => [
  ...generated(`sine=f=${tone}:r=48000`),
  ...(voice ? ['-i', voice.file] : []),
];

/** The sine is input `first` and the voice the one after it. */
function soundGraph(first: number, seconds: number, voice: Voice | null): string {
  const stereo = 'aresample=48000,aformat=sample_fmts=fltp:channel_layouts=stereo';
  const end = `atrim=end_sample=${Math.round(seconds * 48_000)}`;
  if (!voice) return `[${first}:a]${stereo},${end}[a]`;
  return `[${first}:a]${stereo}[bed];[${first + 1}:a]${stereo},apad[voice];[bed][voice]${SPOKEN_OVER},${end}[a]`;
}
