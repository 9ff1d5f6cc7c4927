import { CLOCK_TOLERANCE_MS } from '../allocate.ts';
import { discard, statIn, sync, writeNew } from '../durable.ts';
import { EpisodeError, isErrno } from '../errors.ts';
import { type Diagnosis, fromError, hint, ok, type Patient, wrong } from './diagnosis.ts';

/** The machine that a show is on: who owns it, its clock, its disk, its tools. */

export async function owner({ port, root, uid }: Patient): Promise<Diagnosis[]> {
  const state = await statIn(port.disk, root, 'state');
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

export async function clock({ store, port }: Patient): Promise<Diagnosis[]> {
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

export async function lock({ port, root, lockStaleMs }: Patient): Promise<Diagnosis[]> {
  const held = await statIn(port.disk, root, 'state/lock');
  if (!held) return [ok('lock', 'free')];
  const age = port.now() - held.mtimeMs;
  if (age < lockStaleMs) return [ok('lock', 'held by a command that is working')];
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

export async function disk(patient: Patient): Promise<Diagnosis[]> {
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
  if (await statIn(patient.port.disk, patient.root, 'state/staging')) found.push(await probeLinks(patient));
  return found;
}

async function probeLinks({ port, root }: Patient): Promise<Diagnosis> {
  // Named like what is staged, so that the next transaction tidies what a killed doctor leaves behind.
  const name = () => `${root}/state/staging/0-${port.random(8)}.json`;
  const [one, two] = [name(), name()];
  try {
    await writeNew(port.disk, one, Buffer.from('x'));
    await port.disk.link(one, two);
    await sync(port.disk, `${root}/state/staging`);
    return ok('disk', 'can be written, with hard links');
  } catch (error) {
    if (!isErrno(error)) throw error;
    if (error.code === 'ENOENT') return ok('disk', 'is being written to: a transaction tidied the probe');
    const message = `state/staging cannot be written (${error.code})`;
    return wrong('disk', 'CANNOT_WRITE', message, 'mend the disk or its permissions');
  } finally {
    await discard(port.disk, [one, two]);
  }
}

export async function ffmpeg({ findFfmpeg, isOnPath }: Patient): Promise<Diagnosis[]> {
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
