import type { SubmitOutcome } from '../../model/protocol.ts';

/** One promise of `episode-provider/1`, and whether a provider was seen to keep it. */
export interface Promised {
  /** `group/name`, for scripts. */
  id: string;
  says: string;
  /** `null`: it cannot be seen from here, or there was no occasion. */
  holds: boolean | null;
  /** What was seen, in a few words. */
  seen: string;
}

/** A promise that many trials are about: it holds when no trial broke it, and nothing is known without a trial. */
export class Tally {
  private trials = 0;
  private readonly faults: string[] = [];
  private readonly id: string;
  private readonly says: string;

  constructor(id: string, says: string) {
    this.id = id;
    this.says = says;
  }

  /** `fault`: how the trial broke it, `null` when it did not. */
  add(trial: string, fault: string | null): void {
    this.trials += 1;
    if (fault !== null) this.faults.push(`${trial}: ${fault}`);
  }

  /** `none`: what is said when there was no trial. */
  promised(none = 'there was no occasion'): Promised {
    const { id, says, trials, faults } = this;
    if (trials === 0) return { id, says, holds: null, seen: none };
    if (faults.length === 0) return { id, says, holds: true, seen: `${trials} ${trials === 1 ? 'trial' : 'trials'}` };
    const more = faults.length > SHOWN ? `, and ${faults.length - SHOWN} more` : '';
    return { id, says, holds: false, seen: `${faults.slice(0, SHOWN).join('; ')}${more}` };
  }
}

const SHOWN = 5;

/** An outcome in a few words. */
export const wordsOf = (outcome: SubmitOutcome): string =>
  'reason' in outcome ? `${outcome.outcome} (${outcome.reason})` : outcome.outcome;

/** Resolves with `late` when the promise takes longer than that: a provider that never answers must not stop its judge. */
export async function within<T, L>(ms: number, promise: Promise<T>, late: L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const alarm = new Promise<L>((resolve) => {
    timer = setTimeout(() => resolve(late), ms);
  });
  try {
    return await Promise.race([promise, alarm]);
  } finally {
    clearTimeout(timer);
  }
}
