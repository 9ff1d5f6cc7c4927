import { SPOKEN_OVER, TO_BT709 } from '../../media/render.ts';
import type { FilmPlan, Shot } from './plan.ts';

const SOUND_HZ = 48_000;
/** Gaps in a clip's own times become silence. */
const STEREO = `aresample=${SOUND_HZ}:async=1:first_pts=0,aformat=sample_fmts=fltp:channel_layouts=stereo`;

/**
 * The ffmpeg filter graph that makes `[v]` and `[a]` of the inputs 0, 1, …: the plan's shots, then its narration.
 * Every shot is brought to the film's size, frame rate, pixel and sound format, and to its exact number of frames, before
 * they are joined: the concat filter takes equal streams only, and the concat demuxer hides a clip that ends early.
 */
export function filmGraph(plan: FilmPlan): string {
  const { shots, narration } = plan;
  const parts = shots.flatMap((shot, index) => [picture(plan, shot, index), sound(plan, shot, index)]);
  const joined = shots.map((_, index) => `[v${index}][a${index}]`).join('');
  const concat = `${joined}concat=n=${shots.length}:v=1:a=1`;
  if (narration.length === 0) return [...parts, `${concat}[v][a]`].join(';');
  const spoken = narration.map((_, index) => `[${shots.length + index}:a:0]${STEREO}[n${index}]`);
  const labels = narration.map((_, index) => `[n${index}]`).join('');
  const silent = shots.every((shot) => !shot.clip.media.audio);
  return [
    ...[...parts, `${concat}[v][own]`, ...spoken],
    `${labels}concat=n=${narration.length}:v=0:a=1,${lasting(plan, plan.frames)}[spoken]`,
    silent ? '[own]anullsink;[spoken]anull[a]' : `[own][spoken]${SPOKEN_OVER}[a]`,
  ].join(';');
}

/** Letterboxed by the shape that it is shown in, not by its pixels, which need not be square. */
function picture({ width, height, fps }: FilmPlan, { clip, frames }: Shot, index: number): string {
  const w = `'max(2,trunc(min(${width},${height}*dar)/2)*2)'`;
  const h = `'max(2,trunc(min(${height},${width}/dar)/2)*2)'`;
  // A film lacks a frame or two at most, by rounding; an image lacks all but one.
  const own = clip.media.kind === 'video' ? clip.media.video!.seconds : 0;
  // A picture that is shorter than half a frame of the film is a frame all the same: `eof_action`.
  const hold = Math.max(0, frames / fps - own) + 2 / fps;
  return [
    `[${index}:V:0]scale=w=${w}:h=${h}:${TO_BT709}`,
    ...['format=yuv420p', 'setsar=1', `pad=${width}:${height}:(ow-iw)/2:(oh-ih)/2`],
    ...[`fps=${fps}:start_time=0:eof_action=pass`, `tpad=stop_mode=clone:stop_duration=${hold.toFixed(6)}`],
    `trim=end_frame=${frames}[v${index}]`,
  ].join(',');
}

function sound(plan: FilmPlan, { clip, frames }: Shot, index: number): string {
  const source = clip.media.audio
    ? `[${index}:a:0]${STEREO}`
    : `anullsrc=r=${SOUND_HZ}:cl=stereo,aformat=sample_fmts=fltp`;
  return `${source},${lasting(plan, frames)}[a${index}]`;
}

/** Padded with silence or cut, to end with the picture. */
const lasting = ({ fps }: FilmPlan, frames: number): string =>
  `apad,atrim=end_sample=${Math.round((frames * SOUND_HZ) / fps)}`;
