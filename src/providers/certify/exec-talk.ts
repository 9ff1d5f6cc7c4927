import { type Exit, startChild } from '../../child/child.ts';
import { lines } from '../../child/lines.ts';
import type { AdapterEvent } from '../../model/protocol.ts';
import { type Answer, Breach, MAX_LINE_BYTES, readMessage } from '../exec/messages.ts';

/** One operation with an adapter, seen from outside: everything it says is taken, and nothing is believed. */

export interface Started {
  command: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** To leave by itself, after its input ended or its answer. */
  graceMs: number;
}

type Event = Exclude<AdapterEvent, { event: 'progress' }>;

export interface Heard {
  /** In order, without progress. */
  events: Event[];
  /** Events after the first that was answered with the end of input. */
  later: Event[];
  answer: Answer | null;
  /** What it said that the protocol does not allow. */
  breach: string | null;
  exit: Exit;
  /** It had to be killed. */
  isLate: boolean;
}

const TALK_MS = 30_000;
export const REQUEST_ID = 7;

/** `said`: lines of its input, then its end; without `isOpen` that comes at once. `onEvent`: whether an event is acknowledged. */
export async function talk(
  { command, cwd, env, graceMs }: Started,
  said: readonly object[],
  {
    isOpen = true,
    onEvent = () => true,
  }: { isOpen?: boolean; onEvent?: (event: Event, index: number) => boolean } = {},
): Promise<Heard> {
  const child = await startChild(command, cwd, env);
  const heard: Omit<Heard, 'exit'> = { events: [], later: [], answer: null, breach: null, isLate: false };
  let isEnding = false;
  const end = (): void => {
    if (isEnding) return;
    isEnding = true;
    void child.end(graceMs).then(({ signal }) => {
      // What dies of its own broken pipe has left by itself.
      if (signal === 'SIGKILL') heard.isLate = true;
    });
  };
  const timer = setTimeout(() => {
    heard.isLate = true;
    child.kill();
  }, TALK_MS);
  const notes = drain(child.stderr);
  try {
    for (const message of said) child.say(message);
    if (!isOpen) end();
    for await (const line of lines(child.stdout, MAX_LINE_BYTES)) {
      const message = readMessage(line, REQUEST_ID);
      if (message.is === 'cut') break;
      if (message.is === 'answer') {
        heard.answer ??= message.answer;
        end();
      } else if (message.event.event !== 'progress') {
        const isLater = isEnding;
        (isLater ? heard.later : heard.events).push(message.event);
        if (isLater) continue;
        if (onEvent(message.event, heard.events.length - 1)) child.say({ ack: message.event.seq });
        else end();
      }
    }
  } catch (error) {
    if (!(error instanceof Breach)) throw error;
    heard.breach = error.message;
    child.kill();
  }
  const exit = await child.exited;
  clearTimeout(timer);
  await notes;
  return { ...heard, exit };
}

async function drain(stream: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of stream);
}

/** In a few words. */
export function retold({ events, answer, breach, exit, isLate }: Heard): string {
  const said = events.map(({ event }) => event);
  if (breach !== null) return [...said, `it sent ${breach}`].join(', ');
  const text = answer === null ? null : answer.ok ? JSON.stringify(answer.result) : `error ${answer.error.code}`;
  const end = isLate ? 'it had to be killed' : `it ended (${exit.signal ?? exit.code})`;
  return [...said, ...(text === null ? [] : [text.slice(0, 120)]), end].join(', ');
}
