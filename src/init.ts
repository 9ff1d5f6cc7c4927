import * as z from 'zod/mini';
import { loadConfig } from './config.ts';
import { statIn, sync, writeNew, writeNewWhole } from './durable.ts';
import { asEpisodeError, EpisodeError, isErrno, pipelineLost, usage } from './errors.ts';
import { format } from './json/strict-json.ts';
import { Config } from './model/config.ts';
import { describeIssues } from './model/issues.ts';
import type { Ledger } from './model/ledger.ts';
import type { Port } from './port.ts';

export interface InitAnswer {
  root: string;
  show: string;
  time_zone: string;
  ledger_id: string;
  /** `kept`: a `pipeline.json` was there, and was not touched. */
  pipeline: 'created' | 'kept';
}

/** The place of a ledger that is not there yet. */
export interface NewLedger {
  /** `ALREADY_INITIALISED` (73), or what lies there without a ledger (65); `null` when one may be made. */
  refusal(): Promise<EpisodeError | null>;
  /** Makes the ledger durably; of several at once exactly one makes it, the others get `ALREADY_INITIALISED`. */
  create(ledger: Ledger): Promise<void>;
}

/**
 * Makes a show in `root`: `pipeline.json` unless there is one, and the ledger. Throws `ALREADY_INITIALISED` (73) when it
 * has a ledger, `LEDGER_INCOMPLETE` (65) when works of a show are there without one, `NO_HARD_LINKS` (73).
 */
export async function init(
  { port, root, ledger }: { port: Port; root: string; ledger: NewLedger },
  options: { timeZone: string; show: string; currency: string },
): Promise<InitAnswer> {
  const refusal = await ledger.refusal();
  if (refusal?.code === 'ALREADY_INITIALISED' && !(await statIn(port.disk, root, 'pipeline.json')))
    throw pipelineLost(root, 'ALREADY_INITIALISED');
  if (refusal) throw refusal;
  await refuseWithoutHardLinks(port, root);
  const pipeline = await writePipeline(port, root, options);
  const config = await loadConfig(port.disk, root);
  const ledger_id = port.random(16);
  const created_at = new Date(port.now()).toISOString();
  await ledger.create({ format: 1, ledger_id, show: config.show, created_at, weeks: [] });
  return { root, show: config.show, time_zone: config.time_zone, ledger_id, pipeline };
}

/** What editors read to help with `pipeline.json`. */
const pipelineSchema = (): object => ({
  ...z.toJSONSchema(Config, { io: 'input', unrepresentable: 'any' }),
  title: 'pipeline.json of episode',
});

async function writePipeline(
  port: Port,
  root: string,
  { timeZone, show, currency }: { timeZone: string; show: string; currency: string },
): Promise<InitAnswer['pipeline']> {
  const content = {
    $schema: './pipeline.schema.json',
    format: 1,
    show,
    time_zone: timeZone,
    currency,
    providers: { local: { type: 'local' } },
  };
  // Before it is written: a file that the next command refuses is no start.
  const valid = z.safeParse(Config, content);
  if (!valid.success) throw usage(describeIssues(valid.error)[0]!, 'init', 'episode init --help');
  await writeUnlessThere(port, root, 'pipeline.schema.json', pipelineSchema());
  return (await writeUnlessThere(port, root, 'pipeline.json', content)) ? 'created' : 'kept';
}

async function writeUnlessThere({ disk, random }: Port, root: string, name: string, content: object): Promise<boolean> {
  try {
    await writeNewWhole(disk, `${root}/${name}`, `${root}/.episode-${random(4)}`, Buffer.from(format(content)));
    await sync(disk, root);
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
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) {
      throw new EpisodeError('CANNOT_WRITE', `there is no directory ${root}`, {
        subject: root,
        hints: [`mkdir -p ${root}`],
        cause: error,
      });
    }
    if (!isErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw asEpisodeError(error, root);
    throw new EpisodeError('NO_HARD_LINKS', `the file system of ${root} has no hard links, and a ledger needs them`, {
      subject: root,
      hints: ['use a local ext4, xfs, btrfs, APFS or ZFS; a share or a FAT stick will not do'],
      cause: error,
    });
  }
}
