import { ensureOwn, prepareDirectory } from '../artifacts.ts';
import { listIfThere, sync, unlinkIfThere } from '../durable.ts';
import { asEpisodeError, EpisodeError, isErrno } from '../errors.ts';
import type { Attempt, OutputFile } from '../model/episode.ts';
import type { Kind } from '../model/plan.ts';
import type { ProvidedFile } from '../model/protocol.ts';
import type { Disk } from '../port.ts';
import { readLedger } from '../record.ts';
import type { SpendServices } from './spend-services.ts';

/** Room for one delivery: a directory of the show that nothing refers to yet. Relative path. */
export async function makeRoom(
  { port, root }: Pick<SpendServices, 'port' | 'root'>,
  episodeId: string,
  attemptId: string,
): Promise<string> {
  const partial = `episodes/${episodeId}/.partial`;
  const room = `${partial}/${attemptId}-${port.random(4)}`;
  try {
    await ensureOwn(port, root, partial);
    await port.disk.mkdir(`${root}/${room}`);
  } catch (error) {
    throw asEpisodeError(error, room);
  }
  return room;
}

/** The same, with the episode's directory made and stamped before. */
export async function makeFirstRoom(
  services: Pick<SpendServices, 'store' | 'port' | 'root'>,
  episodeId: string,
  attemptId: string,
): Promise<string> {
  const stamp = await services.store.view(async (view) => ({
    ledger_id: (await readLedger(view)).ledger_id,
    episode_id: episodeId,
    head: view.head,
  }));
  await prepareDirectory(services.port, services.root, stamp);
  return makeRoom(services, episodeId, attemptId);
}

/**
 * Turns what a provider delivered into a take: every file is decoded, hashed, made durable, and only then moved to
 * `episodes/<id>/<step>/take-<n>/`. The names of the files become harmless ones.
 * Throws `MEDIA_NOT_WHOLE`, `PROVIDER_PROTOCOL` (76), `CANNOT_WRITE`, `IO_ERROR`; no take is there then.
 */
export async function placeTake(
  { port, root, media }: Pick<SpendServices, 'port' | 'root' | 'media'>,
  place: {
    episodeId: string;
    step: string;
    attempt: Pick<Attempt, 'number' | 'kind' | 'provider'>;
    role: OutputFile['role'];
  },
  delivered: readonly ProvidedFile[],
): Promise<OutputFile[]> {
  const { disk } = port;
  const { episodeId, step, attempt } = place;
  const checked: {
    from: string;
    name: string;
    file: { sha256: string; bytes: number; mime: string | null; role: OutputFile['role'] };
  }[] = [];
  for (const provided of delivered) {
    if ((await disk.lstat(provided.path))?.type !== 'file') throw notAFile(attempt.provider, provided.path);
    const kind = provided.role === 'cover' ? 'image' : (attempt.kind as Kind);
    await media.verify(provided.path, kind);
    const hashed = await media.hash(provided.path);
    if (provided.sha256 !== undefined && provided.sha256 !== hashed.sha256)
      throw otherHash(attempt.provider, provided.path);
    await sync(disk, provided.path);
    const role = provided.role ?? place.role;
    checked.push({
      from: provided.path,
      name: fileName(
        provided.path,
        checked.map(({ name }) => name),
      ),
      file: { ...hashed, mime: provided.mime ?? null, role },
    });
  }
  const directory = `episodes/${episodeId}/${step}`;
  try {
    await ensureOwn(port, root, directory);
    await sync(disk, `${root}/episodes/${episodeId}`);
    const take = await newTake(disk, root, `${directory}/take-${attempt.number}`, port.random(4));
    for (const { from, name } of checked) await disk.rename(from, `${root}/${take}/${name}`);
    await sync(disk, `${root}/${take}`, `${root}/${directory}`);
    return checked.map(({ name, file }) => ({ path: `${take}/${name}`, ...file }));
  } catch (error) {
    throw asEpisodeError(error, directory);
  }
}

/** A directory of that name may be what a killed command left, or another command's that is just recording it: never touched. */
async function newTake(disk: Disk, root: string, take: string, random: string): Promise<string> {
  try {
    await disk.mkdir(`${root}/${take}`);
    return take;
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    await disk.mkdir(`${root}/${take}-${random}`);
    return `${take}-${random}`;
  }
}

/** Letters, digits, `.`, `_` and `-` of the delivered name, made unique; never hidden. */
function fileName(path: string, taken: readonly string[]): string {
  const base = path.slice(path.lastIndexOf('/') + 1);
  const safe =
    base
      .replace(/[^A-Za-z0-9._-]+/g, '_')
      .replace(/^[._-]+/, '')
      .slice(-100) || 'output';
  return taken.includes(safe) ? `${taken.length + 1}-${safe}` : safe;
}

const notAFile = (provider: string, path: string): EpisodeError =>
  new EpisodeError('PROVIDER_PROTOCOL', `${provider} delivered ${path}, which is no regular file`, {
    subject: provider,
  });

const otherHash = (provider: string, path: string): EpisodeError =>
  new EpisodeError('PROVIDER_PROTOCOL', `${provider} delivered ${path} with other bytes than it says`, {
    subject: provider,
  });

/** A take that another command recorded first: ours is one too many, and nothing refers to it. */
export async function discardTake(disk: Disk, root: string, files: readonly OutputFile[]): Promise<void> {
  const path = files[0]!.path;
  await clearRoom(disk, `${root}/${path.slice(0, path.lastIndexOf('/'))}`);
}

/** Removes a delivery's room with all in it. Never fails: what stays is in `.partial`, and nothing refers to it. */
export async function clearRoom(disk: Disk, path: string): Promise<void> {
  try {
    if ((await disk.lstat(path))?.type !== 'directory') return await unlinkIfThere(disk, path);
    for (const name of await listIfThere(disk, path)) await clearRoom(disk, `${path}/${name}`);
    await disk.rmdir(path);
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}
