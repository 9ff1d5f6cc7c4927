import { credentialRefused, type EpisodeError, providerProtocol, providerUnreachable } from '../../errors.ts';
import type { Redaction } from '../redact.ts';
import { presentable } from '../redact.ts';
import type { Reach } from './address.ts';
import { type Answer, answerOf, messageOf } from './answer.ts';
import { authorize } from './auth.ts';
import { type Exchange, exchange, type Sent } from './exchange.ts';
import type { Body, Mapping, Request } from './mapping.ts';
import { fillJson, fillPath, fillText, Missing, paramsIn, type Values } from './template.ts';
import { mimeOf } from './values.ts';

const TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Base64 is a third larger than what it holds, and words stand around it. */
const ENCODED = 1.4;
const USER_AGENT = 'episode';

/** One provider's API, by its mapping. */
export interface Client {
  readonly name: string;
  readonly mapping: Mapping;
  readonly redact: Redaction;
  readonly reach: Reach;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The request, complete. Throws `Missing`, and errno errors of the files that are put in. */
  build(request: Request, values: Values): Promise<Sent>;
  /** A free request that can be asked again: its whole answer. Throws `PROVIDER_UNREACHABLE` (69), `CREDENTIAL_REFUSED` (78), `PROVIDER_PROTOCOL` (76). */
  ask(
    op: string,
    request: Request,
    values: Values,
    keepBody?: Sent['keepBody'],
  ): Promise<Answer & { file: string | null }>;
  /** Whether an address is of one of the provider's own servers, which are shown the credential. */
  isOwn(url: URL): boolean;
  authorized(sent: Sent, values: Values): Sent;
  /** A time limit, milliseconds, no longer than what this client waits at most. */
  atMost(ms: number): number;
}

export interface ClientOptions {
  name: string;
  mapping: Mapping;
  /** Complete: those of the mapping and what replaces them. */
  servers: Record<string, string>;
  redact: Redaction;
  reach: Reach;
  now: () => number;
  interrupted?: AbortSignal | undefined;
  /** The longest that any request may take, milliseconds, whatever the mapping says. */
  timeoutMs?: number | undefined;
}

export function createClient(options: ClientOptions): Client {
  const { name, mapping, servers, redact, reach, now, interrupted, timeoutMs: longest = Infinity } = options;
  const placed = paramsIn(mapping.submit.request);
  const own = new Set(Object.values(servers).map((server) => new URL(server).origin));

  function addressOf(request: Request, values: Values): URL {
    const server = servers[request.server]!;
    const kept = request.kept === undefined ? undefined : (values.kept as Values | undefined)?.[request.kept];
    // An address that leads elsewhere would be shown the credential.
    if (typeof kept === 'string' && URL.canParse(kept) && new URL(kept).origin === new URL(server).origin)
      return new URL(kept);
    return new URL(`${server}${fillPath(request.path, values)}`);
  }

  const client: Client = {
    name,
    mapping,
    redact,
    reach,
    now,
    isOwn: (url) => own.has(url.origin),
    atMost: (ms) => Math.min(ms, longest),
    authorized(sent, values) {
      const { headers, query } = authorize(mapping.auth, values, now());
      const url = new URL(sent.url);
      for (const [parameter, value] of Object.entries(query)) url.searchParams.set(parameter, value);
      return { ...sent, url, headers: { ...sent.headers, ...headers } };
    },
    async build(request, values) {
      const url = addressOf(request, values);
      for (const [parameter, template] of Object.entries(request.query ?? {})) {
        const value = fillText(template, values);
        if (value !== undefined) url.searchParams.set(parameter, value);
      }
      const headers: Record<string, string> = { accept: '*/*', 'user-agent': USER_AGENT };
      for (const [header, template] of Object.entries({ ...mapping.headers, ...request.headers })) {
        const value = fillText(template, values);
        if (value !== undefined) headers[header.toLowerCase()] = value;
      }
      const body = request.body && (await encode(request.body, values, restOf(values, placed)));
      if (body) headers['content-type'] = body.type;
      const timeoutMs = request.timeout_seconds === undefined ? TIMEOUT_MS : 1000 * request.timeout_seconds;
      const bare = {
        method: request.method,
        url,
        headers,
        body: body?.bytes,
        timeoutMs: client.atMost(timeoutMs),
        maxBytes: Math.max(MAX_ANSWER_BYTES, Math.ceil(ENCODED * (mapping.limits.result_bytes ?? 0))),
        reach,
      };
      return client.authorized(bare, values);
    },
    async ask(op, request, values, keepBody) {
      const sent = await client.build(request, values).catch((error: unknown) => {
        throw error instanceof Missing ? providerProtocol(name, op, `its mapping: ${error.message}`) : error;
      });
      const got = await exchange({ ...sent, signal: interrupted, ...(keepBody && { keepBody }) });
      if (got.how !== 'answered') throw providerUnreachable(name, op, presentable(whyNot(got), redact));
      const answer = { ...answerOf(got), file: got.file };
      if (got.status === 401) throw credentialRefused(name, op, presentable(wordsOf(answer, mapping), redact));
      return answer;
    },
  };
  return client;
}

/** What `$rest` stands for: the step's parameters without those that the submission puts somewhere itself. */
export const restOf = (values: Values, placed: ReadonlySet<string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries((values.params ?? {}) as object).filter(([param]) => !placed.has(param)));

export const whyNot = (got: Exclude<Exchange, { how: 'answered' }>): string =>
  got.how === 'not-sent' ? `no connection (${got.message})` : `no whole answer (${got.reason}: ${got.message})`;

/** A status and what is said beside it. */
export const wordsOf = (answer: Answer, mapping: Mapping): string => {
  const said = messageOf(answer, mapping.message);
  return said === undefined ? `status ${answer.status}` : `${said} (status ${answer.status})`;
};

/** An answer that says no, where only a yes is any use. Throws `PROVIDER_UNREACHABLE` (69). */
export function refuseNo(client: Client, op: string, answer: Answer): void {
  if (answer.status >= 200 && answer.status < 300) return;
  throw unusable(client, op, wordsOf(answer, client.mapping));
}

export const unusable = ({ name, redact }: Client, op: string, why: string): EpisodeError =>
  providerUnreachable(name, op, presentable(why, redact));

async function encode(
  body: Body,
  values: Values,
  rest: Record<string, unknown>,
): Promise<{ bytes: Buffer; type: string }> {
  if ('json' in body) {
    return { bytes: Buffer.from(JSON.stringify(fillJson(body.json, values, rest))), type: 'application/json' };
  }
  const form = new FormData();
  const add = (name: string, value: unknown): void => {
    if (value !== undefined) form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  };
  for (const part of body.multipart) {
    if ('rest' in part) for (const [name, value] of Object.entries(rest)) add(name, value);
    else if ('value' in part) add(part.name, fillJson(part.value, values, rest));
    else await addFile(form, part, values);
  }
  const encoded = new Response(form);
  return { bytes: Buffer.from(await encoded.arrayBuffer()), type: encoded.headers.get('content-type')! };
}

async function addFile(
  form: FormData,
  part: { name: string; file: string; filename?: string | undefined; mime?: string | undefined },
  values: Values,
): Promise<void> {
  const path = fillText(part.file, values);
  if (path === undefined) return;
  const { readFile } = await import('node:fs/promises');
  const filename =
    part.filename === undefined ? path.slice(path.lastIndexOf('/') + 1) : fillText(part.filename, values);
  form.append(part.name, new Blob([await readFile(path)], { type: part.mime ?? mimeOf(path) }), filename);
}
