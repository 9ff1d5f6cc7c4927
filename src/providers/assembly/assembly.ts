import { join } from 'node:path';
import * as z from 'zod/mini';
import { EpisodeError } from '../../errors.ts';
import type { Ffmpeg } from '../../media/ffmpeg.ts';
import { filmOutput, render, stillOutput } from '../../media/render.ts';
import { mediaInput, verifyMedia } from '../../media/verify.ts';
import { inWorkshop } from '../../media/workshop.ts';
import type { Provider } from '../provider.ts';
import { createPureProvider } from '../pure.ts';
import { type Clip, checkUnchanged, openClip } from './clips.ts';
import { filmGraph } from './graph.ts';
import { ASSEMBLY_KINDS, AssemblyParams, faultsOfAssembly } from './params.ts';
import { type FilmPlan, planFilm } from './plan.ts';

const FILM = 'film.mp4';
const COVER = 'cover.png';

/** What encoding may add or lose at the end of a film. */
const OFF_FRAMES = 2;
const OFF_SECONDS = 0.1;

/**
 * Joins clips of any size, rate and sound into one film and its cover. Every input is decoded to its end before, and the
 * film is measured after: ffmpeg calls a film done that a bad clip or a full disk cut short.
 * The same clips and params give the same bytes with the same ffmpeg.
 */
export function createAssemblyProvider({ name, ffmpeg }: { name: string; ffmpeg: Ffmpeg }): Provider {
  return createPureProvider({
    name,
    type: 'assembly',
    kinds: ASSEMBLY_KINDS,
    faults: (wanted) => faultsOfAssembly(name, wanted),
    async make({ inputs, params, output_dir }, progress, signal) {
      const wanted = z.parse(AssemblyParams, params);
      const clips: Clip[] = [];
      for (const input of inputs) {
        clips.push(await openClip(ffmpeg, input, signal));
        progress(0.1 * (clips.length / inputs.length));
      }
      const plan = planFilm(clips, wanted);
      return inWorkshop(output_dir, async (directory) => {
        await makeFilm(ffmpeg, plan, directory, (fraction) => progress(0.1 + 0.8 * fraction), signal);
        await makeCover(ffmpeg, plan, directory, signal);
        for (const input of inputs) await checkUnchanged(input, signal);
        return [
          { path: FILM, mime: 'video/mp4', role: 'media' },
          { path: COVER, mime: 'image/png', role: 'cover' },
        ];
      });
    },
  });
}

async function makeFilm(
  ffmpeg: Ffmpeg,
  plan: FilmPlan,
  directory: string,
  tell: (fraction: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const clips = [...plan.shots.map((shot) => shot.clip), ...plan.narration];
  const args = [
    ...(clips.every((clip) => clip.media.container.strict) ? ['-xerror'] : []),
    // All clips are open at once: with one decoder thread each, 30 of 1280x720 need 560 MiB instead of 800.
    ...clips.flatMap((clip) => ['-threads', '1', ...mediaInput(clip.path, clip.media.container)]),
    ...['-filter_complex', filmGraph(plan), '-map', '[v]', '-map', '[a]'],
    ...filmOutput(plan.fps, FILM),
  ];
  await render(ffmpeg, args, { cwd: directory, signal, progress: { seconds: plan.seconds, tell } });
  const { video, audio } = await verifyMedia(ffmpeg, join(directory, FILM), 'video', signal);
  const right =
    Math.abs((video?.frames ?? 0) - plan.frames) <= OFF_FRAMES &&
    Math.abs((audio?.seconds ?? 0) - plan.seconds) <= OFF_SECONDS &&
    video?.width === plan.width &&
    video.height === plan.height;
  if (right) return;
  const is = `${video?.width}x${video?.height}, ${video?.frames} frames, ${audio?.seconds.toFixed(2) ?? 'no'} s of sound`;
  const must = `${plan.width}x${plan.height}, ${plan.frames} frames, ${plan.seconds.toFixed(2)} s of sound`;
  throw new EpisodeError('TOOL_FAILED', `the film came out wrong: ${is}; its clips make ${must}`, { subject: FILM });
}

async function makeCover(ffmpeg: Ffmpeg, plan: FilmPlan, directory: string, signal: AbortSignal): Promise<void> {
  const { cover, frames, fps } = plan;
  const source =
    'clip' in cover
      ? mediaInput(cover.clip.path, cover.clip.media.container)
      : // Half a frame before the last one at the latest, as a seek lands on the first frame that is not earlier.
        ['-ss', Math.max(0, Math.min(cover.atSeconds, (frames - 1.5) / fps)).toFixed(6), '-f', 'mov', '-i', FILM];
  const args = [...source, '-map', '0:v:0', ...stillOutput(COVER)];
  await render(ffmpeg, args, { cwd: directory, signal });
  await verifyMedia(ffmpeg, join(directory, COVER), 'image', signal);
}
