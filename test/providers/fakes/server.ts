import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ffmpeg, makeClip } from '../../media/rig.ts';

/** What stands for a provider in the tests: a real HTTP server that knows its API, and nothing else. */

export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** `undefined` when the body is no JSON. */
  json: unknown;
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  bytes?: Buffer;
  /** `all`: it hangs up instead of answering; `half`: in the middle of the bytes. */
  lost?: 'all' | 'half';
}

/** `path`: of the whole request path; its groups, decoded, go to `answer`. */
export type Route = [method: string, path: RegExp, answer: (asked: Asked, ...groups: string[]) => Reply];

/** A request that no client of this API may make. */
class Fault extends Error {}

/** What the API demands of a request; if it does not hold, the request is a fault, and answered 400. */
export function demand(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Fault(what);
}

export const demandNoMore = (given: object, known: readonly string[]): void => {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  demand(unknown.length === 0, `unknown: ${unknown.join(', ')}`);
};

/** The JSON body of a request, as an object. */
export function bodyOf({ json, headers }: Asked): Record<string, unknown> {
  demand(/^application\/json/.test(headers['content-type'] ?? ''), 'a JSON content type');
  demand(typeof json === 'object' && json !== null, 'a JSON body');
  return json as Record<string, unknown>;
}

export interface Served {
  address: string;
  asked: Asked[];
  /** What a test expects to be empty: requests that the API does not have, or that miss what it demands. */
  faults: string[];
}

/** Serves `routes` on loopback until the test is finished. */
export async function serveRoutes(routes: readonly Route[]): Promise<Served> {
  const asked: Asked[] = [];
  const faults: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url!, 'http://fake');
    const { method = '', headers } = request;
    const one = { method, path: url.pathname, query: url.searchParams, headers, json: parse(Buffer.concat(chunks)) };
    asked.push(one);
    send(response, answerTo(one, routes, faults));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, faults };
}

function answerTo(asked: Asked, routes: readonly Route[], faults: string[]): Reply {
  const { method, path } = asked;
  try {
    for (const [known, pattern, answer] of routes) {
      const found = method === known ? pattern.exec(path) : null;
      if (found) return answer(asked, ...found.slice(1).map(decodeURIComponent));
    }
  } catch (error) {
    faults.push(`${method} ${path}: ${(error as Error).message}`);
    return { status: error instanceof Fault ? 400 : 500, json: { detail: String(error) } };
  }
  faults.push(`${method} ${path}: there is no such operation`);
  return { status: 404, json: { detail: 'Not Found' } };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, { status = 200, headers = {}, json, bytes, lost }: Reply): void {
  if (lost === 'all') return void response.destroy();
  const body = bytes ?? Buffer.from(json === undefined ? '' : JSON.stringify(json));
  response.writeHead(status, {
    ...(json !== undefined && { 'content-type': 'application/json' }),
    'content-length': String(body.length),
    ...headers,
  });
  if (lost !== 'half') return void response.end(body);
  response.write(body.subarray(0, body.length >> 1), () => response.destroy());
}

/** What becomes of a submission, in the order in which a test says so; what it does not say succeeds. */
export type Fate =
  | 'succeed'
  | 'fail'
  /** Stays in the queue. */
  | 'wait'
  /** Is made, but its answer is lost. */
  | 'lose the answer'
  /** Is made, but its bytes are cut off in the middle. */
  | 'cut the answer'
  /** Something is said that is neither yes nor no. */
  | 'break'
  | 'refuse: invalid'
  | 'refuse: no funds'
  | 'refuse: throttled';

export function fates() {
  const told: Fate[] = [];
  return { tell: (...more: Fate[]): void => void told.push(...more), next: (): Fate => told.shift() ?? 'succeed' };
}

/** One after the other, the last for ever. */
export const inTurn = <T>(steps: T[]): (() => T) => {
  const left = [...steps];
  return () => (left.length > 1 ? left.shift()! : left[0]!);
};

const TYPES = { video: ['mp4', 'video/mp4'], image: ['png', 'image/png'], audio: ['mp3', 'audio/mpeg'] } as const;
export type MediaKind = keyof typeof TYPES;

let made: Promise<Record<MediaKind, Buffer>> | undefined;

/** A small real file of each kind, the same in every test. */
export const media = (): Promise<Record<MediaKind, Buffer>> => {
  made ??= makeMedia();
  return made;
};

async function makeMedia(): Promise<Record<MediaKind, Buffer>> {
  const directory = await mkdtemp(join(tmpdir(), 'episode-fakes-'));
  try {
    const video = await makeClip(join(directory, 'v.mp4'), { colour: 'blue', sound: 'mono 22050' });
    const image = join(directory, 'i.png');
    await ffmpeg('-f', 'lavfi', '-i', 'color=c=red:s=32x32', '-frames:v', '1', image);
    const audio = join(directory, 'a.mp3');
    await ffmpeg('-f', 'lavfi', '-i', 'sine=f=440:r=44100:d=0.4', '-b:a', '128k', audio);
    return { video: await readFile(video), image: await readFile(image), audio: await readFile(audio) };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The content network of a provider, on a server of its own: whoever shows it a credential is at fault. */
export async function serveFiles() {
  const files = await media();
  const gone = new Set<string>();
  const served = await serveRoutes([
    [
      'GET',
      /^\/(\w+)\/\w+\.(?:mp4|png|mp3)$/,
      ({ path, headers }, kind) => {
        demand(!headers.authorization && !headers['xi-api-key'], 'no credential for a content network');
        if (gone.has(path)) return { status: 403, json: { error: 'expired' } };
        return { bytes: files[kind as MediaKind], headers: { 'content-type': TYPES[kind as MediaKind][1] } };
      },
    ],
  ]);
  return {
    faults: served.faults,
    address: (kind: MediaKind, name: string): string => `${served.address}/${kind}/${name}.${TYPES[kind][0]}`,
    expire: (address: string): void => void gone.add(new URL(address).pathname),
  };
}
