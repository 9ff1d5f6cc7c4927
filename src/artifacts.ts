import * as z from 'zod/mini';
import { ensureDirectory, namesIn, statIn, sync, writeNew } from './durable.ts';
import { artifactChanged, asEpisodeError, type EpisodeError, recordDamaged, strayFound } from './errors.ts';
import { UNRECORDED } from './integrity.ts';
import { readBytes, readRecord } from './json/record.ts';
import { format } from './json/strict-json.ts';
import type { OutputFile } from './model/episode.ts';
import { episodeIdOf } from './model/episode-id.ts';
import { faultOfWeek } from './model/week.ts';
import type { Disk, Port } from './port.ts';
import { artifactsPath, stampPath } from './store/store.ts';

/** `episodes/<episode_id>/episode.json`: which ledger made this directory, so that a restored backup shows. */
const Stamp = z.lazy(() =>
  z.looseObject({
    format: z.literal(1),
    ledger_id: z.string(),
    episode_id: z.string(),
    /** Number of the ledger's head when the directory was made. */
    head: z.int(),
  }),
);

/** Entries of `episodes/` that are read in 3 ms; reading the 100,000 of a large show would cost more than the rest of `allocate`. */
const SMALL_DIRECTORY_BYTES = 64 * 1024;
/** In a large show, sequences beyond the highest whose names are tried one by one. */
const PROBED = 64;

/** What the ledger knows of a week. */
interface KnownWeek {
  week_id: string;
  highest: number;
  /** IDs on record. */
  recorded: ReadonlySet<string>;
}

/**
 * What under `episodes/` says that this week knows more than the ledger: a stamped directory without a record, the
 * directory of the very ID about to be given, or a weekly name from before the versioned ones.
 */
export async function* straysOf({ disk }: Port, root: string, week: KnownWeek): AsyncGenerator<EpisodeError> {
  for (const legacy of legacyNames(week.week_id)) {
    const path = `episodes/${legacy}`;
    if (await statIn(disk, root, path))
      yield strayFound(path, `carries a weekly name of ${week.week_id} from before the versioned ones`);
  }
  for (const sequence of await unrecordedSequences(disk, root, week)) {
    const episodeId = episodeIdOf(week.week_id, sequence);
    const path = artifactsPath(episodeId);
    if (!(await statIn(disk, root, path))) continue;
    if (await statIn(disk, root, stampPath(episodeId))) yield strayFound(path, UNRECORDED);
    else if (sequence === week.highest + 1) yield strayFound(path, 'is there, and no record of it');
  }
}

async function unrecordedSequences(disk: Disk, root: string, week: KnownWeek): Promise<number[]> {
  const size = (await statIn(disk, root, 'episodes'))?.size ?? 0;
  if (size > SMALL_DIRECTORY_BYTES) return Array.from({ length: PROBED }, (_, index) => week.highest + 1 + index);
  const prefix = `${week.week_id}-`;
  return (await namesIn(disk, root, 'episodes'))
    .filter((name) => name.startsWith(prefix) && /^(0|[1-9]\d*)$/.test(name.slice(prefix.length)))
    .filter((name) => !week.recorded.has(name))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
}

/** Weeks that names under `episodes/` speak of, in whatever spelling: those that `straysOf` may have something to say of. */
export async function weeksNamed({ disk }: Port, root: string): Promise<string[]> {
  const weeks = (await namesIn(disk, root, 'episodes')).flatMap((name) => {
    const [, year, week] = /^(\d{4})[-_]?[Ww](\d\d)(?:-\d+)?$/.exec(name) ?? [];
    const [, later, last] = /^(?:W|week[-_])(\d\d)[-_](\d{4})$/.exec(name) ?? [];
    return year !== undefined ? [`${year}-W${week}`] : last !== undefined ? [`${last}-W${later}`] : [];
  });
  return [...new Set(weeks)].filter((weekId) => faultOfWeek(weekId) === null);
}

/** Spellings of a bare week that people used as directory names. */
function legacyNames(weekId: string): string[] {
  const [year, week] = weekId.split('-W') as [string, string];
  return [
    `${year}-W${week}`,
    `${year}-w${week}`,
    `${year}W${week}`,
    `${year}w${week}`,
    `${year}_W${week}`,
    `W${week}-${year}`,
    `W${week}_${year}`,
    `week-${week}-${year}`,
    `week_${week}_${year}`,
  ];
}

/** What the stamp of an episode's directory must say: this ledger, this episode, and no later head than there is. */
interface Stamped {
  ledger_id: string;
  episode_id: string;
  head: number;
}

/**
 * The episode's directory, made and stamped if it is not there yet. Throws `LEDGER_INCOMPLETE` (65) when its stamp names
 * another ledger or a later head than the ledger has: then `state/` or `episodes/` comes from another backup.
 */
export async function prepareDirectory(port: Port, root: string, stamp: Stamped): Promise<void> {
  const { disk } = port;
  const file = stampPath(stamp.episode_id);
  const directory = `${root}/${artifactsPath(stamp.episode_id)}`;
  try {
    if (await isStamped(port, root, stamp)) return;
    if (await ensureDirectory(disk, `${root}/episodes`)) await sync(disk, root);
    await ensureOwn(port, root, artifactsPath(stamp.episode_id));
    await sync(disk, `${root}/episodes`);
    const temporary = `${directory}/.stamp-${port.random(8)}`;
    await writeNew(disk, temporary, Buffer.from(format({ format: 1, ...stamp })));
    await disk.rename(temporary, `${root}/${file}`);
    await sync(disk, directory);
  } catch (error) {
    throw asEpisodeError(error, file);
  }
}

/** Whether the directory carries its stamp. Throws `RECORD_DAMAGED`, `LEDGER_INCOMPLETE` (65) when it carries another. */
export async function isStamped({ disk }: Port, root: string, stamp: Stamped): Promise<boolean> {
  const file = stampPath(stamp.episode_id);
  const bytes = await readBytes(disk, `${root}/${file}`, file);
  if (!bytes) return false;
  const result = z.safeParse(Stamp, await readRecord(bytes, file));
  if (!result.success) throw recordDamaged(file, 'it is no stamp of an episode directory');
  const { ledger_id, episode_id, head } = result.data;
  if (episode_id !== stamp.episode_id) throw recordDamaged(file, `it says it belongs to ${episode_id}`);
  const path = artifactsPath(episode_id);
  if (ledger_id !== stamp.ledger_id) throw strayFound(path, `was made by another ledger (${ledger_id})`);
  if (head > stamp.head)
    throw strayFound(path, `was made at transaction ${head}, and state/ ends at ${stamp.head}: it is an older copy`);
  return true;
}

/** A directory of ours below `episodes/`; a link in its place would lead writes out of the show. */
export async function ensureOwn(port: Port, root: string, path: string): Promise<void> {
  if (await ensureDirectory(port.disk, `${root}/${path}`)) return;
  const type = (await port.disk.lstat(`${root}/${path}`))?.type;
  if (type !== 'directory') throw recordDamaged(path, `it is a ${type ?? 'name'} and must be a directory`);
}

/** `ARTIFACT_CHANGED` (10) about a recorded file that is gone or has another size; `null` as far as can be seen unread. */
export async function whyChanged({ disk }: Port, root: string, file: OutputFile): Promise<EpisodeError | null> {
  const { path, sha256, bytes } = file;
  const stat = await statIn(disk, root, path);
  if (!stat) return artifactChanged(path, sha256, 'it is missing');
  if (stat.type !== 'file') return artifactChanged(path, sha256, `it is a ${stat.type}`);
  return stat.size === bytes ? null : artifactChanged(path, sha256, `it has ${stat.size} bytes, not ${bytes}`);
}
