import { expect } from 'vitest';
import { FAULTS, Tally, type Weather } from './faults.ts';
import { World } from './world.ts';

export interface Exploration {
  histories: number;
  /** Of the first history; the others follow. `EPISODE_SEED` replays one alone. */
  seed?: number;
  lockBusy: (stateDirectory: string) => Error;
}

const TRACED_LINES = 60;

/** A broken promise, with all that is needed to see it again. */
export class HistoryFailed extends Error {
  constructor(
    readonly seed: number,
    { trace }: World,
    override readonly cause: unknown,
  ) {
    const test = expect.getState().currentTestName?.replaceAll(' > ', ' ');
    const replay = `replay: EPISODE_SEED=${seed} npx vitest run test/simulation -t '${test}'`;
    super([String(cause), replay, ...trace.slice(-TRACED_LINES)].join('\n'));
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
      throw new HistoryFailed(first + i, world, error);
    }
    tally.histories++;
  }
  return tally;
}

/** Each kind of fault in the weather struck, and not only by exception: a fault that never fires looks like a pass. */
export function expectFaultsFired({ planned, fired, histories }: Tally, weather: Weather): void {
  if (histories < 100) return; // too few to say: a replay
  for (const fault of FAULTS.filter((each) => weather[each])) {
    expect(fired[fault] / planned[fault], `share of planned ${fault} that fired`).toBeGreaterThan(0.2);
  }
}
