import * as z from 'zod/mini';
import type { Line } from '../../child/lines.ts';
import { AdapterEvent } from '../../model/protocol.ts';

/** Bound of a line in either direction, its newline not counted (PROVIDER.md, exec transport). */
export const MAX_LINE_BYTES = 1024 * 1024;

/** What validates and copies an answer is recursive; a line of 1 MiB could nest half a million levels. */
const MAX_DEPTH = 64;

const Answer = z.union([
  z.looseObject({ id: z.int(), ok: z.literal(true), result: z.unknown() }),
  z.looseObject({
    id: z.int(),
    ok: z.literal(false),
    error: z.looseObject({ code: z.string(), message: z._default(z.string(), '') }),
  }),
]);
export type Answer = z.infer<typeof Answer>;

type Message = { is: 'event'; event: AdapterEvent } | { is: 'answer'; answer: Answer } | { is: 'cut' };

/** The adapter did what `episode-provider/1` does not allow. `line` is what it said, not yet redacted. */
export class Breach extends Error {
  readonly line: string | undefined;

  constructor(what: string, line?: string) {
    super(what);
    this.line = line;
  }
}

const tooDeep = (value: unknown, left = MAX_DEPTH): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (left === 0 || Object.values(value).some((inner) => tooDeep(inner, left - 1)));

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // A replacement character inside a reference would name another task.
    throw new Breach('a line that is not UTF-8', bytes.toString('utf8'));
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * One line of an adapter as an event or an answer, or `cut` for an unfinished last line of an adapter that died.
 * Throws `Breach` for anything else, an answer to another request included.
 */
export function readMessage(line: Line, requestId: number): Message {
  if (line.end === 'overlong') throw new Breach(`a line of more than ${MAX_LINE_BYTES} bytes`);
  if (line.end === 'tail' && parse(line.bytes.toString('utf8')) === undefined) return { is: 'cut' };
  const text = decode(line.bytes);
  const value = parse(text);
  if (typeof value !== 'object' || value === null) throw new Breach('a line that is not a JSON object', text);
  if (tooDeep(value)) throw new Breach(`a line nested more than ${MAX_DEPTH} levels deep`);
  if ('event' in value) {
    const event = AdapterEvent.safeParse(value);
    if (!event.success) throw new Breach('an event that is none of the protocol', text);
    return { is: 'event', event: event.data };
  }
  const answer = Answer.safeParse(value);
  if (!answer.success) throw new Breach('a line that is neither an event nor an answer', text);
  if (answer.data.id !== requestId)
    throw new Breach(`an answer to request ${answer.data.id}, asked was ${requestId}`, text);
  return { is: 'answer', answer: answer.data };
}
