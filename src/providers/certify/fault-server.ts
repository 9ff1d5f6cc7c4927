import { type AddressInfo, createServer, connect as open, type Socket } from 'node:net';

export interface Received {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** All of it, as it came. */
  text: string;
}

/** What the server does with the request of that number, from 0; the socket is its to answer, to break or to leave. */
export type Reply = (socket: Socket, received: Received, index: number) => void;

export interface Scene {
  reply: Reply;
  /** Before anything is read. */
  atConnect?: ((socket: Socket) => void) | undefined;
  /** Called with the first byte of every connection. */
  atFirstByte?: (() => void) | undefined;
}

export interface FaultServer {
  readonly origin: string;
  /** Everything that arrives from now on is answered so; what is left of the last scene is cut off. */
  play(scene: Scene): { requests: Received[] };
  close(): Promise<void>;
}

/**
 * A server on this machine that misbehaves as it is told. It reads requests by hand: what Node's own HTTP server refuses to
 * send is what is wanted here.
 */
export async function openFaultServer(): Promise<FaultServer> {
  let scene: Scene = { reply: (socket) => socket.destroy() };
  let requests: Received[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const { reply, atConnect, atFirstByte } = scene;
    const arrived = requests;
    sockets.add(socket);
    // Whoever hangs up early is what is tested; that its socket then fails is no news.
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    if (atConnect) return atConnect(socket);
    let buffered = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      if (buffered.length === 0) atFirstByte?.();
      buffered = Buffer.concat([buffered, chunk]);
      for (let taken = take(buffered); taken; taken = take(buffered)) {
        buffered = Buffer.from(taken.rest);
        arrived.push(taken.received);
        reply(socket, taken.received, arrived.length - 1);
      }
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    play(next) {
      cut();
      scene = next;
      requests = [];
      return { requests };
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The first whole request of what has arrived; bodies are announced by their length. */
function take(buffered: Buffer): { received: Received; rest: Buffer } | null {
  const end = buffered.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first = '', ...lines] = buffered.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const from = end + 4;
  const to = from + Number(headers['content-length'] ?? 0);
  if (buffered.length < to) return null;
  const [method = '', path = ''] = first.split(' ');
  const body = buffered.subarray(from, to);
  const text = buffered.subarray(0, to).toString('latin1');
  return { received: { method, path, headers, body, text }, rest: buffered.subarray(to) };
}

/** An address at which nobody listens. */
export async function closedOrigin(): Promise<string> {
  const server = await openFaultServer();
  await server.close();
  return server.origin;
}

/** Resolves when a connection to the server was made and answered: as long as a request needs to get there. */
export function roundTrip(server: FaultServer): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = open(Number(new URL(server.origin).port), '127.0.0.1');
    socket.once('error', reject);
    socket.once('connect', () => socket.write('GET / HTTP/1.1\r\n\r\n'));
    socket.once('data', () => {
      socket.destroy();
      resolve();
    });
  });
}
