import {
  type Asked,
  bodyOf,
  demand,
  demandNoMore,
  type Fate,
  fates,
  media,
  type Reply,
  serveRoutes,
} from './server.ts';

/** ElevenLabs: api.elevenlabs.io, by its OpenAPI document and https://elevenlabs.io/docs/eleven-api/resources/errors. */

export const KEY = 'sk_0123456789abcdef';
const LIMIT = 10_000;

const TTS_FIELDS = [
  ...['text', 'model_id', 'language_code', 'voice_settings', 'pronunciation_dictionary_locators', 'seed'],
  ...['previous_text', 'next_text', 'previous_request_ids', 'next_request_ids', 'use_pvc_as_ivc'],
  ...['apply_text_normalization', 'apply_language_text_normalization'],
];

interface Item {
  id: string;
  request: string;
  voice: string;
  model: string;
  text: string;
  from: number;
  state: 'created' | 'deleted' | 'processing';
  date: number;
}

/** `tellsItem`: whether an answer carries its history item; `errors`: their shape, with a `code` or a `status`. */
export async function serveElevenLabs({
  pageSize = 100,
  tellsItem = true,
  errors = 'current' as 'current' | 'legacy',
} = {}) {
  const { tell, next } = fates();
  const { audio } = await media();
  /** The newest first. */
  const items: Item[] = [];
  let used = 1000;

  const refusal = (status: number, type: string, code: string, message: string, word = code): Reply => {
    const legacy = { status: word, message };
    return { status, json: { detail: errors === 'legacy' ? legacy : { type, code, message, request_id: 'f1e2' } } };
  };

  const known =
    (answer: (asked: Asked, ...groups: string[]) => Reply) =>
    (asked: Asked, ...groups: string[]): Reply => {
      if (asked.headers['xi-api-key'] === KEY) return answer(asked, ...groups);
      return refusal(401, 'authentication_error', 'unauthorized', 'Invalid API key', 'invalid_api_key');
    };
  const about = (answer: (item: Item) => Reply) =>
    known((_asked, id) => {
      const item = items.find((one) => one.id === id);
      return item
        ? answer(item)
        : refusal(errors === 'legacy' ? 400 : 404, 'not_found', 'history_item_not_found', 'No such item.');
    });

  const convert = (asked: Asked, voice: string): Reply => {
    demandNoMore(Object.fromEntries(asked.query), ['output_format', 'enable_logging', 'optimize_streaming_latency']);
    demand(
      /^(mp3|pcm|opus|ulaw|alaw|wav)_\d+(_\d+)?$/.test(asked.query.get('output_format') ?? 'mp3_44100_128'),
      'a format',
    );
    const body = bodyOf(asked);
    demandNoMore(body, TTS_FIELDS);
    const fate = next();
    const { text, model_id: model = 'eleven_multilingual_v2' } = body as { text?: string; model_id?: string };
    if (fate === 'refuse: invalid' || typeof text !== 'string') {
      return { status: 422, json: { detail: [{ type: 'missing', loc: ['body', 'text'], msg: 'Field required' }] } };
    }
    if (fate === 'refuse: no funds') {
      const message = `This request exceeds your quota of ${LIMIT}. You have 3 credits remaining.`;
      return errors === 'legacy'
        ? refusal(401, '', 'quota_exceeded', message)
        : refusal(400, 'invalid_request', 'quota_exceeded', message);
    }
    if (fate === 'refuse: throttled') {
      const message = 'Too many concurrent requests. Your current plan allows 3.';
      return refusal(429, 'rate_limit_error', 'concurrent_limit_exceeded', message, 'too_many_concurrent_requests');
    }
    const item: Item = {
      id: `item${items.length + 1}`,
      request: `req${items.length + 1}`,
      voice,
      model,
      text,
      from: used,
      state: 'created',
      date: Math.floor(Date.now() / 1000),
    };
    used += text.length;
    items.unshift(item);
    return {
      bytes: audio,
      headers: {
        'content-type': 'audio/mpeg',
        'request-id': item.request,
        ...(tellsItem && { 'history-item-id': item.id }),
        'character-cost': String(text.length),
      },
      ...lossOf(fate),
    };
  };

  const shown = (item: Item) => ({
    history_item_id: item.id,
    request_id: item.request,
    voice_id: item.voice,
    model_id: item.model,
    text: item.text,
    date_unix: item.date,
    character_count_change_from: item.from,
    character_count_change_to: item.from + item.text.length,
    content_type: 'audio/mpeg',
    state: item.state,
    settings: {},
    source: 'TTS',
  });

  const history = ({ query }: Asked): Reply => {
    demandNoMore(Object.fromEntries(query), [
      ...['page_size', 'start_after_history_item_id', 'voice_id', 'search', 'source'],
    ]);
    demand(Number(query.get('page_size') ?? 100) <= 1000, 'at most 1000 items a page');
    demand(['TTS', 'STS', null].includes(query.get('source')), 'a source');
    const all = items.filter(({ voice }) => [voice, null].includes(query.get('voice_id')));
    const after = query.get('start_after_history_item_id');
    const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
    const page = all.slice(start, start + Math.min(pageSize, Number(query.get('page_size') ?? 100)));
    return {
      json: {
        history: page.map(shown),
        last_history_item_id: page.at(-1)?.id ?? null,
        has_more: start + page.length < all.length,
      },
    };
  };

  const bytesOf = ({ state }: Item): Reply => {
    if (state === 'deleted') return refusal(404, 'not_found', 'history_item_not_found', 'It was deleted.');
    return { bytes: audio, headers: { 'content-type': 'audio/mpeg' } };
  };

  const subscription = {
    tier: 'starter',
    character_limit: LIMIT,
    max_character_limit_extension: null,
    can_extend_character_limit: false,
    allowed_to_extend_character_limit: false,
    voice_slots_used: 1,
    professional_voice_slots_used: 0,
    voice_limit: 10,
    voice_add_edit_counter: 0,
    professional_voice_limit: 1,
    can_extend_voice_limit: false,
    can_use_instant_voice_cloning: true,
    can_use_professional_voice_cloning: false,
    status: 'active',
    has_open_invoices: false,
    // Not in the OpenAPI document; the SDK does not read an answer without them.
    max_credit_limit_extension: 0,
    professional_voice_slots_used_in_workspace: 0,
    current_overage: { amount: '0', currency: 'usd' },
    open_invoices: [],
  };

  const served = await serveRoutes([
    ['POST', /^\/v1\/text-to-speech\/([^/]+)$/, known(convert)],
    ['GET', /^\/v1\/history$/, known(history)],
    ['GET', /^\/v1\/history\/([^/]+)$/, about((item) => ({ json: shown(item) }))],
    ['GET', /^\/v1\/history\/([^/]+)\/audio$/, about(bytesOf)],
    ['GET', /^\/v1\/user\/subscription$/, known(() => ({ json: { ...subscription, character_count: used } }))],
  ]);
  return {
    ...served,
    servers: { api: served.address },
    audio,
    items,
    tell,
    expire: (id: string): void => {
      items.find((one) => one.id === id)!.state = 'deleted';
    },
  };
}

const lossOf = (fate: Fate): Pick<Reply, 'lost'> => {
  if (fate === 'lose the answer') return { lost: 'all' };
  return fate === 'cut the answer' ? { lost: 'half' } : {};
};
