import { expect } from 'vitest';
import { FAULTS, Tally, type Weather } from './faults.ts';
import { World } from './world.ts';

export interface Exploration {
  histories: number;
  /** Of the first history; the others follow. `EPISODE_SEED` replays one alone. */
  seed?: number;
  lockBusy: (stateDirectory: string) => Error;
}

/** A broken promise, with all that is needed to see it again. */
export class HistoryFailed extends Error {
  constructor(
    readonly seed: number,
    readonly history: number,
    { trace }: World,
    cause: unknown,
  ) {
    const again = `EPISODE_SEED=${seed} npx vitest run test/simulation -t '${expect.getState().currentTestName ?? ''}'`;
    super([`history ${history}: ${String(cause)}`, `replay: ${again}`, ...trace.slice(-Number(process.env.LINES ?? 60))].join('\n'), { cause });
    this.name = 'HistoryFailed';
  }
}

/** Lives through many histories, each with its own seed and world, until one fails. */
export async function explore(
  { histories, seed = 1, lockBusy }: Exploration,
  live: (world: World) => Promise<void>,
): Promise<Tally> {
  const replayed = process.env.EPISODE_SEED;
  const first = replayed === undefined ? seed : Number(replayed);
  const count = replayed === undefined ? histories : 1;
  const tally = new Tally();
  for (let i = 0; i < count; i++) {
    const world = new World(first + i, tally, lockBusy);
    try {
      await live(world);
    } catch (error) {
      throw new HistoryFailed(first + i, i + 1, world, error);
    }
    tally.histories++;
  }
  return tally;
}

/** Every kind of fault that the weather has did strike, most of the planned ones did: else a pass means nothing. */
export function expectFaultsFired({ planned, fired, histories }: Tally, weather: Weather): void {
  if (histories < 100) return; // a replay, or a look at a few
  for (const fault of FAULTS) {
    if (weather[fault])
      expect(fired[fault] / planned[fault], `share of planned ${fault} that fired`).toBeGreaterThan(0.2);
  }
}
