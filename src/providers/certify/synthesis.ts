import { type Answer, looksLike } from '../http/answer.ts';
import type { When } from '../http/when.ts';
import type { Told } from './replies.ts';

/** Answers made of what a mapping says of them. */

const isIndex = (token: string): boolean => /^(0|[1-9]\d{0,3})$/.test(token);

/** The document with a value where a JSON pointer (RFC 6901, `*` for any element) leads; what is in the way is replaced. */
export function put(document: unknown, pointer: string, value: unknown): unknown {
  const tokens = pointer.split('/').slice(1);
  return set(
    document,
    tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~')),
    value,
  );
}

function set(document: unknown, [token, ...rest]: string[], value: unknown): unknown {
  if (token === undefined) return value;
  const isList = Array.isArray(document);
  if (typeof document === 'object' && document !== null && !(isList && token !== '*' && !isIndex(token))) {
    if (isList) {
      const at = token === '*' ? 0 : Number(token);
      const filled = Array.from({ length: Math.max(document.length, at + 1) }, (_, index) => document[index] ?? null);
      return filled.with(at, set(filled[at], rest, value));
    }
    const key = token === '*' ? (Object.keys(document)[0] ?? '0') : token;
    return { ...document, [key]: set((document as Record<string, unknown>)[key], rest, value) };
  }
  return set(token === '*' || isIndex(token) ? [] : {}, [token, ...rest], value);
}

/** A text in which a pattern finds something; `null` for a pattern that is too clever for this. */
function textFor(pattern: string): string | null {
  const plain = pattern
    .replace(/\(\?<?[!=][^)]*\)/g, '')
    .replace(/\\[bB]|[\^$]/g, '')
    .replace(/\\s[+*?]?/g, ' ')
    .replace(/\\d[+*?]?/g, '1')
    .replace(/\\w[+*?]?/g, 'a')
    .replace(/\[([^\]^])[^\]]*\][+*?]?/g, '$1')
    .replace(/\.[+*?]*/g, '')
    .replace(/\(\?:|[()?]/g, '')
    .replace(/\\(.)/g, '$1');
  const matches = new RegExp(pattern, 'i');
  return [...plain.split('|'), 'certify', ''].find((text) => matches.test(text)) ?? null;
}

/** Statuses that fit a condition; `usual` where it says none. */
export function statusesOf({ status }: When, usual: readonly number[]): number[] {
  if (status === undefined) return [...usual];
  return status.map((one) => (typeof one === 'number' ? one : 100 * Number(one[0])));
}

/** What an answer looks like that fits; `null` where none can be made up. */
export function answerFor(when: When, status: number, base: Told = { status }): Told | null {
  const { at, header, equals, matches } = when;
  const value = equals ? equals[0] : matches === undefined ? 'certify' : textFor(matches);
  if (value === undefined || (value === null && !equals)) return null;
  let told: Told = { ...base, status, body: base.body ?? {} };
  if (header !== undefined) told = { ...told, headers: { ...told.headers, [header]: String(value) } };
  else if (at !== undefined) told = { ...told, body: put(told.body, at, value) };
  else if (matches !== undefined) told = { ...told, body: put(told.body, '/certify', value) };
  return looksLike(asAnswer(told), when) ? told : null;
}

/** The same as the rules of a mapping see it. */
export function asAnswer({ status, headers = {}, body }: Told): Answer {
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  const text = body === undefined ? '' : isText ? body.toString() : JSON.stringify(body);
  const lowered = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return { status, headers: lowered, text, json: isText ? undefined : body };
}
