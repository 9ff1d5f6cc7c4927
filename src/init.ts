import * as z from 'zod/mini';
import { loadConfig } from './config.ts';
import { syncDirectory, writeNew } from './durable.ts';
import { asEpisodeError, EpisodeError, isErrno } from './errors.ts';
import { format } from './json/strict-json.ts';
import { Config } from './model/config.ts';
import type { Port } from './port.ts';
import { whyNoLedger } from './store/file/absent.ts';
import { alreadyInitialised, initialiseFileStore } from './store/file/commit.ts';
import { findHead } from './store/file/commits.ts';

export interface InitAnswer {
  root: string;
  show: string;
  time_zone: string;
  ledger_id: string;
  /** `kept`: a `pipeline.json` was there, and was not touched. */
  pipeline: 'created' | 'kept';
}

/**
 * Makes a show in `root`: `pipeline.json` unless there is one, and the ledger. Throws `ALREADY_INITIALISED` (73) when it
 * has a ledger, `LEDGER_INCOMPLETE` (65) when works of a show are there without one, `NO_HARD_LINKS` (73).
 */
export async function init(
  port: Port,
  root: string,
  options: { timeZone: string; show: string; currency: string },
): Promise<InitAnswer> {
  if (await findHead(port, root)) throw alreadyInitialised(root);
  const why = await whyNoLedger(port.disk, root);
  if (why.code !== 'NOT_INITIALISED') throw why;
  await refuseWithoutHardLinks(port, root);
  const pipeline = await writePipeline(port, root, options);
  const config = await loadConfig(port.disk, root);
  const ledger_id = port.random(16);
  const created_at = new Date(port.now()).toISOString();
  await initialiseFileStore(port, root, { format: 1, ledger_id, show: config.show, created_at });
  return { root, show: config.show, time_zone: config.time_zone, ledger_id, pipeline };
}

async function writePipeline(
  port: Port,
  root: string,
  { timeZone, show, currency }: { timeZone: string; show: string; currency: string },
): Promise<InitAnswer['pipeline']> {
  const schema = {
    ...z.toJSONSchema(Config, { io: 'input', unrepresentable: 'any' }),
    title: 'pipeline.json of episode',
  };
  await writeUnlessThere(port, root, 'pipeline.schema.json', schema);
  const made = await writeUnlessThere(port, root, 'pipeline.json', {
    $schema: './pipeline.schema.json',
    format: 1,
    show,
    time_zone: timeZone,
    currency,
    providers: { local: { type: 'local' } },
  });
  return made ? 'created' : 'kept';
}

async function writeUnlessThere({ disk }: Port, root: string, name: string, content: object): Promise<boolean> {
  try {
    await writeNew(disk, `${root}/${name}`, Buffer.from(format(content)));
    await syncDirectory(disk, root);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw asEpisodeError(error, name);
  }
}

/** The exclusive hard link is what makes a commit: without it nothing here is safe. */
async function refuseWithoutHardLinks(port: Port, root: string): Promise<void> {
  const [one, two] = [`${root}/.episode-${port.random(4)}`, `${root}/.episode-${port.random(4)}`] as const;
  try {
    await writeNew(port.disk, one, Buffer.from('x'));
    try {
      await port.disk.link(one, two);
      await port.disk.unlink(two);
    } finally {
      await port.disk.unlink(one);
    }
  } catch (error) {
    if (!isErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw asEpisodeError(error, root);
    throw new EpisodeError('NO_HARD_LINKS', `the file system of ${root} has no hard links, and a ledger needs them`, {
      subject: root,
      hints: ['use a local ext4, xfs, btrfs, APFS or ZFS; a share or a FAT stick will not do'],
      cause: error,
    });
  }
}
