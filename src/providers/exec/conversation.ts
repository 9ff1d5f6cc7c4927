import type { Child, Exit } from '../../child/child.ts';
import { lines } from '../../child/lines.ts';
import type { AdapterEvent } from '../../model/protocol.ts';
import { PROTOCOL } from '../../model/sheet.ts';
import { type Answer, Breach, MAX_LINE_BYTES, readMessage } from './messages.ts';

/** How long an adapter may take to leave by itself after its answer; until then it may still tidy up. */
const LEAVE_MS = 1_000;

/** How the conversation ended. Texts in it are the adapter's own: to be redacted before anybody sees them. */
export type Ending =
  | { how: 'answered'; result: unknown }
  | { how: 'refused'; code: string; message: string }
  | { how: 'breach'; what: string; line?: string | undefined }
  | { how: 'died'; exit: Exit }
  | { how: 'timeout'; timeoutMs: number }
  | { how: 'aborted' }
  | { how: 'not-started'; code: string; message: string };

export type AcknowledgedEvent = Exclude<AdapterEvent['event'], 'progress'>;

/**
 * What an operation does with events; an event without a handler is a breach. The acknowledgement is written after the
 * promise resolved; when it rejects, the adapter is ended without one and the conversation throws that error.
 */
interface Handlers {
  checkpoint?: (data: Record<string, unknown>) => Promise<void>;
  sending?: () => Promise<void>;
  accepted?: (ref: string) => Promise<void>;
  progress?: (fraction: number) => void;
}

export interface Call {
  id: number;
  op: string;
  args: Record<string, unknown>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Awaited before the adapter is told anything. */
  started?: (pid: number) => Promise<void>;
  handlers?: Handlers;
}

interface Heard {
  ending: Ending;
  /** Events whose acknowledgement was written: from then on the adapter may have gone on. */
  acknowledged: ReadonlySet<AcknowledgedEvent>;
}

function handle(event: Exclude<AdapterEvent, { event: 'progress' }>, handlers: Handlers): Promise<void> | undefined {
  switch (event.event) {
    case 'checkpoint':
      return handlers.checkpoint?.(event.data);
    case 'sending':
      return handlers.sending?.();
    case 'accepted':
      return handlers.accepted?.(event.ref);
  }
}

/** Reads to the answer, or to the end of the output: what an adapter said before it died still counts. */
async function listen(child: Child, call: Call, acknowledged: Set<AcknowledgedEvent>): Promise<Answer | undefined> {
  const handlers = call.handlers ?? {};
  const said = new Set<AcknowledgedEvent>();
  let lastSeq = Number.NEGATIVE_INFINITY;
  for await (const line of lines(child.stdout, MAX_LINE_BYTES)) {
    const message = readMessage(line, call.id);
    if (message.is === 'cut') return undefined;
    if (message.is === 'answer') return message.answer;
    if (message.event.event === 'progress') {
      handlers.progress?.(message.event.progress);
      continue;
    }
    const { event, seq } = message.event;
    if (seq <= lastSeq) throw new Breach(`event number ${seq} after ${lastSeq}`);
    if (event !== 'checkpoint' && said.has(event)) throw new Breach(`a second "${event}" in one operation`);
    const durable = handle(message.event, handlers);
    if (durable === undefined) throw new Breach(`a "${event}" event during "${call.op}"`);
    lastSeq = seq;
    said.add(event);
    await durable;
    if (child.say({ ack: seq })) acknowledged.add(event);
  }
  return undefined;
}

/**
 * One operation with a started adapter, to its end: the request, each event in order, the answer. A complete answer
 * stands whatever the adapter does afterwards. The process group is gone when this resolves or rejects; it rejects
 * only with an error of `started` or a handler.
 */
export async function converse(child: Child, call: Call): Promise<Heard> {
  const acknowledged = new Set<AcknowledgedEvent>();
  let stopped: Ending | undefined;
  const stop = (ending: Ending): void => {
    stopped ??= ending;
    child.kill();
  };
  const abort = (): void => stop({ how: 'aborted' });
  const timer = setTimeout(() => stop({ how: 'timeout', timeoutMs: call.timeoutMs }), call.timeoutMs);
  call.signal?.addEventListener('abort', abort, { once: true });
  if (call.signal?.aborted) abort();
  try {
    await call.started?.(child.pid);
    child.say({ protocol: PROTOCOL, id: call.id, op: call.op, args: call.args });
    const answer = await listen(child, call, acknowledged);
    if (answer === undefined) {
      const exit = await child.exited;
      return { ending: stopped ?? { how: 'died', exit }, acknowledged };
    }
    await child.end(LEAVE_MS);
    return {
      ending: answer.ok
        ? { how: 'answered', result: answer.result }
        : { how: 'refused', code: answer.error.code, message: answer.error.message },
      acknowledged,
    };
  } catch (error) {
    if (!(error instanceof Breach)) throw error;
    return { ending: { how: 'breach', what: error.message, line: error.line }, acknowledged };
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener('abort', abort);
    child.kill();
    await child.exited;
  }
}
