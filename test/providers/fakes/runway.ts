import { randomUUID } from 'node:crypto';
import {
  type Asked,
  bodyOf,
  demand,
  type Fate,
  fates,
  inTurn,
  type MediaKind,
  type Reply,
  serveFiles,
  serveRoutes,
} from './server.ts';

/** Runway: api.dev.runwayml.com, by its OpenAPI document (2024-11-06). */

export const SECRET = `key_${'0123456789abcdef'.repeat(8)}`;

type Status = 'PENDING' | 'THROTTLED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';

interface RunwayTask {
  id: string;
  endpoint: string;
  body: Record<string, unknown>;
  status: Status;
  next: () => Status;
  /** Its addresses are new with each look at it. */
  looks: number;
}

/** What each kind of task cannot do without. */
const REQUIRED: Record<string, string[]> = {
  text_to_video: ['promptText', 'ratio', 'model'],
  image_to_video: ['promptImage', 'ratio', 'model'],
  text_to_image: ['promptText', 'ratio', 'model'],
  text_to_speech: ['promptText', 'model'],
};

const ORGANIZATION = { tier: { maxMonthlyCreditSpend: 10_000, models: {} }, usage: { models: {} } };

export async function serveRunway() {
  const { tell, next } = fates();
  const files = await serveFiles();
  const tasks: RunwayTask[] = [];
  let credits = 1000;

  const known =
    (answer: (asked: Asked, ...groups: string[]) => Reply) =>
    (asked: Asked, ...groups: string[]): Reply => {
      demand(asked.headers['x-runway-version'] === '2024-11-06', 'X-Runway-Version');
      if (asked.headers.authorization === `Bearer ${SECRET}`) return answer(asked, ...groups);
      return { status: 401, json: { error: 'The provided API key is not valid.' } };
    };
  const about = (answer: (task: RunwayTask) => Reply) =>
    known((_asked, id) => {
      const task = tasks.find((one) => one.id === id);
      return task ? answer(task) : { status: 404, json: { error: 'Task not found.' } };
    });

  const start = (asked: Asked, endpoint: string): Reply => {
    const body = bodyOf(asked);
    const required = REQUIRED[endpoint];
    demand(required !== undefined, 'an endpoint that makes something');
    const fate: Fate = next();
    const missing = required.filter((name) => body[name] === undefined);
    if (fate === 'refuse: invalid' || missing.length > 0) {
      const issues = [{ code: 'invalid_type', path: missing, message: 'Required' }];
      return {
        status: 400,
        json: { error: 'Validation of body failed', issues, docUrl: 'https://docs.dev.runwayml.com/api' },
      };
    }
    if (fate === 'refuse: no funds') {
      return { status: 400, json: { error: 'You do not have enough credits to run this task.' } };
    }
    if (fate === 'refuse: throttled') {
      return { status: 429, json: { error: 'You have exceeded the rate limit for this endpoint.' } };
    }
    const task: RunwayTask = {
      id: randomUUID(),
      endpoint,
      body,
      status: 'PENDING',
      next: inTurn<Status>(
        fate === 'wait' ? ['THROTTLED'] : ['THROTTLED', 'RUNNING', fate === 'fail' ? 'FAILED' : 'SUCCEEDED'],
      ),
      looks: 0,
    };
    tasks.push(task);
    if (fate === 'lose the answer') return { lost: 'all' };
    return { json: { id: task.id, estimatedCost: { credits: 25 } } };
  };

  const isOver = ({ status }: RunwayTask): boolean => ['SUCCEEDED', 'FAILED', 'CANCELLED'].includes(status);

  const look = (task: RunwayTask): Reply => {
    if (!isOver(task)) task.status = task.next();
    const known = { id: task.id, createdAt: '2026-08-07T09:00:00.000Z', status: task.status };
    if (task.status === 'RUNNING') return { json: { ...known, progress: 0.2, estimatedCost: { credits: 25 } } };
    if (!isOver(task)) return { json: { ...known, estimatedCost: { credits: 25 } } };
    if (task.status === 'SUCCEEDED') {
      task.looks += 1;
      const output = [files.address(kindOf(task.endpoint), `${task.id.replaceAll('-', '')}n${task.looks}`)];
      credits -= task.looks === 1 ? 20 : 0;
      return { json: { ...known, output, cost: { credits: 20 } } };
    }
    if (task.status === 'CANCELLED') return { json: { ...known, cost: { credits: 0 } } };
    const failure = 'The provided image was flagged by content moderation.';
    return { json: { ...known, failure, failureCode: 'SAFETY.INPUT.IMAGE', cost: { credits: 0 } } };
  };

  /** Whatever is over is deleted, its output with it. */
  const end = (task: RunwayTask): Reply => {
    if (isOver(task)) tasks.splice(tasks.indexOf(task), 1);
    else task.status = 'CANCELLED';
    return { status: 204 };
  };

  const served = await serveRoutes([
    ['GET', /^\/v1\/tasks\/([0-9a-f-]{36})$/, about(look)],
    ['DELETE', /^\/v1\/tasks\/([0-9a-f-]{36})$/, about(end)],
    ['GET', /^\/v1\/organization$/, known(() => ({ json: { ...ORGANIZATION, creditBalance: credits } }))],
    ['POST', /^\/v1\/(\w+)$/, known(start)],
  ]);
  return { ...served, servers: { api: served.address }, files, tasks, tell };
}

const kindOf = (endpoint: string): MediaKind =>
  endpoint.endsWith('image') ? 'image' : endpoint.endsWith('speech') ? 'audio' : 'video';
