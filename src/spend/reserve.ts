import { discard, listIfThere } from '../durable.ts';
import { asEpisodeError } from '../errors.ts';
import type { Episode } from '../model/episode.ts';
import type { FileHandle, Port } from '../port.ts';

/**
 * Room on the disk of `state/` for the outcome of a paid call, taken before its claim: a disk that fills up while the
 * provider works must not cost the reference.
 */
const DIRECTORY = 'state/staging';

/** What a transaction stages: the episode, its week's history, the commit. Each needs a name (an inode) of its own. */
const FILES = 3;
/** Beside the record itself, which is written anew and grows: the history and the commit. */
const SPARE_BYTES = 64 * 1024;

/** Its files, relative to the show. */
export type Reserve = readonly string[];

/** Throws `CANNOT_WRITE` (73) when there is no room; nothing is claimed or sent then. */
export async function takeReserve(port: Port, root: string, episode: Episode): Promise<Reserve> {
  const { disk, self, random } = port;
  const bytes = Buffer.byteLength(JSON.stringify(episode)) + SPARE_BYTES;
  // The name tells whose it is, so that what a killed command left can be told and removed.
  const name = `${DIRECTORY}/reserve-${self.pid}-${self.started}-${random(8)}`;
  const reserve = Array.from({ length: FILES }, (_, index) => `${name}.${index}`);
  try {
    for (const path of reserve) {
      const file = await disk.open(`${root}/${path}`, 'create');
      try {
        await fill(port, file, Math.ceil(bytes / FILES));
      } finally {
        await disk.close(file);
      }
    }
    return reserve;
  } catch (error) {
    await giveBack(port, root, reserve);
    throw asEpisodeError(error, DIRECTORY);
  }
}

/** Not fsynced: blocks are taken at the write. Random bytes: zeros take none where the file system compresses. */
async function fill({ disk, random }: Port, file: FileHandle, bytes: number): Promise<void> {
  const content = Buffer.from(random(bytes));
  for (let written = 0; written < content.length; ) {
    const count = await disk.write(file, content.subarray(written));
    if (count === 0) throw Object.assign(new Error('short write'), { code: 'ENOSPC' });
    written += count;
  }
}

/** Never fails: what stays takes room and means nothing. */
export const giveBack = ({ disk }: Port, root: string, reserve: Reserve): Promise<void> =>
  discard(
    disk,
    reserve.map((path) => `${root}/${path}`),
  );

/** Removes what killed commands reserved. That of a living one on another host is room at most, and no record. */
export async function giveBackOfDead(port: Port, root: string): Promise<void> {
  const { self, liveness } = port;
  const names = await listIfThere(port.disk, `${root}/${DIRECTORY}`);
  const dead = names.filter((name) => {
    const [, pid, started] = /^reserve-(\d+)-(\d*)-/.exec(name) ?? [];
    return pid !== undefined && liveness({ ...self, pid: Number(pid), started: started! }) === 'gone';
  });
  await giveBack(
    port,
    root,
    dead.map((name) => `${DIRECTORY}/${name}`),
  );
}
