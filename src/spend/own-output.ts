import { asEpisodeError, EpisodeError, inputUnreadable } from '../errors.ts';
import type { OutputFile } from '../model/episode.ts';
import type { Target } from './send.ts';
import type { SpendServices } from './spend-services.ts';
import { clearRoom, makeFirstRoom, placeTake } from './take.ts';

/** A file that a person brings as the output of a step. */
export interface OwnFile {
  /** As it was typed. */
  name: string;
  /** Absolute. */
  path: string;
  /** Throws `FILE_NOT_FOUND` (66), `NOT_PERMITTED` (77), `CANNOT_WRITE` (73). */
  copyTo(path: string): Promise<void>;
}

export async function hashOwn({ media }: Pick<SpendServices, 'media'>, { name, path }: OwnFile): Promise<string> {
  try {
    return (await media.hash(path)).sha256;
  } catch (error) {
    throw inputUnreadable(name, error);
  }
}

/**
 * The take of what a person brought. Copies, so that the person's files stay; each in a directory of its own, for two may
 * have one name.
 */
export async function placeOwn(
  services: Pick<SpendServices, 'store' | 'port' | 'root' | 'media'>,
  target: Target,
  output: readonly OwnFile[],
): Promise<OutputFile[]> {
  const { port, root } = services;
  const room = `${root}/${await makeFirstRoom(services, target.episodeId, target.attempt.attempt_id)}`;
  const copies = output.map(({ name }, index) => ({ name, path: `${room}/${index}/${lastName(name)}` }));
  try {
    for (const [index, own] of output.entries()) {
      await port.disk.mkdir(`${room}/${index}`);
      await own.copyTo(copies[index]!.path);
    }
    return await placeTake(
      services,
      target,
      copies.map(({ path }) => ({ path })),
    );
  } catch (error) {
    throw aboutOwn(asEpisodeError(error, target.episodeId), target, copies);
  } finally {
    await clearRoom(port.disk, room);
  }
}

export const lastName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** The person knows the file by the name that was typed, and not by that of its copy. */
function aboutOwn(error: unknown, { episodeId, step }: Target, copies: readonly { name: string; path: string }[]) {
  if (!(error instanceof EpisodeError) || error.code !== 'MEDIA_NOT_WHOLE') return error;
  const { code, hints, details } = error;
  const copy = copies.find(({ path }) => error.message.includes(path));
  const message = copy ? error.message.replaceAll(copy.path, copy.name) : error.message;
  return new EpisodeError(code, `step ${step} of ${episodeId}: ${message}; nothing was recorded`, {
    subject: copy?.name ?? `${episodeId}/${step}`,
    hints: [...hints, `episode show ${episodeId}  # the other ways out`],
    details,
    cause: error,
  });
}
