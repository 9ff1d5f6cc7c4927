import type { Random } from './random.ts';

/** What can go wrong by itself. Each is planned for a step, and strikes at the first step from there on where it can. */
export const FAULTS = [
  /** SIGKILL: the call under way took effect, in part or not; nothing of that process runs again. */
  'kill',
  'powerLoss',
  /** SIGSTOP for some steps; long enough, and the lock is taken over. */
  'pause',
  /** The lock goes to a second process while its holder lives and works. */
  'steal',
  /** The wait for a held lock ends. */
  'busy',
  /** EIO, ENOSPC or EROFS, once, before or after the effect. */
  'error',
  'shortWrite',
  'clockJump',
] as const;

export type Fault = (typeof FAULTS)[number];
export type Counts = Record<Fault, number>;

/** How many of each at most in one history, and within how many steps; what is left out stays away. */
export type Weather = Partial<Counts> & { span: number };

const none = (): Counts => Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Counts;

/** What happened, summed over histories. `planned` beside `fired`: a fault that never strikes looks like a pass. */
export class Tally {
  histories = 0;
  operations = 0;
  takeovers = 0;
  foreignReleases = 0;
  readonly planned = none();
  readonly fired = none();
}

/** Calls that are rare and decide much: half of the faults wait for one of them. */
const DECISIVE = ['create', 'fsync', 'link', 'rename', 'unlink'];

export interface PlannedFault {
  fault: Fault;
  step: number;
  /** How the call begins that some process must be at; '' for any. */
  aim: string;
}

/** The faults of one history, in the order of their steps. */
export class Plan {
  readonly #planned: PlannedFault[] = [];

  constructor(
    weather: Weather,
    random: Random,
    start: number,
    private readonly tally: Tally,
  ) {
    for (const fault of FAULTS) {
      const count = random.int((weather[fault] ?? 0) + 1);
      tally.planned[fault] += count;
      for (let i = 0; i < count; i++) {
        const aim = random.chance(0.5) ? random.pick(DECISIVE) : '';
        this.#planned.push({ fault, step: start + random.int(weather.span), aim });
      }
    }
    this.#planned.sort((a, b) => a.step - b.step);
  }

  /** Offers the first due fault that `strike` can make happen now; at most one a step. */
  strike(step: number, strike: (planned: PlannedFault) => boolean): boolean {
    for (const [index, planned] of this.#planned.entries()) {
      if (planned.step > step) return false;
      if (!strike(planned)) continue;
      this.#planned.splice(index, 1);
      this.tally.fired[planned.fault]++;
      return true;
    }
    return false;
  }
}
