import { describe, expect, it } from 'vitest';
import * as kling from './fakes/kling.ts';
import { deskOf, failureOf, statesOf } from './fakes/rig.ts';
import * as runware from './fakes/runware.ts';
import * as runway from './fakes/runway.ts';
import { media } from './fakes/server.ts';

/** The mappings of docs/mappings, which users copy. */

describe('Runway', () => {
  const params = {
    endpoint: 'text_to_video',
    model: 'gen4.5',
    promptText: 'a harbour',
    ratio: '1280:720',
    duration: 5,
  };
  const film = { kind: 'video', params };

  const setUp = async (secret = runway.SECRET) => {
    const fake = await runway.serveRunway();
    return { ...fake, ...(await deskOf('runway', { servers: fake.servers, credentials: { secret } })) };
  };

  it('makes a film: throttled is queued, the price is quoted at first and final at last', async () => {
    const at = await setUp();
    const { outcome, task } = await at.submit(film);
    expect(outcome).toEqual({
      outcome: 'accepted',
      ref: at.tasks[0]!.id,
      cost: { amount: '25', unit: 'credits', basis: 'quoted' },
    });
    const { endpoint: _, ...body } = params;
    expect(at.tasks[0]).toMatchObject({ endpoint: 'text_to_video', body });
    expect(await at.provider.status(task)).toEqual({ state: 'queued' });
    expect(await at.provider.status(task)).toEqual({ state: 'running', progress: 0.2 });
    expect(await at.provider.status(task)).toEqual({
      state: 'done',
      cost: { amount: '20', unit: 'credits', basis: 'reported' },
    });
    expect((await at.bring(task)).equals((await media()).video)).toBe(true);
    expect(await at.provider.balance!()).toEqual({ amount: '980', unit: 'credits' });
    expect([at.faults, at.files.faults]).toEqual([[], []]);
  });

  it('is given the picture of another step', async () => {
    const at = await setUp();
    const inputs = [{ name: 'prompt_image', path: await at.picture(), sha256: '0'.repeat(64) }];
    const { outcome } = await at.submit({ kind: 'video', params: { ...params, endpoint: 'image_to_video' }, inputs });
    expect(outcome.outcome).toBe('accepted');
    expect(at.tasks[0]!.body.promptImage).toMatch(/^data:image\/png;base64,/);
  });

  it('gives new addresses for an expired one', async () => {
    const at = await setUp();
    const { task } = await at.submit(film);
    await statesOf(at.provider, task, 3);
    at.files.expire(at.files.address('video', `${task.ref.replaceAll('-', '')}n2`));
    expect(await at.fetch(task)).toBe('expired');
    expect((await at.bring(task)).equals((await media()).video)).toBe(true);
  });

  it('says why a task failed, and what that cost', async () => {
    const at = await setUp();
    at.tell('fail');
    const { task } = await at.submit(film);
    await statesOf(at.provider, task, 2);
    expect(await at.provider.status(task)).toEqual({
      state: 'error',
      reason: 'The provided image was flagged by content moderation.',
      billable: 'unknown',
      cost: { amount: '0', unit: 'credits', basis: 'reported' },
    });
  });

  it.each([
    ['refuse: no funds', 'insufficient_funds', /not have enough credits/],
    ['refuse: throttled', 'throttled', /rate limit/],
    ['refuse: invalid', 'invalid_input', /Validation of body failed/],
  ] as const)('answered "%s" has accepted nothing', async (fate, reason, message) => {
    const at = await setUp();
    at.tell(fate);
    const { outcome } = await at.submit(film);
    expect(outcome).toMatchObject({ outcome: 'released', reason, message: expect.stringMatching(message) });
    expect([at.tasks, at.faults]).toEqual([[], []]);
  });

  it('cannot be asked for a submission whose answer was lost', async () => {
    const at = await setUp();
    at.tell('lose the answer');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'unknown', reason: 'reset' });
    expect(at.provider.lookup).toBeUndefined();
  });

  it('is asked to cancel, and says itself what came of it', async () => {
    const at = await setUp();
    at.tell('wait');
    const { task } = await at.submit(film);
    expect(await at.provider.cancel!(task)).toEqual({ state: 'requested', definite: false });
    expect(await at.provider.status(task)).toMatchObject({ state: 'canceled', cost: { amount: '0' } });
    const stranger = at.task(film, '00000000-0000-4000-8000-000000000000');
    expect(await at.provider.status(stranger)).toEqual({ state: 'not_found' });
    expect(at.faults).toEqual([]);
  });

  it('refuses a bad key', async () => {
    const at = await setUp('key_nobody');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'released', reason: 'auth' });
    expect(await at.provider.check!()).toMatchObject({ auth: 'bad' });
    expect(await failureOf(at.provider.balance!())).toMatchObject({ code: 'CREDENTIAL_REFUSED', exit: 78 });
  });
});

describe('Kling', () => {
  const params = { endpoint: 'videos/text2video', model_name: 'kling-v2-6', prompt: 'a harbour', duration: '5' };
  const film = { kind: 'video', params };

  const setUp = async (secret_key = kling.SECRET_KEY) => {
    const fake = await kling.serveKling();
    const credentials = { access_key: kling.ACCESS_KEY, secret_key };
    return { ...fake, ...(await deskOf('kling', { servers: fake.servers, credentials })) };
  };

  it('makes a film, with a fresh signature for each request', async () => {
    const at = await setUp();
    const { outcome, task } = await at.submit(film);
    expect(outcome).toEqual({ outcome: 'accepted', ref: at.tasks[0]!.id });
    const { endpoint: _, ...body } = params;
    expect(at.tasks[0]!.body).toEqual({ ...body, external_task_id: 'ep-att-1' });
    expect(await statesOf(at.provider, task, 2)).toEqual(['queued', 'running']);
    expect(await at.provider.status(task)).toEqual({
      state: 'done',
      cost: { amount: '3.5', unit: 'units', basis: 'reported' },
    });
    expect((await at.bring(task)).equals((await media()).video)).toBe(true);
    expect([at.faults, at.files.faults]).toEqual([[], []]);
  });

  it('is given the picture of another step, as base64 alone', async () => {
    const at = await setUp();
    const inputs = [{ name: 'image', path: await at.picture(), sha256: '0'.repeat(64) }];
    const { outcome } = await at.submit({
      kind: 'video',
      params: { ...params, endpoint: 'videos/image2video' },
      inputs,
    });
    expect(outcome.outcome).toBe('accepted');
    expect(at.tasks[0]!.body.image).toBe((await media()).image.toString('base64'));
    expect(at.faults).toEqual([]);
  });

  it('says why a task failed', async () => {
    const at = await setUp();
    at.tell('fail');
    const { task } = await at.submit(film);
    await statesOf(at.provider, task, 2);
    expect(await at.provider.status(task)).toEqual({
      state: 'error',
      reason: 'The content was rejected.',
      billable: 'unknown',
    });
  });

  it.each([
    [401, 1002, 'auth'],
    [429, 1100, 'auth'],
    [429, 1101, 'insufficient_funds'],
    [429, 1102, 'insufficient_funds'],
    [403, 1103, 'auth'],
    [400, 1201, 'invalid_input'],
    [404, 1203, 'invalid_input'],
    [400, 1300, 'content_rejected'],
    [400, 1301, 'content_rejected'],
    [429, 1302, 'throttled'],
    [429, 1303, 'throttled'],
    [429, 1304, 'auth'],
  ])('answered %i with code %i has accepted nothing: %s', async (status, code, reason) => {
    const at = await setUp();
    at.refuse(status, code, 'in its own words');
    const { outcome } = await at.submit(film);
    const message = `in its own words (status ${status})`;
    expect(outcome).toMatchObject({ outcome: 'released', reason, message, billable: 'no' });
    expect([at.tasks, at.faults]).toEqual([[], []]);
  });

  it('may have accepted what it answers with any other code, also with 200', async () => {
    const at = await setUp();
    at.refuse(200, 5001, 'Server temporarily unavailable');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'unknown', reason: 'not_confirmed' });
    at.refuse(429, 1399, 'something new');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'unknown', reason: 'http_429' });
  });

  it('knows a submission whose answer was lost by our own reference', async () => {
    const at = await setUp();
    at.tell('lose the answer', 'lose the answer');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'unknown', reason: 'reset' });
    await at.submit({ ...film, attempt: 'att-2' });
    for (const [index, attempt] of ['att-1', 'att-2'].entries()) {
      expect(await at.provider.lookup!(at.lost({ ...film, attempt }))).toEqual({
        found: 'present',
        refs: [{ ref: at.tasks[index]!.id, match: 'exact' }],
        complete: true,
      });
    }
    expect(await at.provider.lookup!(at.lost({ ...film, attempt: 'att-3' }))).toMatchObject({ found: 'absent' });
    expect(at.faults).toEqual([]);
  });

  it('loses a file, and does not know a task', async () => {
    const at = await setUp();
    const { task } = await at.submit(film);
    await statesOf(at.provider, task, 3);
    at.files.expire(at.files.address('video', `k${task.ref}`));
    expect(await at.fetch(task)).toBe('expired');
    expect(await at.provider.status(at.task(film, '1'))).toEqual({ state: 'not_found' });
  });

  it('refuses a bad secret', async () => {
    expect(await (await setUp()).provider.check!()).toEqual({ auth: 'ok' });
    const at = await setUp('kling-secret-of-nobody');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'released', reason: 'auth' });
    expect(await at.provider.check!()).toMatchObject({ auth: 'bad' });
  });
});

describe('Runware', () => {
  const params = { taskType: 'videoInference', model: 'klingai:5@3', positivePrompt: 'a harbour', duration: 5 };
  const film = { kind: 'video', params };
  const still = { kind: 'image', params: { taskType: 'imageInference', model: 'runware:101@1', positivePrompt: 'a' } };

  const setUp = async (key = runware.KEY) => {
    const fake = await runware.serveRunware();
    return { ...fake, ...(await deskOf('runware', { servers: fake.servers, credentials: { key } })) };
  };

  it.each([
    ['video', film],
    ['image', still],
  ] as const)('makes what is asked under our own reference, with its price: %s', async (kind, order) => {
    const at = await setUp();
    const { outcome, task } = await at.submit(order);
    expect(outcome).toEqual({ outcome: 'accepted', ref: at.tasks[0]!.task.taskUUID });
    expect(at.tasks[0]!.task).toMatchObject({ ...order.params, deliveryMethod: 'async', includeCost: true });
    expect(await at.provider.status(task)).toEqual({ state: 'running', progress: 0.3 });
    expect(await statesOf(at.provider, task, 1)).toEqual(['running']);
    expect(await at.provider.status(task)).toEqual({
      state: 'done',
      cost: { amount: '0.0421', unit: 'USD', basis: 'reported' },
    });
    expect((await at.bring(task)).equals((await media())[kind])).toBe(true);
    expect([at.faults, at.files.faults]).toEqual([[], []]);
  });

  it('says why a task failed', async () => {
    const at = await setUp();
    at.tell('fail');
    const { task } = await at.submit(film);
    await statesOf(at.provider, task, 2);
    expect(await at.provider.status(task)).toEqual({
      state: 'error',
      reason: 'The provider did not answer.',
      billable: 'unknown',
    });
  });

  it.each([
    ['refuse: no funds', 'insufficient_funds', /Insufficient credits/],
    ['refuse: throttled', 'throttled', /Too many requests/],
    ['refuse: invalid', 'invalid_input', /Invalid value for 'duration'/],
  ] as const)('answered "%s" has accepted nothing', async (fate, reason, message) => {
    const at = await setUp();
    at.tell(fate);
    const { outcome } = await at.submit(film);
    expect(outcome).toMatchObject({ outcome: 'released', reason, message: expect.stringMatching(message) });
    expect([at.tasks, at.faults]).toEqual([[], []]);
  });

  it('has accepted for sure only what it gives back under our reference', async () => {
    const at = await setUp();
    at.tell('break');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'unknown', reason: 'not_confirmed' });
  });

  it('knows a submission whose answer was lost, one that failed since as well', async () => {
    const at = await setUp();
    at.tell('lose the answer', 'fail');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'unknown', reason: 'reset' });
    const failed = await at.submit({ ...film, attempt: 'att-2' });
    await statesOf(at.provider, failed.task, 3);
    for (const [index, attempt] of ['att-1', 'att-2'].entries()) {
      expect(await at.provider.lookup!(at.lost({ ...film, attempt }))).toEqual({
        found: 'present',
        refs: [{ ref: at.tasks[index]!.task.taskUUID, match: 'exact' }],
        complete: true,
      });
    }
    expect(await at.provider.lookup!(at.lost({ ...film, attempt: 'att-3' }))).toMatchObject({ found: 'absent' });
    expect(at.faults).toEqual([]);
  });

  it('loses a file, and does not know a task', async () => {
    const at = await setUp();
    const { task } = await at.submit(film);
    await statesOf(at.provider, task, 3);
    at.files.expire(at.files.address('video', task.ref.replaceAll('-', '')));
    expect(await at.fetch(task)).toBe('expired');
    const stranger = at.task(film, '00000000-0000-4000-8000-000000000000');
    expect(await at.provider.status(stranger)).toEqual({ state: 'not_found' });
    expect(await at.fetch(stranger)).toBe('expired');
  });

  it('has a balance, and none for a bad key', async () => {
    expect(await (await setUp()).provider.check!()).toEqual({
      auth: 'ok',
      balance: { amount: '12.3456', unit: 'USD' },
    });
    const at = await setUp('runware-nobody');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'released', reason: 'auth' });
    expect(await at.provider.check!()).toMatchObject({ auth: 'bad' });
  });
});
