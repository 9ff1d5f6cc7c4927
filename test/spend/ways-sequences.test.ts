import { writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { cancel } from '../../src/cancel.ts';
import { EpisodeError } from '../../src/errors.ts';
import { generate } from '../../src/generate.ts';
import type { Episode } from '../../src/model/episode.ts';
import type { Cancellation, Lookup, RemoteStatus, SubmitOutcome } from '../../src/model/protocol.ts';
import { deriveStatus } from '../../src/model/status.ts';
import type { Provider, SubmitEvents } from '../../src/providers/provider.ts';
import { reconcile, reconcileAll } from '../../src/reconcile.ts';
import { retry } from '../../src/retry.ts';
import { settle, settleByResend, settleWithOutput } from '../../src/settle.ts';
import type { SpendServices } from '../../src/spend/spend-services.ts';
import { checkLedger } from '../ledger-check.ts';
import { type Desk, fake, makeDesk, sheet } from './desk.ts';
import { step } from './rig.ts';

/**
 * The ways out in any order, alone and two at once, with a provider that counts one reference once, loses answers on both
 * sides of that, hides what it has, and cancels when it likes. The model is what it charged.
 */

const FATES = ['accept', 'accept', 'lose', 'lose unsent', 'die before', 'die after', 'refuse', 'no funds'] as const;
type Fate = (typeof FATES)[number];
const LATER = ['runs', 'done', 'failed', 'gone'] as const;
const ANSWERS = ['canceled', 'requested', 'too late'] as const;
const VERBS = [
  ...['generate', 'retry', 'reconcile', 'reconcile all', 'cancel', 'resend', 'output', 'not accepted', 'write off'],
] as const;

interface Move {
  verb: string;
  beside: string | null;
  on: 's1' | 's2';
  fates: Fate[];
  later: (typeof LATER)[number];
  cancel: (typeof ANSWERS)[number];
  hides: boolean;
}

const move: fc.Arbitrary<Move> = fc.record({
  verb: fc.oneof(fc.constantFrom(...VERBS), fc.constantFrom('generate', 'resend', 'cancel')),
  beside: fc.option(fc.constantFrom(...VERBS), { freq: 3 }),
  on: fc.constantFrom('s1', 's2'),
  fates: fc.array(fc.constantFrom(...FATES), { minLength: 3, maxLength: 3 }),
  later: fc.constantFrom(...LATER),
  cancel: fc.constantFrom(...ANSWERS, 'canceled'),
  hides: fc.boolean(),
});

/** Games that reach what this is about, however few others a slow machine plays. */
const game = (verb: string, fate: Fate): [Move[]] => [
  [{ verb, beside: null, on: 's1', fates: [fate, fate, 'accept'], later: 'done', cancel: 'canceled', hides: true }],
];
const EXAMPLES = [game('cancel', 'accept'), game('resend', 'lose'), game('output', 'lose')];

class World {
  readonly arrived: string[] = [];
  /** By client reference: what it is called here, and whether it costs. */
  readonly tasks = new Map<string, { ref: string; charged: boolean; canceled: boolean }>();
  move: Move | null = null;
  #fates: Fate[] = [];

  begin(next: Move): void {
    this.move = next;
    this.#fates = [...next.fates];
  }

  taskOf(ref: string) {
    return [...this.tasks.values()].find((task) => task.ref === ref);
  }

  provider(): Provider {
    return fake(({ client_ref }, events) => this.#submit(client_ref, events), {
      sheet: sheet({
        cancel: 'always',
        idempotent_submit: { supported: true, window_seconds: 86_400 },
        lookup: { supported: true, proves: { present: true, absent: false } },
      }),
      status: async ({ ref }) => this.#status(ref),
      lookup: async ({ client_ref }): Promise<Lookup> => {
        const task = this.move!.hides ? undefined : this.tasks.get(client_ref);
        return task ? { found: 'present', refs: [{ ref: task.ref }] } : { found: 'absent', complete: true };
      },
      cancel: async ({ ref }) => this.#cancel(ref),
    });
  }

  async #submit(clientRef: string, events: SubmitEvents): Promise<SubmitOutcome> {
    const fate = this.#fates.shift() ?? 'accept';
    if (fate === 'die before') throw new EpisodeError('PROVIDER_PROTOCOL', 'it died');
    await events.sending();
    this.arrived.push(clientRef);
    if (fate === 'lose unsent') return { outcome: 'unknown', reason: 'reset' };
    if (fate === 'refuse') return { outcome: 'released', reason: 'invalid_input' };
    if (fate === 'no funds') return { outcome: 'released', reason: 'insufficient_funds' };
    const task = this.tasks.get(clientRef) ?? { ref: `task-${this.tasks.size + 1}`, charged: true, canceled: false };
    this.tasks.set(clientRef, task);
    if (fate === 'lose') return { outcome: 'unknown', reason: 'reset' };
    if (fate === 'die after') throw new EpisodeError('PROVIDER_PROTOCOL', 'it died');
    return { outcome: 'accepted', ref: task.ref };
  }

  #status(ref: string): RemoteStatus {
    if (this.taskOf(ref)?.canceled) return { state: 'canceled', billable: 'no' };
    switch (this.move!.later) {
      case 'runs':
        return { state: 'running' };
      case 'done':
        return { state: 'done' };
      case 'failed':
        return { state: 'error', reason: 'nsfw', billable: 'yes' };
      case 'gone':
        return { state: 'not_found' };
    }
  }

  #cancel(ref: string): Cancellation {
    const task = this.taskOf(ref)!;
    if (this.move!.cancel === 'requested') return { state: 'requested', definite: false };
    if (this.move!.cancel === 'too late' && !task.canceled) return { state: 'done', definite: true };
    task.canceled = true;
    task.charged = false;
    return { state: 'canceled', definite: true, ...(this.move!.hides ? {} : { billable: 'no' }) };
  }
}

const paid = { maxCost: null, waitMs: 0 };
const said = { by: 'mika', evidence: 'looked' };

let desk: Desk;
let own: { name: string; path: string; copyTo(path: string): Promise<void> };
beforeAll(async () => {
  desk = await makeDesk();
  const path = join(desk.root, 'own.txt');
  writeFileSync(path, 'mine');
  own = { name: 'own.txt', path, copyTo: (copy) => copyFile(path, copy) };
});

async function act(services: SpendServices, id: string, world: World, verb: string, on: string): Promise<unknown> {
  switch (verb) {
    case 'generate':
      return generate(services, id, { ...paid, step: null });
    case 'retry':
      return retry(services, id, { ...paid, step: on, reason: 'again' });
    case 'reconcile':
      return reconcile(services, id, { step: null });
    case 'reconcile all':
      return reconcileAll(services);
    case 'cancel':
      return cancel(services, id, on);
    case 'resend':
      return settleByResend(services, id, on, said);
    case 'write off':
      return settle(services, id, on, { form: 'write_off', ...said });
    default: {
      // A person who looks before speaking.
      const { attempts } = (await desk.read(id)).steps.find((known) => known.id === on) ?? { attempts: [] };
      const task = world.tasks.get(attempts.at(-1)?.client_ref ?? '');
      if (verb === 'output')
        return task && settleWithOutput(services, id, on, { ...said, ref: task.ref, output: [own] });
      const isKnown = attempts.some(({ client_ref }) => world.tasks.has(client_ref));
      return isKnown ? undefined : settle(services, id, on, { form: 'not_accepted', ...said });
    }
  }
}

function expectSound(record: Episode, world: World): void {
  const attempts = record.steps.flatMap((known) => known.attempts);
  // Nothing arrives that no claim is of, and again only what was sent again on purpose, under the same reference.
  for (const ref of new Set(world.arrived)) {
    const attempt = attempts.find(({ client_ref }) => client_ref === ref)!;
    const times = world.arrived.filter((one) => one === ref).length;
    expect(times).toBeLessThanOrEqual(1 + (attempt.resends?.length ?? 0));
  }
  for (const [clientRef, { ref, charged }] of world.tasks) {
    const attempt = attempts.find(({ client_ref }) => client_ref === clientRef)!;
    if (attempt.ref !== null) expect(attempt.ref).toBe(ref);
    const row = record.costs.find(({ attempt_id }) => attempt_id === attempt.attempt_id)!;
    // What costs is on record as that, or as possible.
    if (charged) expect(row.state).not.toBe('released');
  }
  for (const row of record.costs.filter(({ state }) => state === 'settled')) {
    const attempt = attempts.find(({ attempt_id }) => attempt_id === row.attempt_id)!;
    expect(world.tasks.has(attempt.client_ref)).toBe(true);
  }
  expect(record.status).toBe(deriveStatus(record));
}

test('the ways out, in any order and at once, never make one intent cost twice, and forget no charge', async () => {
  // A slow machine plays fewer games, and each to its end.
  const deadline = Date.now() + 15_000;
  let played = 0;
  const seen = { resent: 0, canceled: 0, brought: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 4, maxLength: 12 }), async (moves) => {
      if (played >= EXAMPLES.length && Date.now() > deadline) return;
      played += 1;
      const id = await desk.allocate([step('s1'), step('s2', { params: { text: 'two' } })]);
      const world = new World();
      const services = desk.services(world.provider());
      // Something runs, or nobody knows whether it does.
      const sent: Move = { ...moves[0]!, verb: 'generate', beside: null, later: 'runs' };
      for (const one of [sent, ...moves]) {
        world.begin(one);
        // What a person says of what is there is said of nothing that is sent meanwhile.
        const isAlone = one.beside === null || [one.verb, one.beside].includes('not accepted');
        const verbs = isAlone ? [one.verb] : [one.verb, one.beside!];
        for (const result of await Promise.allSettled(verbs.map((verb) => act(services, id, world, verb, one.on)))) {
          // What a verb refuses is its answer; a bug is none.
          if (result.status === 'rejected' && !(result.reason instanceof EpisodeError)) throw result.reason;
        }
        expectSound(await desk.read(id), world);
      }
      const attempts = (await desk.read(id)).steps.flatMap((known) => known.attempts);
      seen.resent += attempts.filter(({ resends }) => resends).length;
      seen.canceled += attempts.filter(({ remote }) => remote?.state === 'canceled').length;
      seen.brought += attempts.filter(({ settlement }) => settlement?.files).length;
      // Closed to `reconcile all` of the games to come.
      for (const on of ['s1', 's2']) await settle(services, id, on, { form: 'write_off', ...said }).catch(refusalsOnly);
    }),
    { numRuns: 300, examples: EXAMPLES },
  );
  expect(Object.entries(seen).filter(([, count]) => count === 0)).toEqual([]);
  expect(checkLedger(desk.root)).toEqual([]);
});

function refusalsOnly(error: unknown): void {
  if (!(error instanceof EpisodeError)) throw error;
}
