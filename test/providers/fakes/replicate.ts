import {
  type Asked,
  bodyOf,
  demand,
  demandNoMore,
  type Fate,
  fates,
  inTurn,
  type MediaKind,
  type Reply,
  serveFiles,
  serveRoutes,
} from './server.ts';

/** Replicate: api.replicate.com/v1, by its OpenAPI document (1.0.0-a1). */

export const TOKEN = 'r8_0123456789abcdef';

type Status = 'starting' | 'processing' | 'succeeded' | 'failed' | 'canceled' | 'aborted';

interface Prediction {
  id: string;
  model: string;
  input: Record<string, unknown>;
  fate: Fate;
  created: Date;
  status: Status;
  next: () => Status;
  removed: boolean;
}

export async function serveReplicate({ pageSize = 100 } = {}) {
  const { tell, next } = fates();
  const files = await serveFiles();
  /** The newest first. */
  const predictions: Prediction[] = [];

  const known =
    (answer: (asked: Asked, ...groups: string[]) => Reply) =>
    (asked: Asked, ...groups: string[]): Reply => {
      if (asked.headers.authorization === `Bearer ${TOKEN}`) return answer(asked, ...groups);
      const detail = 'You did not pass a valid authentication token';
      return { status: 401, json: { title: 'Unauthenticated', detail, status: 401 } };
    };
  const about = (answer: (prediction: Prediction) => Reply) =>
    known((_asked, id) => {
      const prediction = predictions.find((one) => one.id === id);
      return prediction ? answer(prediction) : { status: 404, json: { detail: 'Not found.', status: 404 } };
    });

  const create = (asked: Asked, owner: string, name: string): Reply => {
    const body = bodyOf(asked);
    demandNoMore(body, ['input', 'stream', 'webhook', 'webhook_events_filter']);
    demandNoMore(Object.fromEntries(asked.query), []);
    const input = body.input as Record<string, unknown>;
    demand(typeof input === 'object' && input !== null && !('model' in input), 'the input of the model');
    const prefer = asked.headers.prefer as string | undefined;
    demand(prefer === undefined || /^wait(=([1-9]|[1-5][0-9]|60))?$/.test(prefer), 'a Prefer that waits');
    const fate = next();
    if (fate === 'refuse: no funds') {
      const detail =
        'You have insufficient credit to run this model. Go to https://replicate.com/account/billing#billing to purchase credit.';
      return { status: 402, json: { title: 'Insufficient credit', detail, status: 402 } };
    }
    if (fate === 'refuse: throttled') {
      const detail = 'Request was throttled. Your rate limit resets in ~30s.';
      return { status: 429, headers: { 'retry-after': '30' }, json: { detail } };
    }
    if (fate === 'refuse: invalid') {
      const detail = '- input: prompt is required\n';
      return { status: 422, json: { title: 'Input validation failed', detail, status: 422, invalid_fields: [] } };
    }
    const end: Status = fate === 'fail' ? 'failed' : 'succeeded';
    const prediction: Prediction = {
      id: `p${String(predictions.length + 1).padStart(25, '0')}`,
      model: `${owner}/${name}`,
      input,
      fate,
      created: new Date(),
      status: 'starting',
      next: inTurn<Status>(fate === 'wait' ? ['starting'] : ['starting', 'processing', end]),
      removed: false,
    };
    predictions.unshift(prediction);
    if (fate === 'lose the answer') return { lost: 'all' };
    return { status: 201, json: shown(prediction) };
  };

  const shown = ({ id, model, input, status, created, removed }: Prediction) => {
    const output = { video: (url: string) => url, audio: (url: string) => url, image: (url: string) => [url] };
    const kind = kindOf(model);
    const urls = { get: `${served.address}/v1/predictions/${id}` };
    return {
      id,
      model,
      version: 'hidden',
      input: removed ? {} : input,
      logs: '',
      output: status === 'succeeded' && !removed ? output[kind](files.address(kind, id)) : null,
      data_removed: removed,
      error: status === 'failed' ? 'CUDA out of memory' : null,
      status,
      source: 'api',
      created_at: created.toISOString(),
      urls: { ...urls, cancel: `${urls.get}/cancel`, web: `https://replicate.com/p/${id}` },
      ...(status === 'succeeded' && { metrics: { predict_time: 3.2, total_time: 3.4 } }),
    };
  };

  const isOver = ({ status }: Prediction): boolean => !['starting', 'processing'].includes(status);

  const get = (prediction: Prediction): Reply => {
    if (!isOver(prediction)) prediction.status = prediction.next();
    return { json: shown(prediction) };
  };

  const cancel = (prediction: Prediction): Reply => {
    if (prediction.status === 'starting') prediction.status = 'aborted';
    else if (prediction.status === 'processing') prediction.next = () => 'canceled';
    return { json: shown(prediction) };
  };

  const list = (asked: Asked): Reply => {
    const { query } = asked;
    demandNoMore(Object.fromEntries(query), ['created_after', 'created_before', 'source', 'cursor']);
    const from = Date.parse(query.get('created_after') ?? '1970-01-01T00:00:00Z');
    const to = Date.parse(query.get('created_before') ?? '2970-01-01T00:00:00Z');
    demand(!Number.isNaN(from) && !Number.isNaN(to), 'dates');
    const all = predictions.filter(({ created }) => created.getTime() >= from && created.getTime() < to);
    const at = Number(query.get('cursor') ?? 0);
    const following = new URL(`${served.address}${asked.path}?${query}`);
    following.searchParams.set('cursor', String(at + pageSize));
    return {
      json: {
        previous: null,
        next: all.length > at + pageSize ? following.href : null,
        results: all.slice(at, at + pageSize).map(shown),
      },
    };
  };

  const served = await serveRoutes([
    ['POST', /^\/v1\/models\/([^/]+)\/([^/]+)\/predictions$/, known(create)],
    ['GET', /^\/v1\/predictions$/, known(list)],
    ['GET', /^\/v1\/predictions\/([^/]+)$/, about(get)],
    ['POST', /^\/v1\/predictions\/([^/]+)\/cancel$/, about(cancel)],
    ['GET', /^\/v1\/account$/, known(() => ({ json: { type: 'organization', username: 'acme', name: 'Acme' } }))],
  ]);
  return {
    ...served,
    servers: { api: `${served.address}/v1` },
    files,
    predictions,
    tell,
    /** What happens to every prediction of the API after an hour. */
    remove: (id: string): void => {
      predictions.find((one) => one.id === id)!.removed = true;
    },
  };
}

const kindOf = (model: string): MediaKind =>
  model.includes('video') ? 'video' : model.includes('speech') ? 'audio' : 'image';
