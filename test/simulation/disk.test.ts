import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createNodeDisk } from '../../src/store/file/node-disk.ts';
import { SimulatedDisk } from './disk.ts';
import { describeDisk } from './disk-suite.ts';
import type { Order } from './inode.ts';
import { Random } from './random.ts';

const temporary = mkdtempSync(join(tmpdir(), 'episode-disk-'));
afterAll(() => rmSync(temporary, { recursive: true }));

describeDisk('the disk of Node', () => ({ disk: createNodeDisk(), root: mkdtempSync(join(temporary, 'root-')) }));

describeDisk('the simulated disk', () => {
  const disk = new SimulatedDisk(new Random(1));
  disk.mkdir('/root');
  return { disk, root: '/root' };
});

/** Everything on a disk, e.g. `d/ d/a=text`. */
function contents(disk: SimulatedDisk, directory = ''): string {
  const parts = disk.readdir(directory || '/').sort();
  return parts
    .map((name) => {
      const path = `${directory}/${name}`;
      const isFile = disk.lstat(path)!.type === 'file';
      const text = isFile ? `=${disk.readFile(path).toString().replaceAll('\0', '0')}` : `/ ${contents(disk, path)}`;
      return `${path.slice(1)}${text}`.trim();
    })
    .join(' ');
}

/** All disks that 300 power losses after the same work leave. */
function aftermaths(order: Order, work: (disk: SimulatedDisk) => void): Set<string> {
  const found = new Set<string>();
  for (let seed = 1; seed <= 300; seed++) {
    const disk = new SimulatedDisk(new Random(seed), order);
    work(disk);
    disk.losePower();
    found.add(contents(disk));
  }
  return found;
}

function put(disk: SimulatedDisk, path: string, text: string): void {
  const file = disk.open(path, 'create');
  disk.write(file, Buffer.from(text));
  disk.fsync(file);
  disk.close(file);
}

function sync(disk: SimulatedDisk, path: string): void {
  const file = disk.open(path, 'read');
  disk.fsync(file);
  disk.close(file);
}

describe.each<Order>(['ordered', 'reordered'])('a power loss on a disk that keeps changes %s', (order) => {
  it('leaves what was fsynced, file and name', () => {
    const found = aftermaths(order, (disk) => {
      put(disk, '/a', 'text');
      sync(disk, '/');
    });
    expect(found).toEqual(new Set(['a=text']));
  });

  it('may take a name that was not fsynced, though the file was', () => {
    const found = aftermaths(order, (disk) => put(disk, '/a', 'text'));
    expect(found).toEqual(new Set(['', 'a=text']));
  });

  it('may leave a file that was not fsynced empty, cut, full of NUL, or whole', () => {
    const found = aftermaths(order, (disk) => {
      disk.write(disk.open('/a', 'create'), Buffer.from('xyz'));
      sync(disk, '/');
    });
    expect(found).toEqual(new Set(['a=', 'a=x', 'a=xy', 'a=000', 'a=x00', 'a=xy0', 'a=xyz']));
  });

  it('never takes the fsynced beginning of a file', () => {
    const found = aftermaths(order, (disk) => {
      const file = disk.open('/a', 'create');
      disk.write(file, Buffer.from('safe'));
      disk.fsync(file);
      disk.write(file, Buffer.from('x'));
      sync(disk, '/');
    });
    expect(found).toEqual(new Set(['a=safe', 'a=safe0', 'a=safex']));
  });

  it('may take what a failed fsync left unsaved, whatever a later fsync says', () => {
    const found = aftermaths(order, (disk) => {
      const file = disk.open('/a', 'create');
      disk.write(file, Buffer.from('x'));
      disk.failFsync(file);
      disk.fsync(file);
      sync(disk, '/');
    });
    expect(found).toContain('a=');
  });

  it('may take a new directory whose parent was not fsynced, with all that is in it', () => {
    const found = aftermaths(order, (disk) => {
      disk.mkdir('/d');
      put(disk, '/d/a', 'text');
      sync(disk, '/d');
    });
    expect(found).toEqual(new Set(['', 'd/ d/a=text']));
  });

  it('replaces by rename wholly or not at all', () => {
    const found = aftermaths(order, (disk) => {
      put(disk, '/a', 'old');
      put(disk, '/b', 'new');
      sync(disk, '/');
      disk.rename('/b', '/a');
    });
    expect(found).toEqual(new Set(['a=old b=new', 'a=new']));
  });

  it('never loses a file that is renamed to another directory, whatever happens next to either', () => {
    const start = (disk: SimulatedDisk) => {
      for (const name of ['/from', '/to']) disk.mkdir(name);
      put(disk, '/from/a', 'x');
      for (const name of ['/', '/from']) sync(disk, name);
      disk.rename('/from/a', '/to/b');
    };
    expect(aftermaths(order, start)).toEqual(
      new Set(['from/ from/a=x to/', 'from/ from/a=x to/ to/b=x', 'from/ to/ to/b=x']),
    );
    const emptied = (disk: SimulatedDisk) => {
      start(disk);
      disk.rmdir('/from');
      sync(disk, '/');
    };
    expect(aftermaths(order, emptied)).toEqual(new Set(['to/ to/b=x']));
    const oneSide = (disk: SimulatedDisk) => {
      start(disk);
      sync(disk, '/from');
    };
    expect(aftermaths(order, oneSide)).toEqual(new Set(['from/ to/ to/b=x']));
  });

  it('ends every handle, and what it left stays', () => {
    const disk = new SimulatedDisk(new Random(1), order);
    const file = disk.open('/a', 'create');
    disk.losePower();
    expect(() => disk.fsync(file)).toThrow('EBADF');
    const left = contents(disk);
    disk.losePower();
    expect(contents(disk)).toBe(left);
  });
});

const threeSteps = (disk: SimulatedDisk) => {
  for (const name of ['/a', '/b', '/c']) disk.mkdir(name);
};

it('a journal keeps the oldest changes of a directory', () => {
  expect(aftermaths('ordered', threeSteps)).toEqual(new Set(['', 'a/', 'a/ b/', 'a/ b/ c/']));
});

it('without a journal any changes of a directory survive', () => {
  expect(aftermaths('reordered', threeSteps).size).toBe(8);
});
