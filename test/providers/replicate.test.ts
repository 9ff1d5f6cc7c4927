import { describe, expect, it } from 'vitest';
import { serveReplicate, TOKEN } from './fakes/replicate.ts';
import { deskOf, statesOf } from './fakes/rig.ts';
import { media } from './fakes/server.ts';

const film = { kind: 'video', params: { model: 'acme/video-maker', prompt: 'a harbour at dawn' } };
const still = { kind: 'image', params: { model: 'acme/painter', prompt: 'a harbour' } };
const speech = { kind: 'audio', params: { model: 'acme/speech', text: 'Good morning.' } };

const setUp = async ({ token = TOKEN, pageSize = 100 } = {}) => {
  const fake = await serveReplicate({ pageSize });
  return { ...fake, ...(await deskOf('replicate', { servers: fake.servers, credentials: { token } })) };
};

describe('a task at Replicate', () => {
  it.each([
    ['video', film],
    ['image', still],
    ['audio', speech],
  ] as const)('starts, runs and is brought home: %s', async (kind, order) => {
    const at = await setUp();
    const { outcome, task } = await at.submit(order);
    expect(outcome).toEqual({ outcome: 'accepted', ref: at.predictions[0]!.id });
    expect(await statesOf(at.provider, task, 3)).toEqual(['queued', 'running', 'done']);
    expect((await at.bring(task)).equals((await media())[kind])).toBe(true);
    expect([at.faults, at.files.faults]).toEqual([[], []]);
  });

  it('has no price that the API would tell', async () => {
    const at = await setUp();
    expect((await at.provider.describe()).capabilities).toMatchObject({ cost: 'none', balance: false });
    expect([at.provider.cost, at.provider.balance]).toEqual([undefined, undefined]);
  });

  it('that failed says why', async () => {
    const at = await setUp();
    at.tell('fail');
    const { task } = await at.submit(film);
    await statesOf(at.provider, task, 2);
    expect(await at.provider.status(task)).toEqual({
      state: 'error',
      reason: 'CUDA out of memory',
      billable: 'unknown',
    });
  });

  it('that has not started is canceled for sure; a running one is only asked, a finished one is done', async () => {
    const at = await setUp();
    const waiting = (await at.submit(film)).task;
    expect(await at.provider.cancel!(waiting)).toEqual({ state: 'canceled', definite: true });
    expect(await at.provider.status(waiting)).toMatchObject({ state: 'canceled' });
    const running = (await at.submit(film)).task;
    await statesOf(at.provider, running, 1);
    expect(await at.provider.cancel!(running)).toEqual({ state: 'requested', definite: false });
    expect(await at.provider.status(running)).toMatchObject({ state: 'canceled' });
    const done = (await at.submit(film)).task;
    await statesOf(at.provider, done, 3);
    expect(await at.provider.cancel!(done)).toEqual({ state: 'done', definite: true });
    at.tell('fail');
    const failed = (await at.submit(film)).task;
    await statesOf(at.provider, failed, 3);
    expect(await at.provider.cancel!(failed)).toEqual({ state: 'error', definite: true });
    expect(at.faults).toEqual([]);
  });

  it('has expired after an hour, by its data or by its file', async () => {
    const at = await setUp();
    const { task } = await at.submit(film);
    await statesOf(at.provider, task, 3);
    at.files.expire(at.files.address('video', task.ref));
    expect(await at.fetch(task)).toBe('expired');
    at.remove(task.ref);
    expect(await at.fetch(task)).toBe('expired');
    expect(await at.provider.status(at.task(film, 'p9'))).toEqual({ state: 'not_found' });
  });
});

describe('a submission to Replicate', () => {
  it.each([
    ['refuse: no funds', { reason: 'insufficient_funds', message: expect.stringMatching(/insufficient credit/) }],
    ['refuse: throttled', { reason: 'throttled', retry_after: 30 }],
    ['refuse: invalid', { reason: 'invalid_input', message: expect.stringMatching(/prompt is required/) }],
  ] as const)('that is answered "%s" was not accepted', async (fate, refusal) => {
    const at = await setUp();
    at.tell(fate);
    const { outcome } = await at.submit(film);
    expect(outcome).toMatchObject({ outcome: 'released', billable: 'no', ...refusal });
    expect([at.predictions, at.faults]).toEqual([[], []]);
  });

  it('with a bad token was not accepted', async () => {
    const at = await setUp({ token: 'r8_nobody' });
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'released', reason: 'auth' });
    expect(await at.provider.check!()).toMatchObject({ auth: 'bad' });
  });

  it('with a good token passes its check', async () => {
    const at = await setUp();
    expect(await at.provider.check!()).toEqual({ auth: 'ok' });
  });

  it('whose answer is lost is found by its seed among many, on whatever page', async () => {
    const at = await setUp({ pageSize: 2 });
    const claimed = new Date();
    at.tell('lose the answer');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'unknown', reason: 'reset' });
    const ref = at.predictions[0]!.id;
    for (let other = 0; other < 3; other += 1) await at.submit({ ...film, attempt: `other-${other}` });
    expect(await at.provider.lookup!(at.lost(film, claimed))).toEqual({
      found: 'present',
      refs: [{ ref, match: 'exact' }],
      complete: true,
    });
    expect(at.faults).toEqual([]);
  });

  it('whose answer is lost is ambiguous beside an equal one without a seed', async () => {
    const at = await setUp();
    at.tell('lose the answer', 'lose the answer');
    await at.submit(speech);
    await at.submit({ ...speech, attempt: 'att-2' });
    expect(await at.provider.lookup!(at.lost(speech))).toMatchObject({
      found: 'ambiguous',
      refs: [{ match: 'probable' }, { match: 'probable' }],
    });
  });

  it('is not found in one of another model, or with another input', async () => {
    const at = await setUp();
    at.tell('lose the answer', 'lose the answer');
    await at.submit({ ...speech, params: { ...speech.params, model: 'acme/another-speech' } });
    await at.submit({ ...speech, params: { ...speech.params, text: 'Good evening.' } });
    expect(await at.provider.lookup!(at.lost(speech))).toEqual({ found: 'absent', refs: [], complete: true });
  });

  it('is no longer found when its input was removed, which proves nothing', async () => {
    const at = await setUp();
    at.tell('lose the answer');
    await at.submit(film);
    at.remove(at.predictions[0]!.id);
    expect(await at.provider.lookup!(at.lost(film))).toMatchObject({ found: 'absent' });
    expect((await at.provider.describe()).capabilities.lookup).toMatchObject({
      window_seconds: 3600,
      proves: { absent: false },
    });
  });
});
