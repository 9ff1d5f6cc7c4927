import type { Tally } from './faults.ts';
import type { Random } from './random.ts';

/** Who may hold a lock; `stoppedAt` is the step since which it refreshes nothing: killed, or paused. */
export interface Holder {
  readonly stoppedAt: number | undefined;
}

/** Steps after which a lock that nobody refreshes may be taken over. */
const STALE_STEPS = 30;

/**
 * One lock file with the measured faults of proper-lockfile: a stopped holder is robbed and does not know, two
 * may hold it at once, and giving it back may remove the lock of somebody else.
 */
export class SimulatedLock {
  #holder: { process: Holder; lost: AbortController } | undefined;

  constructor(
    private readonly random: Random,
    private readonly tally: Tally,
  ) {}

  isHeld(): boolean {
    return this.#holder !== undefined;
  }

  canBeTaken(step: number): boolean {
    const stoppedAt = this.#holder?.process.stoppedAt;
    return !this.#holder || (stoppedAt !== undefined && step - stoppedAt >= STALE_STEPS);
  }

  /** Takes it whoever has it; one that is robbed learns of it in half of the cases. */
  take(process: Holder): { lost: AbortSignal; giveBack(): void } {
    if (this.#holder) {
      this.tally.takeovers++;
      if (this.random.chance(0.5)) this.#holder.lost.abort();
    }
    const mine = { process, lost: new AbortController() };
    this.#holder = mine;
    return {
      lost: mine.lost.signal,
      giveBack: () => {
        if (this.#holder && this.#holder !== mine) {
          if (this.random.chance(0.5)) return;
          this.tally.foreignReleases++;
        }
        this.#holder = undefined;
      },
    };
  }

  /** The lock directory was never fsynced: after a power loss it is there or not. */
  losePower(): void {
    if (this.random.chance(0.5)) this.#holder = undefined;
  }
}
