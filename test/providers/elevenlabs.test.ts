import { describe, expect, it } from 'vitest';
import { KEY, serveElevenLabs } from './fakes/elevenlabs.ts';
import { decoded, deskOf, failureOf } from './fakes/rig.ts';

const line = {
  kind: 'audio',
  params: { voice: '21m00Tcm4TlvDq8ikWAM', text: 'Good morning.', model_id: 'eleven_multilingual_v2' },
};

const setUp = async ({ key = KEY, ...ways }: { key?: string } & Parameters<typeof serveElevenLabs>[0] = {}) => {
  const fake = await serveElevenLabs(ways);
  return { ...fake, ...(await deskOf('elevenlabs', { servers: fake.servers, credentials: { key } })) };
};

describe('a line at ElevenLabs', () => {
  it('is answered with its bytes, its reference and what it cost', async () => {
    const at = await setUp();
    const { outcome, task } = await at.submit(line);
    expect(outcome).toMatchObject({
      outcome: 'completed',
      ref: 'item1',
      files: [{ mime: 'audio/mpeg' }],
      cost: { amount: '13', unit: 'characters', basis: 'reported' },
    });
    if (outcome.outcome !== 'completed') throw new Error('unreachable');
    expect((await decoded(outcome.files[0]!.path)).equals(at.audio)).toBe(true);
    expect(await at.provider.status(task)).toMatchObject({
      state: 'done',
      cost: { amount: '13', unit: 'characters', basis: 'derived' },
    });
    expect(await at.provider.cost!(task)).toEqual({ amount: '13', unit: 'characters', basis: 'derived', final: true });
    expect(at.faults).toEqual([]);
  });

  it('is cut off on the way, and brought home from the history without paying', async () => {
    const at = await setUp();
    at.tell('cut the answer');
    const { outcome, task } = await at.submit(line);
    expect(outcome).toEqual({ outcome: 'accepted', ref: 'item1' });
    expect(await at.provider.status(task)).toMatchObject({ state: 'done' });
    expect((await at.bring(task)).equals(at.audio)).toBe(true);
    expect(at.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(at.faults).toEqual([]);
  });

  it.each(['lose the answer', 'cut the answer'] as const)(
    'without a reference (%s) is found in the history',
    async (fate) => {
      const at = await setUp({ tellsItem: false, pageSize: 2 });
      const claimed = new Date();
      at.tell(fate);
      expect((await at.submit(line)).outcome).toMatchObject({ outcome: 'unknown' });
      for (const text of ['Good evening.', 'Good night.', 'Good day.']) {
        await at.submit({ ...line, params: { ...line.params, text } });
      }
      expect(await at.provider.lookup!(at.lost(line, claimed))).toEqual({
        found: 'present',
        refs: [{ ref: 'item1', match: 'exact' }],
        complete: true,
      });
      expect((await at.bring(at.task(line, 'item1'))).equals(at.audio)).toBe(true);
      expect(at.faults).toEqual([]);
    },
  );

  it('that is said twice is ambiguous by its text alone', async () => {
    const at = await setUp();
    at.tell('lose the answer', 'lose the answer');
    await at.submit(line);
    await at.submit({ ...line, attempt: 'att-2' });
    expect(await at.provider.lookup!(at.lost(line))).toMatchObject({ found: 'ambiguous', refs: [{}, {}] });
  });

  it('that was never made, or is older than the claim, is not listed, which proves nothing', async () => {
    const at = await setUp();
    await at.submit(line);
    const later = new Date(Date.now() + 3_600_000);
    expect(await at.provider.lookup!(at.lost(line, later))).toMatchObject({ found: 'absent', complete: true });
    for (const other of [{ text: 'Something else.' }, { model_id: 'eleven_v3' }, { voice: 'another' }]) {
      const lost = at.lost({ ...line, params: { ...line.params, ...other } });
      expect(await at.provider.lookup!(lost)).toEqual({ found: 'absent', refs: [], complete: true });
    }
    expect((await at.provider.describe()).capabilities.lookup).toMatchObject({ proves: { absent: false } });
  });

  it('is looked for in the history no further back than the claim', async () => {
    const at = await setUp({ pageSize: 2 });
    for (let old = 0; old < 6; old += 1) await at.submit(line);
    for (const item of at.items) item.date -= 86_400;
    at.tell('lose the answer');
    await at.submit(line);
    at.asked.length = 0;
    expect(await at.provider.lookup!(at.lost(line))).toMatchObject({ found: 'present', refs: [{ ref: 'item7' }] });
    expect(at.asked).toHaveLength(1);
  });

  it.each(['current', 'legacy'] as const)(
    'that was deleted has expired; an unknown one is not found (%s)',
    async (errors) => {
      const at = await setUp({ errors });
      const { task } = await at.submit(line);
      at.expire('item1');
      expect(await at.provider.status(task)).toMatchObject({ state: 'expired' });
      expect(await at.fetch(task)).toBe('expired');
      expect(await at.provider.status(at.task(line, 'item9'))).toEqual({ state: 'not_found' });
    },
  );
});

describe.each(['current', 'legacy'] as const)(
  'a submission to ElevenLabs, with errors in their %s shape,',
  (errors) => {
    it.each([
      ['refuse: no funds', { reason: 'insufficient_funds', message: expect.stringMatching(/exceeds your quota/) }],
      ['refuse: throttled', { reason: 'throttled', message: expect.stringMatching(/Too many concurrent requests/) }],
      ['refuse: invalid', { reason: 'invalid_input', message: expect.stringMatching(/^Field required/) }],
    ] as const)('that is answered "%s" was not accepted', async (fate, refusal) => {
      const at = await setUp({ errors });
      at.tell(fate);
      const { outcome } = await at.submit(line);
      expect(outcome).toMatchObject({ outcome: 'released', billable: 'no', ...refusal });
      expect([at.items, at.faults]).toEqual([[], []]);
    });
  },
);

describe('a submission to ElevenLabs', () => {
  it('needs a model: by it a lost one is found', async () => {
    const at = await setUp();
    const { model_id: _, ...params } = line.params;
    expect((await at.submit({ ...line, params })).outcome).toMatchObject({
      outcome: 'released',
      reason: 'invalid_input',
      message: expect.stringMatching(/params\.model_id/),
    });
    expect(at.asked).toEqual([]);
  });
});

describe('an account at ElevenLabs', () => {
  it('has as many characters as its limit leaves', async () => {
    const at = await setUp();
    await at.submit(line);
    expect(await at.provider.balance!()).toEqual({ amount: '8987', unit: 'characters' });
    expect(await at.provider.check!()).toEqual({ auth: 'ok', balance: { amount: '8987', unit: 'characters' } });
    expect(at.faults).toEqual([]);
  });

  it('is not shown to a bad key', async () => {
    const at = await setUp({ key: 'sk_nobody' });
    expect((await at.submit(line)).outcome).toMatchObject({ outcome: 'released', reason: 'auth' });
    expect(await at.provider.check!()).toMatchObject({ auth: 'bad' });
    expect(await failureOf(at.provider.balance!())).toMatchObject({ code: 'CREDENTIAL_REFUSED', exit: 78 });
  });
});
