import { expect } from 'vitest';
import type { Episode } from '../../src/model/episode.ts';
import { deriveStatus, viewSteps } from '../../src/model/status.ts';

/** What the far side saw. */
interface Provided {
  /** Client references, in the order in which they arrived. */
  submitted: readonly string[];
  /** Client reference -> what it was charged. */
  charged: ReadonlyMap<string, string>;
}

/** What must hold after every move, whatever it was. */
export function expectSound(record: Episode, world: Provided): void {
  // One submission for each intent.
  expect(new Set(world.submitted).size).toBe(world.submitted.length);
  const attempts = record.steps.flatMap((known) => known.attempts.map((attempt) => ({ on: known.id, attempt })));
  for (const clientRef of world.submitted)
    expect(attempts.map(({ attempt }) => attempt.client_ref)).toContain(clientRef);

  // A further attempt of a step stands only where the one before bought nothing, was given up, or a retry was asked for.
  for (const known of record.steps) {
    for (const [index, attempt] of known.attempts.entries()) {
      const before = known.attempts[index - 1];
      if (!before) continue;
      const boughtNothing = before.outcome?.outcome === 'released' || before.settlement?.form === 'not_accepted';
      expect(boughtNothing || attempt.verb !== 'generate').toBe(true);
    }
    const reasons = known.attempts.filter(({ verb, outcome }) => verb === 'retry' && outcome?.outcome !== 'released');
    const asked = reasons.filter(({ settlement }) => settlement?.form !== 'not_accepted').map(({ reason }) => reason);
    expect(new Set(asked).size).toBe(asked.length);
  }

  // What was charged is in the ledger, settled, reserved or possible, and nothing is settled that was not charged.
  for (const [clientRef, amount] of world.charged) {
    const { attempt } = attempts.find((one) => one.attempt.client_ref === clientRef)!;
    const row = record.costs.find((cost) => cost.attempt_id === attempt.attempt_id)!;
    expect([row.state === 'released', row.amount]).toEqual([false, amount]);
  }
  for (const row of record.costs.filter(({ state }) => state === 'settled')) {
    const { attempt } = attempts.find((one) => one.attempt.attempt_id === row.attempt_id)!;
    expect(world.charged.has(attempt.client_ref)).toBe(true);
  }

  // What is stored is what follows.
  expect(record.status).toBe(deriveStatus(record));
  const views = viewSteps(record);
  expect(record.steps.map(({ id, state }) => [id, state])).toEqual(views.map(({ id, state }) => [id, state]));
}
