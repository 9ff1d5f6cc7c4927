import { expect } from 'vitest';
import type { AllocateRequest } from '../../src/allocate.ts';
import type { Port } from '../../src/port.ts';
import type { LedgerBuild } from './build.ts';
import type { Weather } from './faults.ts';
import { filesBelow } from './walk.ts';
import type { World } from './world.ts';

export const ROOT = '/show';
const WEEKS = ['2026-W32', '2026-W33'];
/** Exit codes that say: the same command later is safe. 73 and 74 are meant for a person; here the disk has mended itself. */
const AGAIN = [73, 74, 75];

const LEDGER = {
  format: 1 as const,
  ledger_id: 'simulated',
  show: 'weekly-brief',
  created_at: '2026-08-07T00:00:00Z',
  weeks: [],
};

export function requestFor(key: string, week: string): AllocateRequest {
  return {
    source: 'typed',
    key,
    week,
    currentWeek: () => week,
    byClock: false,
    schedule: null,
    slot: null,
    timeZone: 'Asia/Tokyo',
    plan: null,
    schedulePlan: null,
    issuedAt: null,
    keyIsStable: null,
    refuseNew: () => null,
  };
}

interface Refusal extends Error {
  code: string;
  exit: number;
}
const isRefusal = (error: unknown): error is Refusal => error instanceof Error && 'exit' in error;

/** Repeats a command as its user would, until it answers. Damage and bugs are thrown on. */
async function insist<T>(command: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await command();
    } catch (error) {
      if (!isRefusal(error) || !AGAIN.includes(error.exit) || error.code === 'ALREADY_INITIALISED') throw error;
    }
  }
}

/** Makes the show if nobody has yet. */
export async function initialise(ledger: LedgerBuild, port: Port): Promise<void> {
  try {
    await insist(() => ledger.initialiseFileStore(port, ROOT, LEDGER));
  } catch (error) {
    if (!isRefusal(error) || error.code !== 'ALREADY_INITIALISED') throw error;
  }
}

/**
 * Up to four processes make one show and want the same few keys, each in its own order, through `weather`.
 * Afterwards, with no faults left: what was acknowledged is there, every key has one episode and every episode one key,
 * sequences have no gap, every record parses, and asking again changes no byte.
 */
export async function liveThrough(world: World, ledger: LedgerBuild, weather: Weather): Promise<void> {
  const keys = Array.from({ length: 1 + world.random.int(6) }, (_, i) => ({ key: `key-${i}`, week: WEEKS[i % 2]! }));
  const acknowledged = new Map<string, string>();

  function acknowledge(key: string, episodeId: string): void {
    const before = acknowledged.get(key);
    if (before !== undefined && before !== episodeId) throw new Error(`${key} got ${before}, then ${episodeId}`);
    acknowledged.set(key, episodeId);
    if (new Set(acknowledged.values()).size < acknowledged.size) throw new Error(`${episodeId} was given to two keys`);
  }

  const work = (offset: number) => async (port: Port) => {
    await initialise(ledger, port);
    for (let i = 0; i < keys.length; i++) {
      const { key, week } = keys[(i + offset) % keys.length]!;
      const services = { store: ledger.createFileStore(port, ROOT), port, root: ROOT };
      const known = acknowledged.has(key);
      const { episode_id, verdict } = await insist(() => ledger.allocate(services, requestFor(key, week)));
      if (known && verdict !== 'replay') throw new Error(`${key} was answered before and is called new`);
      acknowledge(key, episode_id);
    }
  };

  world.disk.mkdir(ROOT);
  world.disk.fsync(world.disk.open('/', 'read'));
  await world.run([0, 1, 2, 3].slice(world.random.int(4)).map(work), weather);
  world.losePower();
  await world.run([work(0)]);
  const sequences = (week: string) => keys.filter((each) => each.week === week).map((_, i) => `${week}-${i}`);
  expect([...acknowledged.values()].sort()).toEqual(WEEKS.flatMap(sequences));

  const files = filesBelow(world.disk, ROOT);
  for (const [path, text] of files) if (!path.includes('/staging/')) JSON.parse(text);
  await world.run([work(1)]);
  if (String(filesBelow(world.disk, ROOT)) !== String(files)) throw new Error('asking again changed a file');
}
