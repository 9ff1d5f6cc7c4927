import { describe, expect, it } from 'vitest';
import type { Port } from '../../src/port.ts';
import { expectFaultsFired, explore } from './explore.ts';
import { Tally, type Weather } from './faults.ts';
import { STORM, THIEVES } from './weather.ts';
import { World } from './world.ts';

const lockBusy = () => new Error('busy');
const create = (seed: number) => new World(seed, new Tally(), lockBusy);

/** Opens, writes and renames a file of its own under the lock; repeats what fails. */
const scribble = (name: string) => async (port: Port) => {
  const { disk } = port;
  for (let round = 0; round < 10; round++) {
    try {
      const lock = await port.lock('/', 1000);
      const path = `/${name}-${port.random(4)}`;
      const file = await disk.open(path, 'create');
      await disk.write(file, Buffer.from('some text'));
      await disk.fsync(file);
      await disk.close(file);
      await disk.rename(path, `/${name}`);
      await disk.link(`/${name}`, `${path}-link`);
      await disk.unlink(`${path}-link`);
      await lock.release();
    } catch {
      // The storm is the subject here, not the work.
    }
  }
};

describe('a world', () => {
  it('is the same for the same seed, and another for another', async () => {
    const trace = async (seed: number) => {
      const world = create(seed);
      await world.run(['a', 'b', 'c'].map(scribble), STORM);
      return world.trace;
    };
    expect(await trace(7)).toEqual(await trace(7));
    expect(await trace(7)).not.toEqual(await trace(8));
  });

  it.each<[string, Weather]>([
    ['a storm', STORM],
    ['thieves', THIEVES],
  ])('makes what it plans happen: %s', async (_, weather) => {
    const tally = await explore({ histories: 100, lockBusy }, (world) =>
      world.run(['a', 'b', 'c', 'd'].map(scribble), weather),
    );
    expectFaultsFired(tally, weather);
    expect(tally.takeovers).toBeGreaterThan(0);
    expect(tally.foreignReleases).toBeGreaterThan(0);
  });

  it('never lets two hold the lock in calm weather', async () => {
    let holders = 0;
    const hold = async (port: Port) => {
      for (let round = 0; round < 5; round++) {
        const lock = await port.lock('/', 60_000);
        expect(++holders).toBe(1);
        await port.sleep(1);
        holders--;
        await lock.release();
      }
    };
    await create(1).run([hold, hold, hold]);
  });

  it('ends the wait for a lock that is never given back', async () => {
    let held = false;
    let refused = false;
    const hold = async (port: Port) => {
      await port.lock('/', 1000);
      held = true;
      while (!refused) await port.sleep(1);
    };
    const wait = async (port: Port) => {
      while (!held) await port.sleep(1);
      refused = await port.lock('/', 1000).then(
        () => false,
        (error) => error.message === 'busy',
      );
    };
    await create(1).run([hold, wait]);
    expect(refused).toBe(true);
  });

  it('lets nothing of a killed process run again, and starts the next one with another identity', async () => {
    const lives: Port['self'][] = [];
    const world = create(1);
    const live = async (port: Port) => {
      lives.push(port.self);
      const life = lives.length;
      for (let round = 0; round < 100; round++) {
        await port.sleep(1);
        expect(lives.length).toBe(life);
        expect(port.liveness(port.self)).toBe('alive');
        for (const earlier of lives.slice(0, -1)) expect(port.liveness(earlier)).toBe('gone');
      }
    };
    while (lives.length < 3) {
      lives.length = 0;
      await world.run([live], { kill: 4, powerLoss: 2, span: 200 });
    }
    expect(new Set(lives.map(({ boot, pid, started }) => `${boot} ${pid} ${started}`)).size).toBe(lives.length);
  });

  it('passes on what a program throws', async () => {
    const fail = async ({ sleep }: Port) => {
      await sleep(1);
      throw new Error('broken promise');
    };
    await expect(create(1).run([fail])).rejects.toThrow('broken promise');
  });

  it('calls a history stuck that never ends, or waits for something outside', async () => {
    const spin = async (port: Port) => {
      for (;;) await port.sleep(1);
    };
    await expect(create(1).run([spin])).rejects.toThrow('stuck');
    await expect(create(1).run([() => new Promise(() => {})])).rejects.toThrow('stuck');
  });
});

it('a failed history says how to see it again', async () => {
  const failing = explore({ histories: 10, seed: 40, lockBusy }, async (world) => {
    await world.run([({ sleep }) => sleep(1)]);
    if (world.random.chance(0.5)) throw new Error('broken promise');
  });
  await expect(failing).rejects.toThrow(/broken promise\nreplay: EPISODE_SEED=4\d npx vitest run test\/simulation/);
});
