import { describe, expect, it } from 'vitest';
import { ADMIN_KEY, KEY, serveFal } from './fakes/fal.ts';
import { deskOf, failureOf, statesOf } from './fakes/rig.ts';
import { media } from './fakes/server.ts';

const MODEL = 'fal-ai/kling-video/v2.5/text-to-video';
const film = { kind: 'video', params: { model: MODEL, prompt: 'a harbour at dawn', duration: '5' } };
const still = { kind: 'image', params: { model: 'fal-ai/flux/dev', prompt: 'a harbour' } };
const speech = { kind: 'audio', params: { model: 'fal-ai/minimax/speech-02-hd', text: 'Good morning.' } };

const setUp = async ({ key = ADMIN_KEY, ...ways }: { key?: string } & Parameters<typeof serveFal>[0] = {}) => {
  const fake = await serveFal(ways);
  return { ...fake, ...(await deskOf('fal', { servers: fake.servers, credentials: { key } })) };
};

describe('a task at fal', () => {
  it.each([
    ['video', film],
    ['image', still],
    ['audio', speech],
  ] as const)('is queued, runs and is brought home with its exact price: %s', async (kind, order) => {
    const at = await setUp();
    const { outcome, task } = await at.submit(order);
    expect(outcome).toEqual({ outcome: 'accepted', ref: at.requests[0]!.request_id });
    expect(await statesOf(at.provider, task, 3)).toEqual(['queued', 'running', 'done']);
    expect((await at.bring(task)).equals((await media())[kind])).toBe(true);
    const cost = await at.provider.cost!(task);
    // 0.35 - 0.035 is 0.31499999999999995 as a float.
    expect(cost).toMatchObject({ unit: 'USD', basis: 'reported', final: true });
    expect(Number(cost.amount)).toBe(0.315);
    expect([at.faults, at.files.faults]).toEqual([[], []]);
  });

  it('is asked about at the addresses that came with it, wherever they lead', async () => {
    const at = await setUp({ app: 'fal-ai/another-app' });
    const { task } = await at.submit(film);
    const base = `${at.servers.queue}/fal-ai/another-app/requests/${task.ref}`;
    expect(task.checkpoint).toEqual({ status_url: `${base}/status`, response_url: base, cancel_url: `${base}/cancel` });
    expect(await statesOf(at.provider, task, 3)).toEqual(['queued', 'running', 'done']);
    expect((await at.bring(task)).equals((await media()).video)).toBe(true);
    expect(await at.provider.cancel!(task)).toEqual({ state: 'done', definite: true });
  });

  it('is given a file of the step as the parameter that has its name', async () => {
    const at = await setUp();
    const path = await at.picture();
    const { outcome } = await at.submit({ ...film, inputs: [{ name: 'image_url', path, sha256: '0'.repeat(64) }] });
    expect(outcome.outcome).toBe('accepted');
    expect(at.requests[0]!.input).toMatchObject({
      prompt: 'a harbour at dawn',
      image_url: `data:image/png;base64,${(await media()).image.toString('base64')}`,
    });
  });

  const detail = 'The runner disconnected unexpectedly';
  it.each([
    ['by its type', { status: 503, json: { detail, error_type: 'runner_disconnected' } }, detail],
    ['by a header', { status: 503, headers: { 'x-fal-error-type': 'runner_disconnected' }, json: { detail } }, detail],
    [
      'by a list',
      { status: 504, json: { detail: [{ loc: [], msg: 'Too slow', type: 'generation_timeout' }] } },
      'Too slow',
    ],
    ['as malformed', { status: 400, json: { detail: 'invalid timeout' } }, 'invalid timeout'],
    ['as invalid', { status: 422, json: { detail: 'Prompt is flagged' } }, 'Prompt is flagged'],
  ])('that failed is COMPLETED too, and its result says so %s', async (_how, result, reason) => {
    const at = await setUp();
    at.tell('fail');
    at.failWith(result);
    const { task } = await at.submit(film);
    expect(await statesOf(at.provider, task, 2)).toEqual(['queued', 'running']);
    expect(await at.provider.status(task)).toEqual({ state: 'error', reason, billable: 'unknown' });
    expect(at.faults).toEqual([]);
  });

  it.each([[['error', 'error_type']], [['error']], [['error_type']]] as const)(
    'that failed may say so itself, by %j',
    async (tells) => {
      const at = await setUp({ tells: [...tells] });
      at.tell('fail');
      const { task } = await at.submit(film);
      await statesOf(at.provider, task, 2);
      expect(await at.provider.status(task)).toMatchObject({ state: 'error', billable: 'unknown' });
      expect(at.asked.filter(({ path }) => path.endsWith(task.ref))).toEqual([]);
    },
  );

  it.each([
    ['is not there yet', { status: 400, json: { detail: 'Request is still in progress' } }],
    ['cannot be had now', { status: 500, json: { detail: 'An error', error_type: 'internal_error' } }],
    ['is not shown to a locked account', { status: 403, json: { detail: 'User is locked. Reason: TOP_UP.' } }],
    ['is asked for too often', { status: 429, json: { detail: 'Too many requests' } }],
  ])('whose result %s has not failed', async (_what, result) => {
    const at = await setUp();
    at.tell('fail');
    at.failWith(result);
    const { task } = await at.submit(film);
    expect(await statesOf(at.provider, task, 3)).toEqual(['queued', 'running', 'done']);
    expect(await failureOf(at.fetch(task))).toMatchObject({ code: 'PROVIDER_UNREACHABLE', exit: 69 });
  });

  it('that is canceled before it starts is gone for sure; a running one is only asked', async () => {
    const at = await setUp();
    const { task } = await at.submit(film);
    expect(await at.provider.cancel!(task)).toEqual({ state: 'canceled', definite: true });
    expect(await at.provider.status(task)).toMatchObject({ state: 'canceled', billable: 'unknown' });
    const running = (await at.submit(film)).task;
    expect(await statesOf(at.provider, running, 1)).toEqual(['queued']);
    // That it runs is looked at before it is canceled.
    expect(await at.provider.cancel!(running)).toEqual({ state: 'requested', definite: false });
    expect(await statesOf(at.provider, running, 1)).toEqual(['done']);
    expect(await at.provider.cancel!(running)).toEqual({ state: 'done', definite: true });
    expect(at.faults).toEqual([]);
  });

  it('whose file is gone has expired, and one that is not known is not found', async () => {
    const at = await setUp();
    const { task } = await at.submit(film);
    await statesOf(at.provider, task, 3);
    at.files.expire(at.files.address('video', task.ref.replaceAll('-', '')));
    expect(await at.fetch(task)).toBe('expired');
    const stranger = at.task(film, '00000000-0000-4000-8000-000000000000');
    expect(await at.provider.status(stranger)).toEqual({ state: 'not_found' });
    expect(await at.fetch(stranger)).toBe('expired');
    expect(at.faults).toEqual([]);
  });
});

describe('a submission to fal', () => {
  it.each([
    ['refuse: no funds', 'insufficient_funds', 'no', /User is locked.*Exhausted balance/],
    ['refuse: throttled', 'throttled', 'no', /Queue length/],
    ['refuse: invalid', 'invalid_input', 'unknown', /^Input should be 5 or 10/],
  ] as const)('that is answered "%s" was not accepted', async (fate, reason, billable, message) => {
    const at = await setUp();
    at.tell(fate);
    const { outcome } = await at.submit(film);
    expect(outcome).toMatchObject({
      outcome: 'released',
      reason,
      billable,
      message: expect.stringMatching(message),
    });
    expect([at.requests, at.faults]).toEqual([[], []]);
  });

  it('with a bad key was not accepted', async () => {
    const at = await setUp({ key: 'nobody:nothing' });
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'released', reason: 'auth', billable: 'no' });
  });

  it('whose answer is lost is found by its seed among many, on whatever page', async () => {
    const at = await setUp({ pageSize: 2 });
    const claimed = new Date();
    for (let other = 0; other < 3; other += 1) {
      const { task } = await at.submit({ ...film, attempt: `other-${other}` });
      await statesOf(at.provider, task, 3);
    }
    at.tell('lose the answer');
    expect((await at.submit(film)).outcome).toMatchObject({ outcome: 'unknown', reason: 'reset' });
    expect(at.requests).toHaveLength(4);
    const found = await at.provider.lookup!(at.lost(film, claimed));
    expect(found).toEqual({
      found: 'present',
      refs: [{ ref: at.requests[3]!.request_id, match: 'exact' }],
      complete: true,
    });
    const task = at.task(film, at.requests[3]!.request_id);
    expect((await at.bring(task)).equals((await media()).video)).toBe(true);
    expect(at.faults).toEqual([]);
  });

  it('is not listed while it waits, which proves nothing', async () => {
    const at = await setUp();
    await at.submit(film);
    expect(await at.provider.lookup!(at.lost(film))).toMatchObject({ found: 'absent' });
    const { capabilities } = await at.provider.describe();
    expect(capabilities.lookup).toMatchObject({ supported: true, proves: { present: true, absent: false } });
  });

  it('is not found in another, however alike', async () => {
    const at = await setUp();
    at.tell('lose the answer');
    await at.submit({ ...speech, params: { ...speech.params, text: 'Good evening.' }, attempt: 'other' });
    expect(await at.provider.lookup!(at.lost(speech))).toEqual({ found: 'absent', refs: [], complete: true });
  });

  it.each([
    ['without a seed', speech],
    ['with a seed that the step fixes', { ...film, params: { ...film.params, seed: 7 } }],
  ])('whose answer is lost is ambiguous beside an equal one %s', async (_what, order) => {
    const at = await setUp();
    at.tell('lose the answer', 'lose the answer');
    await at.submit(order);
    await at.submit({ ...order, attempt: 'att-2' });
    const found = await at.provider.lookup!(at.lost(order));
    expect(found).toMatchObject({ found: 'ambiguous', refs: [{ match: 'probable' }, { match: 'probable' }] });
  });
});

describe('an account at fal', () => {
  it('has a balance that an admin key sees', async () => {
    const at = await setUp();
    expect(await at.provider.balance!()).toEqual({ amount: '24.5', unit: 'USD' });
    expect(await at.provider.check!()).toEqual({ auth: 'ok', balance: { amount: '24.5', unit: 'USD' } });
  });

  it('is not shown to a bad key', async () => {
    const at = await setUp({ key: 'nobody:nothing' });
    expect(await at.provider.check!()).toMatchObject({ auth: 'bad' });
    expect(await failureOf(at.provider.balance!())).toMatchObject({ code: 'CREDENTIAL_REFUSED', exit: 78 });
  });

  it('of a key that may only run models has no price to tell, and everything else', async () => {
    const at = await setUp({ key: KEY });
    const { task } = await at.submit(film);
    expect(await statesOf(at.provider, task, 3)).toEqual(['queued', 'running', 'done']);
    expect(await failureOf(at.provider.cost!(task))).toMatchObject({ code: 'PROVIDER_UNREACHABLE', exit: 69 });
    expect(await at.provider.check!()).toEqual({ auth: 'ok' });
    expect(at.faults).toEqual([]);
  });
});
