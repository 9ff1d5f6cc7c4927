import { createHmac } from 'node:crypto';
import {
  type Asked,
  bodyOf,
  demand,
  demandNoMore,
  fates,
  inTurn,
  type Reply,
  serveFiles,
  serveRoutes,
} from './server.ts';

/** Kling: api-singapore.klingai.com. Every answer is an envelope with a `code` of its own, 0 for a success. */

export const ACCESS_KEY = 'kling-access-0123456789';
export const SECRET_KEY = 'kling-secret-0123456789';

type Status = 'submitted' | 'processing' | 'succeed' | 'failed';

interface KlingTask {
  id: string;
  endpoint: string;
  body: Record<string, unknown>;
  status: Status;
  next: () => Status;
}

const TEXT_TO_VIDEO = [
  ...['model_name', 'prompt', 'negative_prompt', 'sound', 'cfg_scale', 'mode', 'camera_control', 'aspect_ratio'],
  ...['duration', 'callback_url', 'external_task_id'],
];
const FIELDS: Record<string, string[]> = {
  'videos/text2video': TEXT_TO_VIDEO,
  'videos/image2video': [...TEXT_TO_VIDEO, 'image', 'image_tail', 'static_mask', 'dynamic_masks'],
};

export async function serveKling() {
  const { tell, next } = fates();
  const files = await serveFiles();
  const tasks: KlingTask[] = [];
  let refusal: Reply | null = null;

  const known =
    (answer: (asked: Asked, ...groups: string[]) => Reply) =>
    (asked: Asked, ...groups: string[]): Reply => {
      const fault = faultOf(asked.headers.authorization);
      return fault === null ? answer(asked, ...groups) : no(401, ...fault);
    };

  const create = (asked: Asked, endpoint: string): Reply => {
    const body = bodyOf(asked);
    demandNoMore(body, FIELDS[endpoint] ?? []);
    demand(!String(body.image ?? '').startsWith('data:'), 'base64 without a prefix');
    const fate = next();
    if (refusal) return refusal;
    const external = body.external_task_id;
    if (external !== undefined && tasks.some((task) => task.body.external_task_id === external)) {
      return no(400, 1201, 'external_task_id must be unique');
    }
    const task: KlingTask = {
      id: `${Date.now()}${tasks.length}`,
      endpoint,
      body,
      status: 'submitted',
      next: inTurn<Status>(
        fate === 'wait' ? ['submitted'] : ['submitted', 'processing', fate === 'fail' ? 'failed' : 'succeed'],
      ),
    };
    tasks.push(task);
    return fate === 'lose the answer' ? { lost: 'all' } : yes(shown(task));
  };

  const shown = (task: KlingTask) => ({
    task_id: task.id,
    task_status: task.status,
    task_info: { external_task_id: task.body.external_task_id },
    created_at: 1_722_769_557_708,
    updated_at: 1_722_769_557_708,
    ...(task.status === 'failed' && { task_status_msg: 'The content was rejected.' }),
    ...(task.status === 'succeed' && {
      final_unit_deduction: '3.5',
      task_result: { videos: [{ id: 'v1', url: files.address('video', `k${task.id}`), duration: '5' }] },
    }),
  });

  const look = (_asked: Asked, endpoint: string, id: string): Reply => {
    const task = tasks.find((one) => one.endpoint === endpoint && [one.id, one.body.external_task_id].includes(id));
    if (!task) return no(404, 1203, 'The requested resource does not exist');
    if (task.status === 'submitted' || task.status === 'processing') task.status = task.next();
    return yes(shown(task));
  };

  const list = ({ query }: Asked, endpoint: string): Reply => {
    demandNoMore(Object.fromEntries(query), ['pageNum', 'pageSize']);
    const size = Number(query.get('pageSize') ?? 30);
    demand(size >= 1 && size <= 500, 'a page of 1 to 500');
    return yes(
      tasks
        .filter((task) => task.endpoint === endpoint)
        .slice(0, size)
        .map(shown),
    );
  };

  const ENDPOINT = '/v1/(videos/(?:text|image)2video)';
  const served = await serveRoutes([
    ['POST', new RegExp(`^${ENDPOINT}$`), known(create)],
    ['GET', new RegExp(`^${ENDPOINT}$`), known(list)],
    ['GET', new RegExp(`^${ENDPOINT}/([^/]+)$`), known(look)],
  ]);
  return {
    ...served,
    servers: { api: served.address },
    files,
    tasks,
    tell,
    /** With one of its codes (https://app.klingai.com/global/dev/document-api), whatever is submitted from now on. */
    refuse: (status: number, code: number, message: string): void => {
      refusal = no(status, code, message);
    },
  };
}

const envelope = (status: number, code: number, message: string, data?: unknown): Reply => ({
  status,
  json: { code, message, request_id: 'Ck1', ...(data !== undefined && { data }) },
});
const yes = (data: unknown): Reply => envelope(200, 0, 'SUCCEED', data);
const no = (status: number, code: number, message: string): Reply => envelope(status, code, message);

/** What is wrong with a token (RFC 7519, HS256), with Kling's code for it. */
function faultOf(authorization: string | undefined): [number, string] | null {
  if (!authorization) return [1001, 'Authorization is empty'];
  const [, head = '', claims = '', signature = ''] = /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization) ?? [];
  const right = createHmac('sha256', SECRET_KEY).update(`${head}.${claims}`).digest('base64url');
  const { alg, typ } = decode(head);
  const { iss, exp, nbf } = decode(claims) as { iss?: string; exp?: number; nbf?: number };
  if (signature !== right || alg !== 'HS256' || typ !== 'JWT' || iss !== ACCESS_KEY)
    return [1002, 'signature is invalid'];
  const now = Date.now() / 1000;
  if (typeof nbf !== 'number' || nbf > now) return [1003, 'Authorization is not yet valid'];
  if (typeof exp !== 'number' || exp < now || exp > now + 1830) return [1004, 'Authorization is expired'];
  return null;
}

function decode(part: string): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString());
  } catch {
    return {};
  }
}
