import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { providerProtocol } from '../../errors.ts';
import type { ProvidedFile } from '../../model/protocol.ts';
import { presentable } from '../redact.ts';
import type { Answer } from './answer.ts';
import { type Client, unusable, whyNot } from './client.ts';
import { type Exchange, exchange, type Head, type Sent } from './exchange.ts';
import type { Mapping } from './mapping.ts';
import { excerptOf } from './outcome.ts';
import { find } from './pointer.ts';
import type { Values } from './template.ts';
import { endingOf } from './values.ts';

type Shape = NonNullable<Mapping['result']>['result'];

const MAX_RESULT_BYTES = 4 * 1024 ** 3;
const RESULT_SECONDS = 1_800;
/** A content network may send on to where a file lies; nothing that is paid is ever asked for this way. */
const MAX_REDIRECTS = 5;
const GONE = [403, 404, 410];

/** The result is no longer where the provider said. */
export class Gone extends Error {}

const limitsOf = ({ limits }: Mapping) => ({
  maxBytes: limits.result_bytes ?? MAX_RESULT_BYTES,
  timeoutMs: 1000 * (limits.result_seconds ?? RESULT_SECONDS),
});

/** An answer in words, which is no result; a text that was asked for is one, and a web page never is. */
function isInWords(headers: Head['headers'], kind: string): boolean {
  const type = headers['content-type'] ?? '';
  if (kind === 'text' && /^text\/(?!html)/i.test(type)) return false;
  return /^(text\/|application\/(json|problem))/i.test(type);
}

const isEncoded = (headers: Head['headers']): boolean => !['', 'identity'].includes(headers['content-encoding'] ?? '');

/** For an answer that is the result itself: its bytes go to a file of `outputDir`, and an answer in words is read. */
export const bytesTo =
  (
    client: Client,
    { outputDir, kind }: { outputDir: string; kind: string },
    onResult: (head: Head) => Promise<void> = async () => {},
  ): NonNullable<Sent['keepBody']> =>
  async (head) => {
    if (head.status < 200 || head.status >= 300 || isInWords(head.headers, kind)) return null;
    await onResult(head);
    if (isEncoded(head.headers)) return null;
    return {
      file: join(outputDir, `output${endingOf(head.headers['content-type'] ?? '')}`),
      maxBytes: limitsOf(client.mapping).maxBytes,
    };
  };

/** No bytes are no result, whatever the status says. */
export const isEmpty = async (file: string): Promise<boolean> => (await stat(file)).size === 0;

export const providedFile = (file: string, headers: Head['headers']): ProvidedFile => {
  const mime = (headers['content-type'] ?? '').split(';')[0]!.trim();
  return mime ? { path: file, mime } : { path: file };
};

/**
 * The files of a result that is told as JSON: downloaded or decoded into `outputDir`. Throws `PROVIDER_PROTOCOL` (76) where
 * there is none, `PROVIDER_UNREACHABLE` (69), `Gone`.
 */
export async function filesOf(
  client: Client,
  answer: Answer,
  shape: Exclude<Shape, 'bytes'>,
  task: { kind: string; values: Values },
  outputDir: string,
): Promise<ProvidedFile[]> {
  const addresses = (shape.files ?? [])
    .map((pointer) => find(answer.json, pointer).filter(isAddress))
    .find((found) => found.length > 0);
  if (addresses) {
    const files: ProvidedFile[] = [];
    for (const [index, address] of addresses.entries()) {
      const name = `${addresses.length > 1 ? `${index + 1}-` : ''}${nameIn(client.redact.text(address))}`;
      files.push(await bring(client, address, task, join(outputDir, name)));
    }
    return files;
  }
  const encoded = shape.base64 === undefined ? undefined : find(answer.json, shape.base64)[0];
  if (typeof encoded === 'string') return [await put(join(outputDir, 'output'), Buffer.from(encoded, 'base64'))];
  const said = shape.text === undefined ? [] : find(answer.json, shape.text).flat();
  if (said.length > 0 && said.every((part) => typeof part === 'string')) {
    return [{ ...(await put(join(outputDir, 'output.txt'), Buffer.from(said.join('')))), mime: 'text/plain' }];
  }
  const excerpt = presentable(excerptOf(answer, client, 300), client.redact);
  throw providerProtocol(client.name, 'fetch', `there is no result where its mapping looks for one: ${excerpt}`);
}

const isAddress = (value: unknown): value is string => typeof value === 'string' && /^(https?:|data:)/i.test(value);

/** Letters that are harmless in a file name; what an address has beside its path says nothing. */
function nameIn(address: string): string {
  if (/^data:/i.test(address)) return `output${endingOf(/^data:([^;,]*)/i.exec(address)![1]!)}`;
  if (!URL.canParse(address)) return 'output';
  const last = new URL(address).pathname.split('/').at(-1)!;
  return (
    last
      .replace(/[^A-Za-z0-9._-]+/g, '_')
      .replace(/^[._-]+/, '')
      .slice(-80) || 'output'
  );
}

async function put(path: string, bytes: Buffer): Promise<ProvidedFile> {
  await writeFile(path, bytes, { flag: 'wx', mode: 0o600 });
  return { path };
}

async function bring(
  client: Client,
  address: string,
  task: { kind: string; values: Values },
  path: string,
): Promise<ProvidedFile> {
  const data = /^data:([^;,]*)(?:;[^;,=]+=[^;,]*)*(;base64)?,(.*)$/is.exec(address);
  if (data) return put(path, data[2] ? Buffer.from(data[3]!, 'base64') : Buffer.from(decodeURIComponent(data[3]!)));
  return download(client, address, task, path);
}

/**
 * One file over http(s), bounded in size and time, never from a private address that nobody named. The credential is shown
 * to the provider's own servers only.
 */
async function download(
  client: Client,
  address: string,
  { kind, values }: { kind: string; values: Values },
  path: string,
): Promise<ProvidedFile> {
  const { name, mapping, redact, reach } = client;
  let url = parseUrl(client, address);
  for (let hop = 0; ; hop += 1) {
    const { maxBytes, timeoutMs } = limitsOf(mapping);
    const bare: Sent = {
      method: 'GET',
      url,
      headers: { accept: '*/*' },
      timeoutMs: client.atMost(timeoutMs),
      maxBytes: 64 * 1024,
      reach,
    };
    const sent = client.isOwn(url) ? client.authorized(bare, values) : bare;
    const got: Exchange = await exchange({
      ...sent,
      keepBody: async ({ status, headers }) => {
        if (status !== 200) return null;
        refuseForm(client, kind, headers);
        return { file: path, maxBytes };
      },
    });
    if (got.how !== 'answered') throw unusable(client, 'fetch', `${whyNot(got)} from ${url.host}`);
    if (got.status === 200) return providedFile(path, got.headers);
    if (GONE.includes(got.status)) throw new Gone(`status ${got.status}`);
    const next = got.headers.location;
    if (got.status < 300 || got.status >= 400 || next === undefined || hop >= MAX_REDIRECTS) {
      throw unusable(client, 'fetch', `status ${got.status} from ${url.host}`);
    }
    if (!URL.canParse(next, url.href))
      throw providerProtocol(name, 'fetch', `it is sent on to ${presentable(next, redact)}`);
    url = parseUrl(client, new URL(next, url).href);
  }
}

function parseUrl({ name, redact }: Client, address: string): URL {
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return new URL(address);
  throw providerProtocol(
    name,
    'fetch',
    `the result is at ${presentable(address, redact)}, which is no address to download from`,
  );
}

/** An error page in the place of a film, or compressed bytes that nobody asked for: they could be any size. */
function refuseForm({ name }: Client, kind: string, headers: Head['headers']): void {
  if (isEncoded(headers))
    throw providerProtocol(
      name,
      'fetch',
      `the result comes as ${headers['content-encoding']}, which was not asked for`,
    );
  const isMedia = ['video', 'image', 'audio'].includes(kind);
  if (isMedia && isInWords(headers, kind))
    throw providerProtocol(name, 'fetch', `the result is ${headers['content-type']}, and no ${kind}`);
}
