import { describe, expect, it } from 'vitest';
import type { Port } from '../../src/port.ts';
import { expectFaultsFired, explore, HistoryFailed } from './explore.ts';
import type { Weather } from './faults.ts';
import { BUGS, type Bug, ToyLedger, TryAgain } from './toy.ts';
import type { World } from './world.ts';

const ROOT = '/toy';
const KEYS = ['k0', 'k1', 'k2'];

/** Everything at once, and what each kind of bug needs most: many pauses and thefts, or many crashes. */
export const STORM: Weather = {
  span: 400,
  kill: 4,
  powerLoss: 2,
  pause: 3,
  steal: 3,
  busy: 1,
  error: 2,
  shortWrite: 1,
  clockJump: 1,
};
export const THIEVES: Weather = { span: 300, kill: 6, pause: 12, steal: 8 };

/** Processes that all want the same keys, in an order of their own; then a power loss; then a look at what is left. */
export function history(weather: Weather, bug?: Bug) {
  return async (world: World): Promise<void> => {
    const acknowledged = new Map<string, number>();
    const kept = world.random.pick([2, 3, 64]);
    const open = (port: Port) => new ToyLedger(port, ROOT, kept, bug);

    async function allocate(port: Port, key: string): Promise<void> {
      const number = await open(port)
        .allocate(key)
        .catch((error) => {
          if (error instanceof TryAgain) return allocate(port, key);
          throw error;
        });
      if (number === undefined) return;
      const before = acknowledged.get(key);
      if (before !== undefined && before !== number) throw new Error(`${key} is ${before} and ${number}`);
      acknowledged.set(key, number);
      if (new Set(acknowledged.values()).size < acknowledged.size) throw new Error(`${number} is not only ${key}`);
    }
    const wantsAll = (offset: number) => async (port: Port) => {
      for (let i = 0; i < KEYS.length; i++) await allocate(port, KEYS[(i + offset) % KEYS.length]!);
    };

    await world.run([(port) => open(port).init()]);
    await world.run([0, 1, 2, 3].slice(0, 1 + world.random.int(4)).map(wantsAll), weather);
    world.losePower();
    await world.run([wantsAll(0)]);
    expect([...acknowledged.values()].sort()).toEqual(KEYS.map((_, i) => i));
  };
}

const lockBusy = () => new TryAgain('busy');

describe('the whole protocol', () => {
  it.each([
    ['a storm', STORM],
    ['thieves', THIEVES],
  ])('survives %s', async (_, weather) => {
    const tally = await explore({ histories: 1000, lockBusy }, history(weather));
    expectFaultsFired(tally, weather);
  });
});

describe('the simulator finds that', () => {
  it.each(BUGS)('%s', async (bug) => {
    const found = await explore({ histories: 3000, lockBusy }, async (world) => {
      const weather = world.random.chance(0.5) ? STORM : THIEVES;
      await history(weather, bug)(world);
    }).catch((error) => error);
    if (process.env.SHOW) console.log(String(found));
    expect(found).toBeInstanceOf(HistoryFailed);
  });
});
