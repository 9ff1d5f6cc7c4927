import { randomUUID } from 'node:crypto';
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
  type Route,
  serveFiles,
  serveRoutes,
} from './server.ts';

/**
 * fal: queue.fal.run (https://fal.ai/docs/api-reference/inference-api) below `/queue` and api.fal.ai/v1 (its platform
 * OpenAPI) below `/api/v1`. Billing is shown to admin keys only.
 */

export const KEY = 'fal-key-0123456789:secret';
export const ADMIN_KEY = 'fal-admin-0123456789:secret';

interface Request {
  request_id: string;
  model: string;
  input: Record<string, unknown>;
  fate: Fate;
  sent: Date;
  status: () => 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED';
  seen: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED';
  cancelled: boolean;
}

const INVALID: Reply = {
  status: 422,
  json: { detail: [{ loc: ['body', 'duration'], msg: 'Input should be 5 or 10', type: 'literal_error', input: 7 }] },
};
const FAILURE: Reply = {
  status: 500,
  headers: { 'x-fal-error-type': 'runner_server_error' },
  json: { detail: 'The runner encountered an internal server error', error_type: 'runner_server_error' },
};
const CANCELLED: Reply = {
  status: 499,
  headers: { 'x-fal-error-type': 'client_cancelled' },
  json: { detail: 'Request was cancelled by the client', error_type: 'client_cancelled' },
};

/** `app`: where its addresses lead, if not to the model's own; `tells`: what the status says of a failure. */
interface Ways {
  pageSize?: number;
  app?: string;
  tells?: ('error' | 'error_type')[];
}

export async function serveFal({ pageSize = 100, app: other, tells = [] }: Ways = {}) {
  const { tell, next } = fates();
  const files = await serveFiles();
  const requests: Request[] = [];
  let failure: Reply = FAILURE;

  const isAdmin = ({ headers }: Asked): boolean => headers.authorization === `Key ${ADMIN_KEY}`;
  const isKnown = (asked: Asked): boolean => isAdmin(asked) || asked.headers.authorization === `Key ${KEY}`;
  const queued =
    (answer: (asked: Asked, request: Request) => Reply) =>
    (asked: Asked, app: string, id: string): Reply => {
      if (!isKnown(asked)) return { status: 401, json: { detail: 'invalid key credentials' } };
      const request = requests.find(({ request_id }) => request_id === id);
      if (!request || (other ?? appOf(request.model)) !== app) return { status: 404, json: { status: 'NOT_FOUND' } };
      return answer(asked, request);
    };
  const platform =
    (isAllowed: (asked: Asked) => boolean, answer: (asked: Asked) => Reply) =>
    (asked: Asked): Reply => {
      if (!isKnown(asked)) return refusal(401, 'authorization_error', 'Authentication required');
      return isAllowed(asked) ? answer(asked) : refusal(403, 'authorization_error', 'Access denied');
    };

  const submit = (asked: Asked, model: string): Reply => {
    if (!isKnown(asked)) return { status: 401, json: { detail: 'invalid key credentials' } };
    demand(['1', undefined].includes(asked.headers['x-fal-no-retry'] as string), 'x-fal-no-retry is 1');
    demand(['normal', 'low', undefined].includes(asked.headers['x-fal-queue-priority'] as string), 'a priority');
    demandNoMore(Object.fromEntries(asked.query), ['fal_webhook', 'fal_max_queue_length']);
    const input = bodyOf(asked);
    demand(!Array.isArray(input) && !('model' in input), 'the input of the model, and nothing else');
    const fate = next();
    if (fate === 'refuse: no funds') {
      const detail = 'User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.';
      return { status: 403, json: { detail } };
    }
    if (fate === 'refuse: throttled') return { status: 429, json: { detail: 'Queue length limit exceeded' } };
    if (fate === 'refuse: invalid') return INVALID;
    const request: Request = {
      request_id: randomUUID(),
      model,
      input,
      fate,
      sent: new Date(),
      status: inTurn(fate === 'wait' ? ['IN_QUEUE'] : ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']),
      seen: 'IN_QUEUE',
      cancelled: false,
    };
    requests.push(request);
    if (fate === 'lose the answer') {
      request.seen = 'COMPLETED';
      request.status = () => 'COMPLETED';
      return { lost: 'all' };
    }
    return {
      headers: { 'x-fal-request-id': request.request_id },
      json: { status: 'IN_QUEUE', queue_position: 0, ...addresses(request) },
    };
  };

  const addresses = ({ request_id, model }: Request) => {
    const base = `${served.address}/queue/${other ?? appOf(model)}/requests/${request_id}`;
    return { request_id, response_url: base, status_url: `${base}/status`, cancel_url: `${base}/cancel` };
  };

  const status = (_asked: Asked, request: Request): Reply => {
    request.seen = request.cancelled ? 'COMPLETED' : request.status();
    const known = { status: request.seen, ...addresses(request) };
    if (request.seen === 'IN_QUEUE') return { status: 202, json: { ...known, queue_position: 0 } };
    if (request.seen === 'IN_PROGRESS') return { status: 202, json: { ...known, logs: [] } };
    const { detail, error_type } = (request.cancelled ? CANCELLED : failure).json as Record<string, unknown>;
    const said = { error: detail, error_type };
    const told = request.cancelled ? (['error', 'error_type'] as const) : request.fate === 'fail' ? tells : [];
    const metrics = { inference_time: 3.42 };
    return { json: { ...known, logs: [], metrics, ...Object.fromEntries(told.map((name) => [name, said[name]])) } };
  };

  const output = (request: Request): Reply => {
    const { request_id, input, model, fate } = request;
    if (request.cancelled) return CANCELLED;
    if (request.seen !== 'COMPLETED') return { status: 400, json: { detail: 'Request is still in progress' } };
    if (fate === 'fail') return failure;
    const headers = { 'x-fal-request-id': request_id };
    const kind = kindOf(model);
    const file = { url: files.address(kind, request_id.replaceAll('-', '')), content_type: `${kind}/*` };
    const shapes = { video: { video: file }, image: { images: [file] }, audio: { audio: file } };
    return { headers, json: { ...shapes[kind], seed: input.seed ?? 42 } };
  };

  const cancel = (_asked: Asked, request: Request): Reply => {
    if (request.seen === 'COMPLETED') return { status: 400, json: { status: 'ALREADY_COMPLETED' } };
    if (request.seen === 'IN_PROGRESS') return { status: 202, json: { status: 'CANCELLATION_REQUESTED' } };
    request.cancelled = true;
    return { json: { status: 'OK' } };
  };

  /** Rows appear once a request was started. */
  const byEndpoint = ({ query }: Asked): Reply => {
    demandNoMore(Object.fromEntries(query), [
      ...['limit', 'cursor', 'endpoint_id', 'start', 'end', 'status', 'request_id', 'expand', 'sort_by'],
    ]);
    demand(Boolean(query.get('endpoint_id')), 'an endpoint_id');
    const start = query.get('start') ?? new Date(Date.now() - 86_400_000).toISOString();
    demand(!Number.isNaN(Date.parse(start)), 'a start that is a date');
    demand(Number(query.get('limit') ?? 50) <= 100, 'at most 100 rows a page');
    const page = query.has('cursor') ? Number(Buffer.from(query.get('cursor')!, 'base64')) : 1;
    const rows = requests.filter(
      ({ model, seen, sent }) =>
        model === query.get('endpoint_id') && seen !== 'IN_QUEUE' && sent.getTime() >= Date.parse(start),
    );
    const size = Math.min(pageSize, Number(query.get('limit') ?? 50));
    const isMore = rows.length > page * size;
    return {
      json: {
        items: rows.slice((page - 1) * size, page * size).map((request) => ({
          request_id: request.request_id,
          endpoint_id: request.model,
          sent_at: request.sent.toISOString(),
          started_at: request.sent.toISOString(),
          ended_at: null,
          status_code: null,
          duration: null,
          ...(query.get('expand') === 'payloads' && { json_input: request.input, json_output: null }),
        })),
        next_cursor: isMore ? Buffer.from(String(page + 1)).toString('base64') : null,
        has_more: isMore,
      },
    };
  };

  const billingEvents = ({ query }: Asked): Reply => {
    demandNoMore(Object.fromEntries(query), ['limit', 'cursor', 'start', 'end', 'endpoint_id', 'request_id', 'expand']);
    const wanted = query.get('request_id')?.split(',');
    const billed = requests.filter(({ fate, seen }) => seen === 'COMPLETED' && fate !== 'fail');
    return {
      json: {
        next_cursor: null,
        has_more: false,
        billing_events: billed
          .filter(({ request_id }) => wanted?.includes(request_id) ?? true)
          .map(({ request_id, model, sent }) => ({
            request_id,
            endpoint_id: model,
            timestamp: sent.toISOString(),
            output_units: 5,
            unit_price: 0.07,
            percent_discount: 10,
            cost_subtotal: 0.35,
            cost_discount: 0.035,
            // As a float subtraction gives it.
            cost_total: 0.35 - 0.035,
            cost_estimate_nano_usd: 315_000_000,
          })),
      },
    };
  };

  const pricing = ({ query }: Asked): Reply => {
    demand(Boolean(query.get('endpoint_id')), 'an endpoint_id');
    const price = { endpoint_id: query.get('endpoint_id'), unit_price: 0.025, unit: 'megapixels', currency: 'USD' };
    return { json: { prices: [price], next_cursor: null, has_more: false } };
  };

  const billing = ({ query }: Asked): Reply => {
    const credits = query.get('expand') === 'credits' && { credits: { current_balance: 24.5, currency: 'USD' } };
    return { json: { username: 'my-team', ...credits } };
  };

  const APP = '((?:(?:workflows|comfy)/)?[^/]+/[^/]+)';
  const below = (rest: string): RegExp => new RegExp(`^/queue/${APP}/requests/([^/]+)${rest}$`);
  const routes: Route[] = [
    ['GET', below('/status'), queued(status)],
    ['GET', below(''), queued((_asked, request) => output(request))],
    ['PUT', below('/cancel'), queued(cancel)],
    ['POST', /^\/queue\/([^/]+\/.+)$/, submit],
    ['GET', /^\/api\/v1\/models\/requests\/by-endpoint$/, platform(isKnown, byEndpoint)],
    ['GET', /^\/api\/v1\/models\/billing-events$/, platform(isAdmin, billingEvents)],
    ['GET', /^\/api\/v1\/models\/pricing$/, platform(isKnown, pricing)],
    ['GET', /^\/api\/v1\/account\/billing$/, platform(isAdmin, billing)],
  ];
  const served = await serveRoutes(routes);
  return {
    ...served,
    servers: { queue: `${served.address}/queue`, api: `${served.address}/api/v1` },
    files,
    requests,
    tell,
    /** What the result of a request that fails is from now on. */
    failWith: (reply: Reply): void => {
      failure = reply;
    },
  };
}

/** Below it a model's requests are asked for. */
const appOf = (model: string): string => /^(?:(?:workflows|comfy)\/)?[^/]+\/[^/]+/.exec(model)![0];

const kindOf = (model: string): MediaKind =>
  model.includes('video') ? 'video' : model.includes('speech') ? 'audio' : 'image';

const refusal = (status: number, type: string, message: string): Reply => ({
  status,
  json: { error: { type, message } },
});
