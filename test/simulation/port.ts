import type { Disk, Port } from '../../src/port.ts';
import type { SimulatedDisk } from './disk.ts';
import type { Errno } from './errno.ts';
import type { SimulatedLock } from './lock.ts';
import type { Call, Process, Twist } from './process.ts';
import type { Random } from './random.ts';

/** What a process finds around it. */
export interface Surroundings {
  readonly disk: SimulatedDisk;
  readonly random: Random;
  readonly step: number;
  lockOf(stateDirectory: string): SimulatedLock;
  lockBusy(stateDirectory: string): Error;
  now(): number;
  elapse(ms: number): void;
  liveness: Port['liveness'];
}

type Schedule = <T>(
  text: string,
  errors: readonly Errno[],
  perform: (twist?: Twist) => T,
  more?: Pick<Call, 'onError' | 'isReady' | 'canBeShort'>,
) => Promise<T>;

/** The port of one process: each call waits in `process.calls` until the scheduler picks it. */
export function createPort(process: Process, world: Surroundings): Port {
  const schedule: Schedule = (text, errors, perform, more) =>
    new Promise((resolve, reject) => {
      process.calls.push({ text, errors, perform, ...more, resolve, reject });
    });

  return {
    disk: createDisk(world, schedule),
    async lock(stateDirectory, waitMs) {
      const lock = world.lockOf(stateDirectory);
      const deadline = world.now() + waitMs;
      const isFree = () => lock.canBeTaken(world.step);
      const take = (twist?: Twist) => {
        if (twist !== 'steal' && !isFree()) throw world.lockBusy(stateDirectory);
        return lock.take(process);
      };
      const isReady = () => isFree() || world.now() >= deadline;
      const { lost, giveBack } = await schedule('lock', [], take, { isReady });
      return { lost, release: () => schedule('unlock', [], giveBack) };
    },
    now: () => world.now(),
    random: (bytes) => world.random.hex(bytes),
    sleep: (ms, signal) => schedule('sleep', [], () => world.elapse(signal?.aborted ? 0 : ms)),
    self: process.identity,
    liveness: (other) => world.liveness(other),
    user: 'mika',
  };
}

const READING: readonly Errno[] = ['EIO'];
const WRITING: readonly Errno[] = ['EIO', 'ENOSPC', 'EROFS'];

function createDisk({ disk, random }: Surroundings, schedule: Schedule): Disk {
  return {
    readFile: (path) => schedule(`readFile ${path}`, READING, () => disk.readFile(path)),
    async readdir(path) {
      const first = await schedule(`readdir ${path}`, READING, () => disk.readdir(path));
      if (random.chance(0.7)) return first;
      // POSIX: what is added or removed while a directory is read is listed or not; the rest is.
      const rest = await schedule(`readdir again ${path}`, READING, () => (disk.lstat(path) ? disk.readdir(path) : []));
      return [...new Set([...first, ...rest])].filter(
        (name) => (first.includes(name) && rest.includes(name)) || random.chance(0.5),
      );
    },
    lstat: (path) => schedule(`lstat ${path}`, READING, () => disk.lstat(path)),
    open: (path, how) => schedule(`${how} ${path}`, how === 'create' ? WRITING : READING, () => disk.open(path, how)),
    write: (file, bytes) =>
      schedule(
        `write ${file}`,
        WRITING,
        (twist) => disk.write(file, twist ? bytes.subarray(0, bytes.length >> 1) : bytes),
        { canBeShort: true },
      ),
    async fsync(...files) {
      const syncs = files.map((file) =>
        schedule(`fsync ${file}`, READING, () => disk.fsync(file), { onError: () => disk.failFsync(file) }),
      );
      await Promise.allSettled(syncs);
      await Promise.all(syncs);
    },
    close: (file) => schedule(`close ${file}`, READING, () => disk.close(file)),
    rename: (from, to) => schedule(`rename ${from} ${to}`, WRITING, () => disk.rename(from, to)),
    link: (from, to) => schedule(`link ${from} ${to}`, WRITING, () => disk.link(from, to)),
    unlink: (path) => schedule(`unlink ${path}`, WRITING, () => disk.unlink(path)),
    mkdir: (path) => schedule(`mkdir ${path}`, WRITING, () => disk.mkdir(path)),
    rmdir: (path) => schedule(`rmdir ${path}`, WRITING, () => disk.rmdir(path)),
  };
}
