import { isErrno } from '../errors.ts';

/**
 * JSON as `JSON.parse` reads it, but nothing passes silently: duplicate names, numbers that change (1e400, integers
 * beyond 2^53), byte order marks, NUL bytes, other encodings. Throws an Error whose message names the fault.
 */
export async function parseStrict(bytes: Uint8Array): Promise<unknown> {
  const text = decode(bytes);
  const value = parse(text);
  const written = format(value);
  // `JSON.stringify` escapes nothing but lone surrogates this way: half a character that no UTF-8 can hold.
  const half = /(?<!\\)(?:\\\\)*\\u(d[89a-f][0-9a-f]{2})/.exec(written);
  if (half) throw new Error(`it holds half a character (\\u${half[1]})`);
  // What this program wrote comes back to the letter, and then nothing can have been lost in between.
  if (written === text || isPlain(text, value)) return value;
  const { findLoss } = await import('./json-loss.ts');
  const loss = findLoss(text);
  if (loss) throw new Error(loss);
  return value;
}

/** Told without a parser of its own, which costs more than the rest of a file that a person wrote: only the layout differs. */
function isPlain(text: string, value: unknown): boolean {
  const withoutLayout = text.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, '$1');
  return withoutLayout === JSON.stringify(value) && !/\d{16}/.test(text);
}

/** The one way records are written: readable, and stable under reading and writing. */
export const format = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function decode(bytes: Uint8Array): string {
  if (bytes.length === 0) throw new Error('it is empty (0 bytes)');
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw new Error('it is UTF-16, not UTF-8');
  }
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw new Error('it starts with a byte order mark');
  if (bytes.includes(0))
    throw new Error(bytes.every((byte) => byte === 0) ? 'it holds only NUL bytes' : 'it holds NUL bytes');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (isErrno(error, 'ERR_ENCODING_INVALID_ENCODED_DATA')) throw new Error('it is not UTF-8');
    throw error;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (/^(<{7}|={7}|>{7})( |$)/m.test(text)) throw new Error('it holds merge conflict markers', { cause });
    throw new Error(`it is not JSON, or cut off (${(cause as Error).message})`, { cause });
  }
}
