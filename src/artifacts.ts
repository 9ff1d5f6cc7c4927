import * as z from 'zod/mini';
import { ensureDirectory, namesIn, readIfThere, statIn, syncDirectory, writeNew } from './durable.ts';
import { asEpisodeError, ledgerIncomplete, recordDamaged } from './errors.ts';
import { readRecord } from './json/record.ts';
import { format } from './json/strict-json.ts';
import { episodeIdOf } from './model/episode-id.ts';
import type { Disk, Port } from './port.ts';

/** `episodes/<episode_id>/episode.json`: which ledger made this directory, so that a restored backup shows. */
const Stamp = z.looseObject({
  format: z.literal(1),
  ledger_id: z.string(),
  episode_id: z.string(),
  /** Number of the ledger's head when the directory was made. */
  head: z.int(),
});

const stampPath = (episodeId: string): string => `episodes/${episodeId}/episode.json`;

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
 * Something under `episodes/` that says this week knows more than the ledger: a stamped directory without a record, the
 * directory of the very ID about to be given, or a weekly name from before the versioned ones. `null` if there is nothing.
 */
export async function findStray(
  { disk }: Port,
  root: string,
  week: KnownWeek,
): Promise<{ path: string; fault: string } | null> {
  for (const legacy of legacyNames(week.week_id)) {
    const path = `episodes/${legacy}`;
    if (await statIn(disk, root, path)) {
      return { path, fault: `${path} carries a weekly name of ${week.week_id} from before the versioned ones` };
    }
  }
  for (const sequence of await unrecordedSequences(disk, root, week)) {
    const episodeId = episodeIdOf(week.week_id, sequence);
    const path = `episodes/${episodeId}`;
    if (!(await statIn(disk, root, path))) continue;
    if (sequence === week.highest + 1) return { path, fault: `${path} is there, and no record of it` };
    if (await statIn(disk, root, stampPath(episodeId))) {
      return { path, fault: `${path} was made by a ledger, and no record of it is here` };
    }
  }
  return null;
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

/**
 * The episode's directory, made and stamped if it is not there yet. Throws `LEDGER_INCOMPLETE` (65) when its stamp names
 * another ledger or a later head than the ledger has: then `state/` or `episodes/` comes from another backup.
 */
export async function prepareDirectory(
  port: Port,
  root: string,
  stamp: { ledger_id: string; episode_id: string; head: number },
): Promise<void> {
  const { disk } = port;
  const file = stampPath(stamp.episode_id);
  const directory = `${root}/episodes/${stamp.episode_id}`;
  try {
    const bytes = await readIfThere(disk, `${root}/${file}`);
    if (bytes) return compareStamp(await readRecord(bytes, file), stamp, file);
    if (await ensureDirectory(disk, `${root}/episodes`)) await syncDirectory(disk, root);
    await ensureOwn(port, root, `episodes/${stamp.episode_id}`);
    await syncDirectory(disk, `${root}/episodes`);
    const temporary = `${directory}/.stamp-${port.random(8)}`;
    await writeNew(disk, temporary, Buffer.from(format({ format: 1, ...stamp })));
    await disk.rename(temporary, `${root}/${file}`);
    await syncDirectory(disk, directory);
  } catch (error) {
    throw asEpisodeError(error, file);
  }
}

/** A directory of ours below `episodes/`; a link in its place would lead writes out of the show. */
export async function ensureOwn(port: Port, root: string, path: string): Promise<void> {
  if (await ensureDirectory(port.disk, `${root}/${path}`)) return;
  const type = (await port.disk.lstat(`${root}/${path}`))?.type;
  if (type !== 'directory') throw recordDamaged(path, `it is a ${type ?? 'name'} and must be a directory`);
}

function compareStamp(
  found: object,
  stamp: { ledger_id: string; episode_id: string; head: number },
  file: string,
): void {
  const result = z.safeParse(Stamp, found);
  if (!result.success) throw recordDamaged(file, 'it is no stamp of an episode directory');
  const { ledger_id, episode_id, head } = result.data;
  if (episode_id !== stamp.episode_id) throw recordDamaged(file, `it says it belongs to ${episode_id}`);
  if (ledger_id !== stamp.ledger_id) throw ledgerIncomplete(file, `${file} was made by another ledger (${ledger_id})`);
  if (head > stamp.head) {
    throw ledgerIncomplete(
      file,
      `${file} was made at transaction ${head}, and state/ ends at ${stamp.head}: it is an older copy`,
    );
  }
}
