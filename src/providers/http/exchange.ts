import { type FileHandle, open } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import * as http from 'node:http';
import * as https from 'node:https';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isErrno } from '../../errors.ts';
import { type Reach, refusePrivate, resolver } from './address.ts';

const CONNECT_MS = 15_000;

export interface Sent {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: Buffer | undefined;
  /** From the start to the end of the answer, milliseconds. */
  timeoutMs: number;
  /** Of an answer that is read into memory. */
  maxBytes: number;
  reach: Reach;
  signal?: AbortSignal | undefined;
  /** Asked when the head of an answer is there: a file for its body, else it is read into memory. Awaited before the body is read. */
  keepBody?: (head: Head) => Promise<{ file: string; maxBytes: number } | null>;
}

export interface Head {
  status: number;
  headers: IncomingHttpHeaders;
}

export type Exchange =
  /** No connection was ever made: nothing can have been read at the other end. */
  | { how: 'not-sent'; code: string; message: string }
  /** Something may have been read there, and no whole answer came back. */
  | {
      how: 'lost';
      reason: 'timeout' | 'reset' | 'truncated' | 'too_large' | 'aborted';
      message: string;
      head: Head | null;
    }
  | ({ how: 'answered'; body: Buffer; file: string | null } & Head);

class TooLarge extends Error {}

/** The disk's fault, and not the network's. */
class Unwritten extends Error {}

/** Lets at most `maxBytes` through, then fails. */
function bounded(maxBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new TooLarge(`the answer is larger than ${maxBytes} bytes`));
      else done(null, chunk);
    },
  });
}

/**
 * One request on a connection of its own and its answer, once: no redirect is followed and nothing is sent again.
 * Every failure is an answer of this function; it throws only what `keepBody` and the disk throw.
 */
export async function exchange(sent: Sent): Promise<Exchange> {
  const { url, method, body } = sent;
  try {
    refusePrivate(url, sent.reach);
  } catch (error) {
    return notSent(error);
  }
  if (sent.signal?.aborted) return { how: 'not-sent', code: 'ABORTED', message: 'it was stopped before' };
  const isSecure = url.protocol === 'https:';
  let isConnected = false;
  let reason: 'timeout' | 'aborted' | null = null;
  let request: http.ClientRequest;
  try {
    request = (isSecure ? https : http).request(url, {
      method,
      agent: false,
      headers: {
        ...sent.headers,
        'accept-encoding': 'identity',
        connection: 'close',
        ...(body && { 'content-length': String(body.length) }),
      },
      lookup: resolver(url, sent.reach) as never,
    });
  } catch (error) {
    // A header or method that HTTP cannot carry.
    return notSent(error);
  }
  // A second error, after the one that is waited for, is no news.
  request.on('error', () => {});
  const stop = (why: 'timeout' | 'aborted'): void => {
    reason ??= why;
    request.destroy(new Error(why === 'timeout' ? 'there was no answer in time' : 'it was stopped'));
  };
  const abort = (): void => stop('aborted');
  const total = setTimeout(() => stop('timeout'), sent.timeoutMs);
  const connecting = setTimeout(() => !isConnected && stop('timeout'), Math.min(CONNECT_MS, sent.timeoutMs));
  sent.signal?.addEventListener('abort', abort, { once: true });
  request.once('socket', (socket) => {
    // Of TLS the request itself is written only after the handshake.
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      isConnected = true;
    });
  });
  let head: Head | null = null;
  const lost = (error: Error): Exchange => {
    if (error instanceof TooLarge) return { how: 'lost', reason: 'too_large', message: error.message, head };
    if (!isConnected) return notSent(error);
    return { how: 'lost', reason: reason ?? (head ? 'truncated' : 'reset'), message: error.message, head };
  };
  try {
    const response = await answerTo(request, body).catch((error: Error) => error);
    if (response instanceof Error) return lost(response);
    head = { status: response.statusCode!, headers: response.headers };
    const kept = (await sent.keepBody?.(head)) ?? null;
    try {
      const read = await readBody(response, kept, sent.maxBytes);
      return { how: 'answered', ...head, body: read, file: kept?.file ?? null };
    } catch (error) {
      if (error instanceof Unwritten) throw error.cause;
      return lost(error as Error);
    }
  } finally {
    clearTimeout(total);
    clearTimeout(connecting);
    sent.signal?.removeEventListener('abort', abort);
    request.destroy();
  }
}

function answerTo(request: http.ClientRequest, body: Buffer | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
    // A switch of protocols or a tunnel is no answer to anything that is asked here.
    request.once('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new Error('it answered with a change of protocol'));
    });
    request.end(body);
  });
}

async function readBody(
  response: IncomingMessage,
  kept: { file: string; maxBytes: number } | null,
  maxBytes: number,
): Promise<Buffer> {
  if (kept) {
    await keep(response, kept);
    return Buffer.alloc(0);
  }
  const chunks: Buffer[] = [];
  await pipeline(response, bounded(maxBytes), async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}

async function keep(response: IncomingMessage, { file, maxBytes }: { file: string; maxBytes: number }): Promise<void> {
  const writing = async <T>(work: Promise<T>): Promise<T> =>
    work.catch((cause) => {
      throw new Unwritten('the answer could not be written', { cause });
    });
  const handle: FileHandle = await writing(open(file, 'wx', 0o600));
  try {
    await pipeline(response, bounded(maxBytes), async (source: AsyncIterable<Buffer>) => {
      for await (const chunk of source) await writing(handle.appendFile(chunk));
    });
  } finally {
    await handle.close();
  }
}

const notSent = (error: unknown): Exchange => ({
  how: 'not-sent',
  code: isErrno(error) ? error.code : 'UNREACHABLE',
  message: (error as Error).message || (isErrno(error) ? error.code : 'no connection'),
});
