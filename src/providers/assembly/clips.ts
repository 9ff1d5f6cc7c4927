import { EpisodeError, isErrno } from '../../errors.ts';
import type { Ffmpeg } from '../../media/ffmpeg.ts';
import { hashFile } from '../../media/hash.ts';
import { decodeMedia, type Media } from '../../media/verify.ts';
import type { Submission } from '../provider.ts';
import { Refused } from '../pure.ts';

type Input = Submission['inputs'][number];

/** An input that was found whole. */
export interface Clip extends Input {
  media: Media;
}

/** Images are shown and sound is laid under on purpose only, never because a clip turned out to be something else. */
const FILM_NAME = /\.(mp4|m4v|mov|mkv|webm|avi|ts|flv)$/i;

/** Decodes an input to its last frame. Throws `Refused` naming it if it is missing, changed, cut or no media. */
export async function openClip(ffmpeg: Ffmpeg, input: Input, signal: AbortSignal): Promise<Clip> {
  const { name, path } = input;
  await checkUnchanged(input, signal);
  const media = await decodeMedia(ffmpeg, path, signal).catch((error: unknown) => {
    if (!(error instanceof EpisodeError) || error.code !== 'MEDIA_NOT_WHOLE') throw error;
    throw new Refused(`input ${name}: ${error.message}`, { cause: error });
  });
  if (media.kind !== 'video' && FILM_NAME.test(path)) {
    throw new Refused(`input ${name}: ${path} holds ${media.kind} (${media.container.name}) under the name of a film`);
  }
  return { ...input, media };
}

/** Throws `Refused` unless the bytes are those that the attempt was claimed with. */
export async function checkUnchanged({ name, path, sha256 }: Input, signal: AbortSignal): Promise<void> {
  const found = await hashFile(path, signal).catch((error: unknown) => {
    if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES')) throw error;
    throw new Refused(`input ${name}: ${path} cannot be read (${error.code})`, { cause: error });
  });
  if (found.sha256 !== sha256) {
    throw new Refused(`input ${name}: ${path} has changed: its SHA-256 is ${found.sha256}, not ${sha256}`);
  }
}
