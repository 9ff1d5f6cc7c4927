import { gzipSync } from 'node:zlib';
import type { Reply } from './fault-server.ts';

/** An answer as it should be. A body that is neither text nor bytes is sent as JSON. */
export interface Told {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A page for people, in the place of whatever was asked for. */
export const HTML: Told = { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Welcome</html>' };

function partsOf({ status, headers = {}, body }: Told) {
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(isRaw ? body : JSON.stringify(body));
  const type = isRaw || body === undefined ? {} : { 'content-type': 'application/json' };
  const lines = (more: Record<string, string>): string =>
    [
      `HTTP/1.1 ${status} Certify`,
      ...Object.entries({ ...type, ...headers, ...more }).map(([name, value]) => `${name}: ${value}`),
      '\r\n',
    ].join('\r\n');
  return { bytes, lines };
}

function written(told: Told): Buffer {
  const { bytes, lines } = partsOf(told);
  // RFC 9110: these have no body, and no length of one.
  const length = told.status < 200 || told.status === 204 || told.status === 304 ? {} : lengthOf(bytes);
  return Buffer.concat([Buffer.from(lines(length)), ...('content-length' in length ? [bytes] : [])]);
}

const lengthOf = (bytes: Buffer) => ({ 'content-length': String(bytes.length) });

export const say =
  (told: Told): Reply =>
  (socket) =>
    void socket.end(written(told));

export const raw =
  (text: string): Reply =>
  (socket) =>
    void socket.end(text, 'latin1');

export const hang: Reply = () => {};
export const reset: Reply = (socket) => void socket.resetAndDestroy();
export const hangUp: Reply = (socket) => void socket.end();

/** A head that breaks off in the middle. */
export const cutHead =
  (told: Told): Reply =>
  (socket) => {
    const { lines } = partsOf(told);
    socket.end(lines({}).slice(0, -6));
  };

/** A head, half of the body that it announces, and then `then`. */
export const half =
  (told: Told, then: 'close' | 'hang' = 'close'): Reply =>
  (socket) => {
    const { bytes, lines } = partsOf(told);
    const sent = Buffer.concat([Buffer.from(lines(lengthOf(bytes))), bytes.subarray(0, bytes.length >> 1)]);
    if (then === 'close') socket.end(sent);
    else socket.write(sent);
  };

const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

/** In chunks, without the last, empty one that says that it was all. */
export const withoutEnd =
  (told: Told): Reply =>
  (socket) => {
    const { bytes, lines } = partsOf(told);
    socket.end(Buffer.concat([Buffer.from(lines({ 'transfer-encoding': 'chunked' })), chunk(bytes)]));
  };

/** One answer after the other on the same connection. */
export const inARow =
  (...told: Told[]): Reply =>
  (socket) =>
    void socket.end(Buffer.concat(told.map(written)));

/** A body that goes on until the other end hangs up; `stop` bounds it all the same. */
export const endless =
  (told: Omit<Told, 'body'>, stop = 256 * 1024 * 1024): Reply =>
  (socket) => {
    const { lines } = partsOf(told);
    socket.write(lines({ 'transfer-encoding': 'chunked' }));
    const piece = chunk(Buffer.alloc(256 * 1024, ' '));
    let sent = 0;
    const more = (): void => {
      while (!socket.destroyed && sent < stop) {
        sent += piece.length;
        if (!socket.write(piece)) return;
      }
    };
    socket.on('drain', more);
    more();
  };

export const gzipped = (told: Told): Told => {
  const { bytes } = partsOf(told);
  return { ...told, headers: { ...told.headers, 'content-encoding': 'gzip' }, body: gzipSync(bytes) };
};
