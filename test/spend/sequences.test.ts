import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { approve } from '../../src/approve.ts';
import { EpisodeError } from '../../src/errors.ts';
import { generate } from '../../src/generate.ts';
import type { Episode } from '../../src/model/episode.ts';
import { add } from '../../src/model/money.ts';
import type { Plan } from '../../src/model/plan.ts';
import type { RemoteStatus, SubmitOutcome } from '../../src/model/protocol.ts';
import { isHeld, viewSteps } from '../../src/model/status.ts';
import { mergePlan } from '../../src/plan.ts';
import type { Provider, SubmitEvents } from '../../src/providers/provider.ts';
import { reassemble } from '../../src/reassemble.ts';
import { reconcile } from '../../src/reconcile.ts';
import { reject } from '../../src/reject.ts';
import { retry } from '../../src/retry.ts';
import { settle } from '../../src/settle.ts';
import type { SpendServices } from '../../src/spend/spend-services.ts';
import { checkLedger } from '../ledger-check.ts';
import { type Desk, fake, filesIn, makeDesk, sheet } from './desk.ts';
import { step } from './rig.ts';
import { expectSound } from './sound.ts';

/**
 * Any sequence of verbs, alone or two at once, against a provider that does whatever it likes. The model is small: what
 * arrived at the provider, what it charged, and what people allowed.
 */

/** What the provider does with one submission. `dies`: the call throws instead of answering. */
const FATES = [
  'accept',
  'complete',
  'throttle',
  'no funds',
  'refuse',
  'lose',
  'die before',
  'die after',
  'fail there',
  'vanish there',
] as const;
type Fate = (typeof FATES)[number];

const STEPS = ['s1', 's2', 'film'] as const;
const VERBS = [
  'generate',
  'approve',
  'reject',
  'retry',
  'reassemble',
  'reconcile',
  'settle accepted',
  'settle not accepted',
  'write off',
  'plan',
] as const;
interface Move {
  verb: (typeof VERBS)[number];
  step: (typeof STEPS)[number];
  /** One of a few, so that they come again. */
  reason: string;
  fates: Fate[];
  /** Another command at the same moment. */
  beside: (typeof VERBS)[number] | null;
}

const move: fc.Arbitrary<Move> = fc.record({
  // What spends comes up more often.
  verb: fc.oneof(fc.constantFrom(...VERBS), fc.constantFrom<Move['verb']>('generate', 'retry')),
  step: fc.constantFrom(...STEPS),
  reason: fc.constantFrom('a', 'b'),
  fates: fc.array(fc.constantFrom(...FATES), { minLength: 3, maxLength: 3 }),
  beside: fc.option(fc.constantFrom(...VERBS), { freq: 4 }),
});

/** The far side: what it was asked, what it took money for. */
class World {
  readonly submitted: string[] = [];
  readonly charged = new Map<string, string>();
  readonly tasks = new Map<string, { clientRef: string; fate: Fate }>();
  /** Person's consent to one more submission of a step, as the ledger must have it recorded. */
  #fates: Fate[] = [];
  allow(fates: Fate[]): void {
    this.#fates = [...fates];
  }

  provider(): Provider {
    const submit = (clientRef: string, events: SubmitEvents) => this.#submit(clientRef, events);
    return fake(({ client_ref }, events) => submit(client_ref, events), {
      sheet: sheet({ lookup: { supported: true, proves: { present: true, absent: true }, settle_seconds: 0 } }),
      status: async ({ ref }): Promise<RemoteStatus> => {
        const fate = this.tasks.get(ref)?.fate;
        if (fate === 'vanish there') return { state: 'not_found' };
        return fate === 'fail there' ? { state: 'error', reason: 'nsfw', billable: 'yes' } : { state: 'done' };
      },
      lookup: async ({ client_ref }) => {
        const found = [...this.tasks].filter(([, task]) => task.clientRef === client_ref).map(([ref]) => ({ ref }));
        return found.length > 0 ? { found: 'present', refs: found } : { found: 'absent', complete: true };
      },
    });
  }

  async #submit(clientRef: string, events: SubmitEvents): Promise<SubmitOutcome> {
    const fate = this.#fates.shift() ?? 'accept';
    if (fate === 'die before') throw new EpisodeError('PROVIDER_PROTOCOL', 'it died');
    await events.sending();
    this.submitted.push(clientRef);
    if (fate === 'throttle') return { outcome: 'released', reason: 'throttled' };
    if (fate === 'no funds') return { outcome: 'released', reason: 'insufficient_funds' };
    if (fate === 'refuse') return { outcome: 'released', reason: 'invalid_input' };
    if (fate === 'lose') return { outcome: 'unknown', reason: 'reset' };
    this.charged.set(clientRef, '0.40');
    const ref = `task-${this.tasks.size + 1}`;
    this.tasks.set(ref, { clientRef, fate });
    if (fate === 'die after') throw new EpisodeError('PROVIDER_PROTOCOL', 'it died');
    return { outcome: 'accepted', ref };
  }
}

const clip = (text: string) => step('s1', { review: true, params: { text } });
const planOf = (text: string): Plan => ({
  format: 1,
  steps: [
    clip(text),
    step('s2', { needs: ['s1'] }),
    step('film', { provider: 'assembly', kind: 'video', needs: ['s1', 's2'] }),
  ],
});

const paid = { maxCost: null, waitMs: 0 };
const said = { by: 'mika', evidence: 'looked' };

function act(services: SpendServices, id: string, world: World, { verb, step: on, reason }: Move): Promise<unknown> {
  switch (verb) {
    case 'generate':
      return generate(services, id, { ...paid, step: null });
    case 'approve':
      return approve(services, id, { ...paid, steps: [], sha256: null, by: 'mika' });
    case 'reject':
      return reject(services, id, { step: on, reason, by: 'mika', dryRun: false });
    case 'retry':
      return retry(services, id, { ...paid, step: on, reason });
    case 'reassemble':
      return reassemble(services, id, paid);
    case 'reconcile':
      return reconcile(services, id, { step: null });
    case 'settle accepted':
      return settleHonestly(services, id, on, world);
    case 'settle not accepted':
      return settleHonestly(services, id, on, world);
    case 'write off':
      return settle(services, id, on, { form: 'write_off', ...said });
    case 'plan':
      return mergePlan(services, id, planOf(reason), { dryRun: false });
  }
}

/** A person who looks before speaking: the form follows from what the provider really has. */
async function settleHonestly(services: SpendServices, id: string, on: string, world: World): Promise<unknown> {
  const record = (await services.store.view(async (view) => view.get({ kind: 'episode', id }))) as Episode;
  const last = record.steps.find((known) => known.id === on)?.attempts.at(-1);
  const ref = [...world.tasks].find(([, task]) => task.clientRef === last?.client_ref)?.[0];
  return ref === undefined
    ? settle(services, id, on, { form: 'not_accepted', ...said })
    : settle(services, id, on, { form: 'accepted', ref, ...said });
}

let desk: Desk;
beforeAll(async () => {
  desk = await makeDesk();
});

test('whatever people and providers do, in any order and at once, each intent is sent once and each charge is on record', async () => {
  // A slow machine plays fewer games, and each to its end.
  const deadline = Date.now() + 20_000;
  let submissions = 0;
  let retries = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 4, maxLength: 14 }), async (moves) => {
      if (Date.now() > deadline) return;
      const id = await desk.allocate(planOf('a').steps);
      const world = new World();
      const assembly = fake(async ({ output_dir }) => ({ outcome: 'completed', files: await filesIn(output_dir) }), {
        sheet: sheet({ submit: 'sync', pure: true }),
      });
      const provider = world.provider();
      const services = desk.services(
        provider,
        {},
        { provider: async (name) => (name === 'assembly' ? assembly : provider) },
      );
      for (const one of moves) {
        world.allow(one.fates);
        const calls = [act(services, id, world, one)];
        if (one.beside)
          calls.push(
            act(desk.services(provider, {}, { provider: services.provider }), id, world, { ...one, verb: one.beside }),
          );
        // What a verb refuses is its answer; a bug is none.
        for (const result of await Promise.allSettled(calls)) {
          if (result.status === 'rejected' && !(result.reason instanceof EpisodeError)) throw result.reason;
        }
        expectSound(await desk.read(id), world);
      }
      submissions += world.submitted.length;
      const record = await desk.read(id);
      retries += record.steps.flatMap(({ attempts }) => attempts).filter(({ verb }) => verb === 'retry').length;
      // A person with patience gets every episode to an end without anything being sent twice.
      await bringHome(services, id, world);
    }),
    { numRuns: 60 },
  );
  // The moves did reach what they are about.
  expect(submissions).toBeGreaterThan(20);
  expect(retries).toBeGreaterThan(0);
  expect(checkLedger(desk.root)).toEqual([]);
});

async function bringHome(services: SpendServices, id: string, world: World): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) {
    world.allow([]);
    await reconcile(services, id, { step: null });
    for (const view of viewSteps(await desk.read(id))) {
      const { id: on, state, writtenOff } = view;
      if (isHeld(view)) await settle(services, id, on, { form: 'write_off', ...said });
      if (state === 'failed' || state === 'rejected' || writtenOff)
        await retry(services, id, { ...paid, step: on, reason: `turn ${turn}` }).catch(refusalsOnly);
    }
    await approve(services, id, { ...paid, steps: [], sha256: null, by: 'mika' }).catch(refusalsOnly);
    const { report } = await generate(services, id, { ...paid, step: null });
    const record = await desk.read(id);
    expectSound(record, world);
    if (report.status === 'complete') {
      const total = add(...record.costs.flatMap(({ state, amount }) => (state === 'released' ? [] : [amount!])));
      expect(Number(total)).toBeGreaterThanOrEqual(Number(add(...world.charged.values())));
      return;
    }
  }
  throw new Error(`${id} could not be brought to an end: ${JSON.stringify((await desk.read(id)).steps)}`);
}

function refusalsOnly(error: unknown): void {
  if (!(error instanceof EpisodeError)) throw error;
}
