import type { CredentialSources } from './credentials.ts';
import { findCredential } from './credentials.ts';
import { discard, syncDirectory, writeNew } from './durable.ts';
import { type Code, EpisodeError, isErrno } from './errors.ts';
import type { Config } from './model/config.ts';
import type { Port } from './port.ts';
import { type Ref, ref, type Store, type View } from './store/store.ts';

export interface Diagnosis {
  check: string;
  state: 'ok' | 'hint' | 'wrong';
  message: string;
  /** What to type or change; empty when nothing is to be done. */
  fix: string;
  /** Of the error that this is, which gives the exit code; `null` when nothing is wrong. */
  code: Code | null;
}

export interface Patient {
  store: Store;
  port: Port;
  root: string;
  /** Of `pipeline.json`; its error when it cannot be read. */
  config: Config | EpisodeError;
  credentials: CredentialSources;
  /** `null`: a system without user IDs. */
  uid: number | null;
  findFfmpeg(): Promise<{ path: string; version: string }>;
  /** Whether this program is on PATH. */
  isOnPath(program: string): boolean;
  /** statfs(2) of a path. */
  fileSystem(path: string): Promise<{ type: number; bavail: number; bsize: number }>;
  /** Throws `CONFIGURATION` (78) for a schedule that names no instants. */
  checkSchedule(name: string, config: Config): void;
}

const ok = (check: string, message: string): Diagnosis => ({ check, state: 'ok', message, fix: '', code: null });

const hint = (check: string, message: string, fix: string): Diagnosis => ({
  check,
  state: 'hint',
  message,
  fix,
  code: null,
});

const wrong = (check: string, code: Code, message: string, fix: string): Diagnosis => ({
  check,
  state: 'wrong',
  message,
  fix,
  code,
});

const fromError = (check: string, { code, message, hints }: EpisodeError): Diagnosis =>
  wrong(check, code, message, hints[0] ?? '');

/** What is wrong with a show and its machine, each with the fix. Changes no record. */
export async function doctor(patient: Patient): Promise<Diagnosis[]> {
  const checks = [configuration, records, owner, clock, lock, disk, ffmpeg, credentials];
  const found: Diagnosis[] = [];
  for (const check of checks) found.push(...(await check(patient)));
  return found;
}

async function configuration({ config, checkSchedule }: Patient): Promise<Diagnosis[]> {
  if (config instanceof EpisodeError) return [fromError('configuration', config)];
  const found = [ok('configuration', `pipeline.json: ${config.show}, weeks counted in ${config.time_zone}`)];
  for (const name of Object.keys(config.schedules)) {
    try {
      checkSchedule(name, config);
    } catch (error) {
      if (!(error instanceof EpisodeError)) throw error;
      found.push(fromError('configuration', error));
    }
  }
  return found;
}

/** Reads every record: what is damaged is named file by file, and one never hides the others. */
async function records({ store }: Patient): Promise<Diagnosis[]> {
  try {
    return await store.salvage(async (view) => {
      const damage = (await store.inspect()).map((error) => fromError('ledger', error));
      let count = 0;
      for (const name of await allRecords(view)) {
        try {
          if ((await view.get(name)) === undefined)
            damage.push(wrong('ledger', 'LEDGER_INCOMPLETE', `${view.nameOf(name)} is missing`, RESTORE));
          count += 1;
        } catch (error) {
          if (!(error instanceof EpisodeError)) throw error;
          damage.push(wrong('ledger', error.code, error.message, RESTORE));
        }
      }
      return damage.length > 0 ? damage : [ok('ledger', `${count} records, transaction ${view.head}`)];
    });
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    return [fromError('ledger', error)];
  }
}

const RESTORE = 'put the file back from a backup; nothing is repaired by guessing';

async function allRecords(view: View) {
  const names: Ref[] = [
    ref('ledger', ''),
    ...(await view.list('history')).map((id) => ref('history', id)),
    ...(await view.list('key')).map((id) => ref('key', id)),
  ];
  for (const weekId of await view.list('week')) {
    names.push(ref('week', weekId));
    for (const id of await view.list('episode', weekId)) names.push(ref('episode', id));
    try {
      const week = await view.get(ref('week', weekId));
      names.push(...Object.values(week?.episodes ?? {}).map((hash) => ref('key', hash)));
      names.push(...Object.keys(week?.episodes ?? {}).map((id) => ref('episode', id)));
    } catch (error) {
      // Said when its own turn comes.
      if (!(error instanceof EpisodeError)) throw error;
    }
  }
  return [...new Map(names.map((name) => [view.nameOf(name), name])).values()];
}

async function owner({ port, root, uid }: Patient): Promise<Diagnosis[]> {
  const state = await port.disk.lstat(`${root}/state`);
  if (!state || uid === null) return [];
  const found: Diagnosis[] = [];
  if (state.uid !== uid) {
    const message = `state/ belongs to user ${state.uid}, and you are ${uid}`;
    found.push(wrong('owner', 'NOT_OWNER', message, `sudo -u '#${state.uid}' episode …`));
  }
  if ((state.mode & 0o077) !== 0)
    found.push(wrong('owner', 'NOT_PERMITTED', 'state/ can be read by others', `chmod -R go= ${root}/state`));
  return found.length > 0 ? found : [ok('owner', 'state/ is yours, and nobody else can read it')];
}

const CLOCK_TOLERANCE_MS = 5 * 60_000;

async function clock({ store, port }: Patient): Promise<Diagnosis[]> {
  try {
    const headAt = await store.browse(async (view) => view.headAt);
    const behind = headAt - port.now();
    if (behind <= CLOCK_TOLERANCE_MS) return [ok('clock', new Date(port.now()).toISOString())];
    const message = `the clock is ${Math.round(behind / 60_000)} min behind the newest record`;
    return [wrong('clock', 'CLOCK_BEHIND', message, 'timedatectl set-ntp true')];
  } catch (error) {
    if (error instanceof EpisodeError) return [];
    throw error;
  }
}

const STALE_MS = 10_000;

async function lock({ port, root }: Patient): Promise<Diagnosis[]> {
  const held = await port.disk.lstat(`${root}/state/lock`);
  if (!held) return [ok('lock', 'free')];
  const age = port.now() - held.mtimeMs;
  if (age < STALE_MS) return [ok('lock', 'held by a command that is working')];
  return [
    hint(
      'lock',
      `left by a command that died ${Math.round(age / 1000)} s ago`,
      'nothing to do: the next command takes it over',
    ),
  ];
}

/** Magic numbers of statfs(2) for file systems whose locks and links cannot be relied on. */
const NETWORK: Record<number, string> = {
  26985: 'NFS',
  4283649346: 'CIFS',
  4266872130: 'SMB',
  20859: 'SMB',
  1702057286: 'FUSE',
  16914839: '9p',
};
const LITTLE_BYTES = 1024 ** 3;

async function disk(patient: Patient): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  const { type, bavail, bsize } = await patient.fileSystem(patient.root);
  const network = NETWORK[type];
  if (network)
    found.push(
      hint(
        'disk',
        `${patient.root} is on ${network}, where locks and links cannot be relied on`,
        'move the show to a local disk',
      ),
    );
  const free = bavail * bsize;
  const megabytes = `${Math.floor(free / 1024 ** 2)} MiB free`;
  found.push(
    free < LITTLE_BYTES ? hint('disk', megabytes, 'free some: a film and its clips need room') : ok('disk', megabytes),
  );
  // Without a ledger there is nothing to write to yet, and `ledger` has said so.
  if (await patient.port.disk.lstat(`${patient.root}/state/staging`)) found.push(await probeLinks(patient));
  return found;
}

async function probeLinks({ port, root }: Patient): Promise<Diagnosis> {
  const one = `${root}/state/staging/probe-${port.random(4)}`;
  const two = `${one}-link`;
  try {
    await writeNew(port.disk, one, Buffer.from('x'));
    await port.disk.link(one, two);
    await syncDirectory(port.disk, `${root}/state/staging`);
    return ok('disk', 'can be written, with hard links');
  } catch (error) {
    if (!isErrno(error)) throw error;
    const message = `state/staging cannot be written (${error.code})`;
    return wrong('disk', 'CANNOT_WRITE', message, 'mend the disk or its permissions');
  } finally {
    await discard(port.disk, [one, two]);
  }
}

async function ffmpeg({ findFfmpeg, isOnPath }: Patient): Promise<Diagnosis[]> {
  const voice = isOnPath('espeak-ng')
    ? ok('espeak-ng', 'is there: the local provider can speak')
    : hint('espeak-ng', 'is not there: the local provider makes media without a voice', 'apt-get install espeak-ng');
  try {
    const { path, version } = await findFfmpeg();
    return [ok('ffmpeg', `${path}, version ${version}`), voice];
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    return [fromError('ffmpeg', error), voice];
  }
}

async function credentials({ config, credentials: sources }: Patient): Promise<Diagnosis[]> {
  if (config instanceof EpisodeError) return [];
  const configured = [...Object.entries(config.providers), ...Object.entries(config.publishers)];
  return configured.flatMap(([who, part]) =>
    ('env' in part ? part.env : []).map((name): Diagnosis => {
      try {
        const found = findCredential(name, sources);
        if (found) return ok('credentials', `${who}: ${name} from ${found.where}`);
        return wrong('credentials', 'CREDENTIAL_MISSING', `${who}: ${name} is found nowhere`, `export ${name}=…`);
      } catch (error) {
        if (!(error instanceof EpisodeError)) throw error;
        return fromError('credentials', error);
      }
    }),
  );
}
