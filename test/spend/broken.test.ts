import { beforeAll, describe, expect, test } from 'vitest';
import { EpisodeError, mostImportant } from '../../src/errors.ts';
import { generate } from '../../src/generate.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { retry } from '../../src/retry.ts';
import { run } from '../../src/spend/run.ts';
import { checkLedger } from '../ledger-check.ts';
import { type Desk, fake, filesIn, gate, makeDesk, sheet } from './desk.ts';
import { step } from './rig.ts';

let desk: Desk;
beforeAll(async () => {
  desk = await makeDesk();
});

const wanted = { step: null, maxCost: null, waitMs: 0 };
const never = fake(async () => {
  throw new Error('must not be asked to send');
});
const attemptsOf = async (id: string) => (await desk.read(id)).steps[0]!.attempts;
const costsOf = async (id: string) => (await desk.read(id)).costs.map(({ state, amount }) => `${state} ${amount}`);

describe('what breaks on our own side', () => {
  test('a bug in one step ends the command after the others were brought to their end and recorded', async () => {
    const id = await desk.allocate([step('s1'), step('s2'), step('s3', { needs: ['s2'] })]);
    const other = gate();
    const provider = fake(async ({ client_ref }, events) => {
      await events.sending();
      const mine = (await desk.read(id)).steps[0]!.attempts.some((attempt) => attempt.client_ref === client_ref);
      if (mine) {
        setTimeout(other.open, 20);
        throw new TypeError('undefined is not a provider');
      }
      await other.pass();
      return { outcome: 'accepted', ref: 'task_2' };
    });
    await expect(generate(desk.services(provider), id, wanted)).rejects.toThrow(TypeError);
    const record = await desk.read(id);
    expect(record.steps.map(({ state }) => state)).toEqual(['unknown', 'succeeded', 'ready']);
    expect(record.costs.map(({ state }) => state).sort()).toEqual(['possible', 'settled']);
  });

  test('a disk that fails under a submission is no bug: held, and said as what it is', async () => {
    const id = await desk.allocate([step('s1')]);
    const provider = fake(async (_submission, events) => {
      await events.sending();
      throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    });
    const { failures } = await generate(desk.services(provider), id, wanted);
    expect(failures.map(({ code }) => code).sort()).toEqual(['CANNOT_WRITE', 'OUTCOME_UNKNOWN']);
    expect((await desk.read(id)).steps[0]!.state).toBe('unknown');
  });

  test('records that cannot be read any more end the command after what is being sent was brought to its end', async () => {
    const id = await desk.allocate([step('s1'), step('s2')]);
    const other = gate();
    const good = fake(async (_submission, events) => {
      await events.sending();
      await other.pass();
      return { outcome: 'accepted', ref: 'task_2' };
    });
    let isDamaged = false;
    const bad: Provider = {
      ...good,
      async describe() {
        await other.arrived;
        isDamaged = true;
        setTimeout(other.open, 20);
        throw new EpisodeError('PROVIDER_UNREACHABLE', 'gone');
      },
    };
    const providers = [bad, good];
    const services = desk.services(good, {}, { provider: async () => providers.shift()! });
    const { store } = services;
    const damaged: typeof store = {
      ...store,
      view(read) {
        if (!isDamaged) return store.view(read);
        isDamaged = false;
        return Promise.reject(new EpisodeError('RECORD_DAMAGED', 'it is damaged'));
      },
    };
    await expect(generate({ ...services, store: damaged }, id, wanted)).rejects.toThrow('it is damaged');
    expect((await desk.read(id)).steps[1]!.state).toBe('succeeded');
  });

  test('a record that keeps changing under a step does not keep the command for ever', async () => {
    const id = await desk.allocate([step('s1')]);
    let asked = 0;
    const mayStart = (): boolean => {
      asked += 1;
      return asked % 2 === 1;
    };
    const starts = { verb: 'generate' as const, reason: null, mayStart };
    const { failures } = await run(desk.services(never), id, { starts, steps: null, maxCost: null, waitMs: 0 });
    expect(failures.map(({ code }) => code)).toEqual(['LEDGER_BUSY']);
    expect((await attemptsOf(id)) ?? []).toEqual([]);
  });

  test('a busy ledger is waited for when there is an answer to record', async () => {
    const id = await desk.allocate([step('s1')]);
    let refusals = 3;
    let sent = false;
    const services = desk.services(
      fake(async (_submission, events) => {
        await events.sending();
        sent = true;
        return { outcome: 'accepted', ref: 'task_1' };
      }),
    );
    const { store } = services;
    const busy: typeof store = {
      ...store,
      transact(decide) {
        if (!sent || refusals === 0) return store.transact(decide);
        refusals -= 1;
        return Promise.reject(new EpisodeError('LOCK_BUSY', 'the ledger is busy'));
      },
    };
    expect((await generate({ ...services, store: busy }, id, wanted)).report.status).toBe('complete');
    expect(refusals).toBe(0);
  });

  test('a reference that was announced survives everything that goes wrong after it', async () => {
    const id = await desk.allocate([step('s1')]);
    const provider = fake(async (_submission, events) => {
      await events.sending();
      await events.accepted('task_1');
      throw new EpisodeError('PROVIDER_PROTOCOL', 'and then it broke');
    });
    await generate(desk.services(provider), id, wanted);
    expect((await attemptsOf(id))[0]).toMatchObject({ ref: 'task_1', outcome: { outcome: 'accepted' } });
    expect((await generate(desk.services(never), id, wanted)).report.status).toBe('complete');
  });

  test('an adapter whose start cannot be recorded was told nothing, promise or not', async () => {
    const id = await desk.allocate([step('s1')]);
    const silent = sheet({ announces_sending: false });
    const services = desk.services(
      fake(
        async (_submission, events) => {
          full = true;
          await events.started({ host: 'here', boot: 'b', pid: 99, started: '1' });
          throw new Error('was told to send');
        },
        { sheet: silent },
      ),
    );
    let full = false;
    const { store } = services;
    const failing: typeof store = {
      ...store,
      transact(decide) {
        if (!full) return store.transact(decide);
        full = false;
        return Promise.reject(new EpisodeError('CANNOT_WRITE', 'no space is left on the disk'));
      },
    };
    const { failures } = await generate({ ...services, store: failing }, id, wanted);
    expect(failures.map(({ code }) => code)).toEqual(['CANNOT_WRITE']);
    expect((await desk.read(id)).steps[0]!.state).toBe('ready');
  });

  test('a result that was paid for and cannot be placed is held, and that is said first', async () => {
    const id = await desk.allocate([step('s1')]);
    const completed = fake(async ({ output_dir }, events) => {
      await events.sending();
      return { outcome: 'completed', ref: 'request-1', files: await filesIn(output_dir) };
    });
    const full = {
      verify: () => Promise.reject(new EpisodeError('CANNOT_WRITE', 'no space is left on the disk')),
      hash: async () => ({ sha256: '', bytes: 0 }),
    };
    const { failures, report } = await generate(desk.services(completed, {}, { media: full }), id, wanted);
    expect(failures.map(({ code }) => code)).toEqual(['CANNOT_WRITE', 'OUTCOME_UNKNOWN']);
    expect(mostImportant(failures)?.code).toBe('OUTCOME_UNKNOWN');
    expect(report.cost.possible).toBe('0.40');
    expect((await attemptsOf(id))[0]!.outcome).toMatchObject({
      reason: 'result_not_placed',
      evidence: { ref: 'request-1', room: expect.stringContaining(`episodes/${id}/.partial/`) },
    });
  });

  test('a result that is not whole was paid for, and only a retry pays again', async () => {
    const id = await desk.allocate([step('s1')]);
    const completed = fake(async ({ output_dir }, events) => {
      await events.sending();
      return {
        outcome: 'completed',
        files: await filesIn(output_dir),
      };
    });
    const broken = {
      verify: () => Promise.reject(new EpisodeError('MEDIA_NOT_WHOLE', 'it is cut')),
      hash: async () => ({ sha256: '', bytes: 0 }),
    };
    const cut = await generate(desk.services(completed, {}, { media: broken }), id, wanted);
    expect(cut.failures.map(({ code }) => code)).toEqual(['MEDIA_NOT_WHOLE']);
    expect(await costsOf(id)).toEqual(['settled 0.40']);
    expect((await generate(desk.services(never), id, wanted)).failures.map(({ code }) => code)).toEqual([
      'STEP_FAILED',
    ]);
    const again = await retry(desk.services(completed), id, { ...wanted, step: 's1', reason: 'it was cut' });
    expect(again.report).toMatchObject({ status: 'complete', cost: { settled: '0.80' } });
  });
});

test('after all that the ledger is whole', () => {
  expect(checkLedger(desk.root)).toEqual([]);
});
