import { join } from 'node:path';
import * as z from 'zod/mini';
import { EpisodeError } from '../../errors.ts';
import type { Ffmpeg } from '../../media/ffmpeg.ts';
import { render } from '../../media/render.ts';
import { verifyMedia } from '../../media/verify.ts';
import { inWorkshop } from '../../media/workshop.ts';
import type { Provider, Submission } from '../provider.ts';
import { createPureProvider } from '../pure.ts';
import { captionFilter } from './caption.ts';
import { FilmParams, faultsOfLocal, LOCAL_KINDS, PictureParams, SoundParams } from './params.ts';
import { film, type Recipe, sound, still } from './recipe.ts';
import { speak, type Voice } from './voice.ts';

interface LocalDependencies {
  name: string;
  ffmpeg: Ffmpeg;
  /** `PATH` to find espeak-ng on. */
  path: string | undefined;
  /** What this machine could not do, in a sentence; the media are made all the same. */
  onNote(note: string): void;
}

/** How far the length of an encoded sound may be off: two AAC frames. */
const OFF_SECONDS = 0.1;

/**
 * Real, free media out of nothing but `params`, so that a whole show runs with no account.
 * The same params give the same bytes with the same ffmpeg and espeak-ng.
 */
export function createLocalProvider(dependencies: LocalDependencies): Provider {
  const { name, ffmpeg } = dependencies;
  return createPureProvider({
    name,
    type: 'local',
    kinds: LOCAL_KINDS,
    faults: (wanted) => faultsOfLocal(name, wanted),
    make(submission, tell, signal) {
      return inWorkshop(submission.output_dir, async (directory) => {
        const recipe = await choose(dependencies, submission, directory, signal);
        const progress = { seconds: recipe.seconds, tell };
        await render(ffmpeg, recipe.args, { cwd: directory, signal, ...(recipe.kind === 'image' ? {} : { progress }) });
        await verify(ffmpeg, join(directory, recipe.file), recipe, signal);
        return [{ path: recipe.file, mime: recipe.mime }];
      });
    },
  });
}

async function choose(
  { ffmpeg, path, onNote }: LocalDependencies,
  { kind, params }: Submission,
  directory: string,
  signal: AbortSignal,
): Promise<Recipe> {
  const draw = ({ caption, width, height }: PictureParams): Promise<string> =>
    captionFilter(ffmpeg, caption, { directory, width, height }, onNote);
  const say = async ({ voice }: SoundParams): Promise<Voice | null> =>
    voice?.trim() ? speak(ffmpeg, voice, { directory, path, signal, onNote }) : null;

  if (kind === 'image') {
    const picture = z.parse(PictureParams, params);
    return still(picture, await draw(picture));
  }
  if (kind === 'audio') {
    const wanted = z.parse(SoundParams, params);
    return sound(wanted, await say(wanted));
  }
  const wanted = z.parse(FilmParams, params);
  return film(wanted, await draw(wanted), await say(wanted));
}

/** ffmpeg may end early and call it done, on a full disk for one. */
async function verify(ffmpeg: Ffmpeg, path: string, recipe: Recipe, signal: AbortSignal): Promise<void> {
  const made = await verifyMedia(ffmpeg, path, recipe.kind, signal);
  if (Math.abs(made.duration_seconds - recipe.seconds) > OFF_SECONDS) {
    const lengths = `${made.duration_seconds.toFixed(2)} s long and not ${recipe.seconds.toFixed(2)} s`;
    throw new EpisodeError('TOOL_FAILED', `the render is ${lengths}`, { subject: recipe.file });
  }
}
