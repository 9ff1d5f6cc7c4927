import {
  type Asked,
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

/** Runware: api.runware.ai/v1, one path for everything (https://runware.ai/docs/platform/introduction). */

export const KEY = 'runware-0123456789';

type Status = 'processing' | 'success' | 'error';

interface RunwareTask {
  task: Record<string, unknown>;
  status: Status;
  next: () => Status;
}

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const MADE: Record<string, [MediaKind, url: string]> = {
  videoInference: ['video', 'videoURL'],
  imageInference: ['image', 'imageURL'],
  audioInference: ['audio', 'audioURL'],
};

export async function serveRunware() {
  const { tell, next } = fates();
  const files = await serveFiles();
  const tasks: RunwareTask[] = [];

  const run = ({ headers, json }: Asked): Reply => {
    if (headers.authorization !== `Bearer ${KEY}`) {
      return errors(401, 'invalidApiKey', 'Invalid API key. Get one at https://runware.ai/signup', {
        taskType: 'authentication',
      });
    }
    demand(/^application\/json/.test(headers['content-type'] ?? ''), 'a JSON content type');
    demand(Array.isArray(json) && json.length === 1, 'a list of one task');
    const [task] = json as [Record<string, unknown>];
    const { taskType, taskUUID } = task;
    demand(typeof taskUUID === 'string' && UUID_V4.test(taskUUID), 'a version 4 UUID');
    if (taskType === 'getResponse') return look(task);
    if (taskType === 'accountManagement') return account(task);
    demand(String(taskType) in MADE, 'a taskType');
    return start(task);
  };

  const start = (task: Record<string, unknown>): Reply => {
    const { taskUUID, taskType } = task;
    const told = { taskUUID, taskType };
    const fate: Fate = next();
    if (fate === 'refuse: invalid' || typeof task.model !== 'string') {
      return errors(400, 'invalidDuration', "Invalid value for 'duration'.", { ...told, parameter: 'duration' });
    }
    if (fate === 'refuse: no funds') {
      return errors(402, 'insufficientCredits', 'Insufficient credits. Please top up your balance.', told);
    }
    if (fate === 'refuse: throttled') return errors(429, 'rateLimitExceeded', 'Too many requests.', told);
    demand(task.deliveryMethod === 'async', 'a task that is asked about');
    if (tasks.some((known) => known.task.taskUUID === taskUUID)) {
      return errors(400, 'conflictTaskUUID', 'The taskUUID is already in use.', told);
    }
    if (fate === 'break') return { json: { data: [] } };
    const end: Status = fate === 'fail' ? 'error' : 'success';
    tasks.push({
      task,
      status: 'processing',
      next: inTurn<Status>(fate === 'wait' ? ['processing'] : ['processing', 'processing', end]),
    });
    return fate === 'lose the answer' ? { lost: 'all' } : { json: { data: [told] } };
  };

  const look = (asked: Record<string, unknown>): Reply => {
    demandNoMore(asked, ['taskType', 'taskUUID']);
    const found = tasks.find(({ task }) => task.taskUUID === asked.taskUUID);
    if (!found) return errors(400, 'taskNotFound', 'No task has this taskUUID.', asked);
    if (found.status === 'processing') found.status = found.next();
    const { taskUUID, taskType, includeCost } = found.task;
    const told = { taskUUID, taskType, status: found.status };
    if (found.status === 'error') return errors(200, 'timeoutProvider', 'The provider did not answer.', told);
    if (found.status === 'processing') return { json: { data: [{ ...told, progress: 30 }] } };
    const [kind, url] = MADE[String(taskType)]!;
    const address = files.address(kind, String(taskUUID).replaceAll('-', ''));
    return { json: { data: [{ ...told, [url]: address, ...(includeCost === true && { cost: 0.0421 }) }] } };
  };

  const account = ({ taskUUID, operation }: Record<string, unknown>): Reply => {
    demand(operation === 'getDetails', 'an operation');
    return { json: { data: [{ taskType: 'accountManagement', taskUUID, balance: 12.3456 }] } };
  };

  const served = await serveRoutes([['POST', /^\/v1$/, run]]);
  return { ...served, servers: { api: served.address }, files, tasks, tell };
}

const errors = (status: number, code: string, message: string, more: object): Reply => ({
  status,
  json: { ...(status === 200 && { data: [] }), errors: [{ code, message, ...more }] },
});
