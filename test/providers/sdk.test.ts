import { ElevenLabsClient, ElevenLabsError } from '@elevenlabs/elevenlabs-js';
import { createFalClient } from '@fal-ai/client';
import Replicate from 'replicate';
import { describe, expect, it } from 'vitest';
import * as elevenlabs from './fakes/elevenlabs.ts';
import * as fal from './fakes/fal.ts';
import * as replicate from './fakes/replicate.ts';
import { deskOf, essence } from './fakes/rig.ts';
import { media } from './fakes/server.ts';

/**
 * The official SDKs, against the same fakes as our mappings: what they send for one call is what a mapping sends, and what
 * a fake answers they can read. Their retries, where they cannot be switched off, would show in the number of requests.
 */

const bytesOf = async (address: string): Promise<Buffer> => Buffer.from(await (await fetch(address)).arrayBuffer());

describe('fal', () => {
  const MODEL = 'fal-ai/kling-video/v2.5/text-to-video';
  const input = { prompt: 'a harbour at dawn', duration: '5', seed: 7, negative_prompt: 'rain – "snow"' };
  const HEADERS = ['authorization', 'content-type', 'x-fal-queue-priority'];

  const setUp = async () => {
    const fake = await fal.serveFal();
    const client = createFalClient({
      credentials: fal.KEY,
      fetch: (url, init) => fetch(String(url).replace('https://queue.fal.run', fake.servers.queue), init),
    });
    const desk = await deskOf('fal', { servers: fake.servers, credentials: { key: fal.KEY } });
    return { fake, client, desk };
  };

  it('is sent what its SDK sends, and that its own retries are not wanted', async () => {
    const { fake, client, desk } = await setUp();
    await client.queue.submit(MODEL, { input: input as never });
    const { outcome } = await desk.submit({ kind: 'video', params: { model: MODEL, ...input } });
    expect(outcome).toMatchObject({ outcome: 'accepted' });
    const [theirs, ours] = fake.asked;
    expect(essence(ours!, HEADERS)).toEqual(essence(theirs!, HEADERS));
    expect(fake.asked.map(({ headers }) => headers['x-fal-no-retry'])).toEqual([undefined, '1']);
    expect(fake.faults).toEqual([]);
  });

  it.each([MODEL, 'workflows/acme/film-video/deep/er', 'comfy/acme/film-video'])(
    'is asked where its SDK asks about %s, with or without the addresses that came with the task',
    async (model) => {
      const { fake, client, desk } = await setUp();
      fake.tell('wait', 'wait');
      const { request_id: requestId } = await client.queue.submit(model, { input: input as never });
      const { task } = await desk.submit({ kind: 'video', params: { model, ...input } });
      const last = async (act: () => unknown): Promise<string> => {
        await act();
        const { method, path } = fake.asked.at(-1)!;
        return `${method} ${path.replace(task.ref, requestId)}`;
      };
      const { provider } = desk;
      const forgetful = { ...task, checkpoint: null };
      const status = await last(() => client.queue.status(model, { requestId }));
      expect(await last(() => provider.status(task))).toBe(status);
      expect(await last(() => provider.status(forgetful))).toBe(status);
      // Ours looks at the status before it cancels.
      const cancel = await last(() => client.queue.cancel(model, { requestId }));
      expect(await last(() => provider.cancel!(task))).toBe(cancel);
      const result = await last(() => client.queue.result(model, { requestId }).catch(() => {}));
      expect(await last(() => provider.fetch(task, '').catch(() => {}))).toBe(result);
      expect(await last(() => provider.fetch(forgetful, '').catch(() => {}))).toBe(result);
      expect(fake.faults).toEqual([]);
    },
  );

  it('answers what its SDK can read, up to the film', async () => {
    const { fake, client } = await setUp();
    const { request_id: requestId } = await client.queue.submit(MODEL, { input: input as never });
    const seen = [];
    for (let look = 0; look < 3; look += 1) seen.push((await client.queue.status(MODEL, { requestId })).status);
    expect(seen).toEqual(['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']);
    const result = await client.queue.result(MODEL, { requestId });
    expect(result.requestId).toBe(requestId);
    const { video } = result.data as unknown as { video: { url: string } };
    expect((await bytesOf(video.url)).equals((await media()).video)).toBe(true);
    expect([fake.asked.length, fake.faults, fake.files.faults]).toEqual([5, [], []]);
  });

  it('fails for its SDK where it fails for us: in the result of what is COMPLETED', async () => {
    const { fake, client } = await setUp();
    fake.tell('fail');
    const { request_id: requestId } = await client.queue.submit(MODEL, { input: input as never });
    for (let look = 0; look < 2; look += 1) await client.queue.status(MODEL, { requestId });
    expect((await client.queue.status(MODEL, { requestId })).status).toBe('COMPLETED');
    await expect(client.queue.result(MODEL, { requestId })).rejects.toMatchObject({
      name: 'ApiError',
      status: 500,
      body: { error_type: 'runner_server_error' },
    });
  });
});

describe('Replicate', () => {
  const MODEL = 'acme/video-maker';
  const input = { prompt: 'a harbour at dawn', steps: 4, seed: 7, guidance: 3.5, negative_prompt: 'rain – "snow"' };
  const HEADERS = ['authorization', 'content-type', 'prefer'];

  const setUp = async () => {
    const fake = await replicate.serveReplicate({ pageSize: 2 });
    const client = new Replicate({ auth: replicate.TOKEN, baseUrl: fake.servers.api });
    const desk = await deskOf('replicate', { servers: fake.servers, credentials: { token: replicate.TOKEN } });
    return { fake, client, desk };
  };

  it('is sent what its SDK sends', async () => {
    const { fake, client, desk } = await setUp();
    await client.predictions.create({ model: MODEL, input });
    const { outcome } = await desk.submit({ kind: 'video', params: { model: MODEL, ...input } });
    expect(outcome).toMatchObject({ outcome: 'accepted' });
    const [theirs, ours, ...more] = fake.asked;
    expect(essence(ours!, HEADERS)).toEqual(essence(theirs!, HEADERS));
    expect([more, fake.faults]).toEqual([[], []]);
  });

  it('is asked where its SDK asks', async () => {
    const { fake, client, desk } = await setUp();
    fake.tell('wait');
    const { task } = await desk.submit({ kind: 'video', params: { model: MODEL, ...input } });
    fake.asked.length = 0;
    await client.predictions.get(task.ref);
    await desk.provider.status(task);
    await client.predictions.list();
    await desk.provider.lookup!(desk.lost({ kind: 'video', params: { model: MODEL, ...input } }));
    await client.accounts.current();
    await desk.provider.check!();
    const lines = fake.asked.map(({ method, path }) => `${method} ${path}`);
    expect(lines.filter((_, index) => index % 2 === 1)).toEqual(lines.filter((_, index) => index % 2 === 0));
    await desk.provider.cancel!(task);
    const canceling = fake.asked.at(-1)!.path;
    await client.predictions.cancel(task.ref);
    expect(canceling).toBe(fake.asked.at(-1)!.path);
    expect(fake.faults).toEqual([]);
  });

  it('answers what its SDK can read, up to the film and to the second page', async () => {
    const { fake, client } = await setUp();
    const { id } = await client.predictions.create({ model: MODEL, input });
    const seen = [];
    for (let look = 0; look < 3; look += 1) seen.push((await client.predictions.get(id)).status);
    expect(seen).toEqual(['starting', 'processing', 'succeeded']);
    const { output } = await client.predictions.get(id);
    expect((await bytesOf(output)).equals((await media()).video)).toBe(true);
    for (let more = 0; more < 2; more += 1) await client.predictions.create({ model: MODEL, input });
    const pages = [];
    for await (const page of client.paginate(client.predictions.list)) pages.push(page.length);
    expect([pages, fake.faults]).toEqual([[2, 1], []]);
  });

  it('is paid six times by its SDK, and once by us, when answers are lost', async () => {
    const { fake, client, desk } = await setUp();
    fake.tell(...Array<'lose the answer'>(7).fill('lose the answer'));
    await expect(client.predictions.create({ model: MODEL, input })).rejects.toThrow('fetch failed');
    expect(fake.predictions).toHaveLength(6);
    const { outcome } = await desk.submit({ kind: 'video', params: { model: MODEL, ...input } });
    expect(outcome).toMatchObject({ outcome: 'unknown', reason: 'reset' });
    expect(fake.predictions).toHaveLength(7);
  });

  it('refuses its SDK in the words in which it refuses us', async () => {
    const { fake, client } = await setUp();
    fake.tell('refuse: no funds');
    await expect(client.predictions.create({ model: MODEL, input })).rejects.toThrow(
      /402 Payment Required: .*You have insufficient credit to run this model/,
    );
    expect(fake.asked).toHaveLength(1);
  });
});

describe('ElevenLabs', () => {
  const VOICE = '21m00Tcm4TlvDq8ikWAM';
  const text = 'Good morning – it is "Friday".';
  const HEADERS = ['xi-api-key', 'content-type'];

  const setUp = async () => {
    const fake = await elevenlabs.serveElevenLabs({ pageSize: 2 });
    const client = new ElevenLabsClient({ apiKey: elevenlabs.KEY, baseUrl: fake.address, maxRetries: 0 });
    const desk = await deskOf('elevenlabs', { servers: fake.servers, credentials: { key: elevenlabs.KEY } });
    return { fake, client, desk };
  };
  const line = {
    kind: 'audio',
    params: {
      voice: VOICE,
      text,
      model_id: 'eleven_multilingual_v2',
      output_format: 'mp3_44100_128',
      seed: 7,
      voice_settings: { stability: 0.5, similarity_boost: 0.75 },
    },
  };
  const request = {
    text,
    modelId: 'eleven_multilingual_v2',
    outputFormat: 'mp3_44100_128',
    seed: 7,
    voiceSettings: { stability: 0.5, similarityBoost: 0.75 },
  } as const;

  it('is sent what its SDK sends', async () => {
    const { fake, client, desk } = await setUp();
    await client.textToSpeech.convert(VOICE, request);
    const { outcome } = await desk.submit(line);
    expect(outcome).toMatchObject({ outcome: 'completed' });
    const [theirs, ours, ...more] = fake.asked;
    expect(essence(ours!, HEADERS)).toEqual(essence(theirs!, HEADERS));
    expect([more, fake.faults]).toEqual([[], []]);
  });

  it('is asked where its SDK asks', async () => {
    const { fake, client, desk } = await setUp();
    const { task } = await desk.submit(line);
    const asked = { ...task, ref: 'item1' };
    fake.asked.length = 0;
    await client.history.get('item1');
    await desk.provider.status(asked);
    await client.history.getAudio('item1');
    await desk.bring(asked);
    await client.history.list({ pageSize: 100, voiceId: VOICE, source: 'TTS' });
    // What was made before the claim ends the list.
    await desk.provider.lookup!(desk.lost(line, new Date(Date.now() + 3_600_000)));
    await client.user.subscription.get();
    await desk.provider.balance!();
    const essences = fake.asked.map((one) => essence(one, ['xi-api-key']));
    expect(essences.filter((_, index) => index % 2 === 1)).toEqual(essences.filter((_, index) => index % 2 === 0));
    expect([essences.length, fake.faults]).toEqual([8, []]);
  });

  it('answers what its SDK can read: bytes, headers, history and subscription', async () => {
    const { fake, client } = await setUp();
    const { data, rawResponse } = await client.textToSpeech.convert(VOICE, request).withRawResponse();
    const bytes = Buffer.from(await new Response(data as never).arrayBuffer());
    expect(bytes.equals(fake.audio)).toBe(true);
    const told = ['request-id', 'history-item-id', 'character-cost'].map((name) => rawResponse.headers.get(name));
    expect(told).toEqual(['req1', 'item1', String(text.length)]);
    const { history, hasMore } = await client.history.list({ pageSize: 100, voiceId: VOICE, source: 'TTS' });
    expect([history[0], hasMore]).toMatchObject([{ historyItemId: 'item1', requestId: 'req1', text }, false]);
    expect(await client.history.get('item1')).toMatchObject({ state: 'created', modelId: 'eleven_multilingual_v2' });
    const again = await new Response((await client.history.getAudio('item1')) as never).arrayBuffer();
    expect(Buffer.from(again).equals(fake.audio)).toBe(true);
    const { characterLimit, characterCount } = await client.user.subscription.get();
    expect([characterLimit, characterCount]).toEqual([10_000, 1000 + text.length]);
    expect(fake.faults).toEqual([]);
  });

  it('refuses its SDK in the words in which it refuses us', async () => {
    const { fake, client } = await setUp();
    fake.tell('refuse: no funds');
    const error = await client.textToSpeech.convert(VOICE, request).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ElevenLabsError);
    expect(error).toMatchObject({ statusCode: 400, body: { detail: { code: 'quota_exceeded' } } });
    expect(fake.asked).toHaveLength(1);
  });
});
