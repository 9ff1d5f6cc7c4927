import type { IncomingHttpHeaders } from 'node:http';
import { decimalOf, minus, times } from '../../model/money.ts';
import type { Price } from '../../model/protocol.ts';
import type { Amount, Source } from './mapping.ts';
import { find } from './pointer.ts';
import { fillText, type Values } from './template.ts';
import type { When } from './when.ts';

/** What a provider answered, as rules look at it. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** `undefined` when the body is no JSON. */
  json: unknown;
}

export function answerOf({
  status,
  headers,
  body,
}: {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}): Answer {
  const text = body.toString('utf8');
  return { status, headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const hasStatus = (status: number, wanted: NonNullable<When['status']>): boolean =>
  wanted.some((one) => (typeof one === 'number' ? one === status : Number(one[0]) === Math.floor(status / 100)));

const headerOf = ({ headers }: Answer, name: string): string | undefined => {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
};

/** Whether an answer looks so: every condition that is given holds. */
export function looksLike(answer: Answer, when: When): boolean {
  const { status, at, header, equals, matches } = when;
  if (status && !hasStatus(answer.status, status)) return false;
  if (at === undefined && header === undefined) return matches === undefined || test(matches, answer.text);
  const found = header === undefined ? find(answer.json, at!) : [headerOf(answer, header)];
  const isNamed = equals !== undefined || matches !== undefined;
  return found.some(
    (value) =>
      value !== undefined &&
      (isNamed || value !== null) &&
      (equals === undefined || equals.includes(value as never)) &&
      (matches === undefined || test(matches, asText(value))),
  );
}

const test = (pattern: string, text: string): boolean => new RegExp(pattern, 'i').test(text);

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

/** Beyond 2^53 a whole number was rounded when it was parsed: as a reference it would name another task. */
export const isExactNumber = (value: unknown): value is number =>
  typeof value === 'number' && (!Number.isInteger(value) || Number.isSafeInteger(value));

/** A text or a number, as text; `undefined` where there is none, or only an empty one. */
export function read(source: Source, answer: Answer, values: Values): string | undefined {
  const found =
    typeof source === 'string'
      ? find(answer.json, source)[0]
      : 'header' in source
        ? headerOf(answer, source.header)
        : fillText(source.text, values);
  if (isExactNumber(found)) return decimalOf(found) ?? String(found);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** `undefined` where the answer has no such price. */
export function price(amount: Amount, answer: Answer, values: Values): Price | undefined {
  const number = (source: Source): string | null => {
    const text = read(source, answer, values);
    return text === undefined ? null : decimalOf(text);
  };
  const whole = number(amount.at);
  const less = amount.less === undefined ? '0' : number(amount.less);
  if (whole === null || less === null) return undefined;
  const unit = typeof amount.unit === 'string' ? amount.unit : read(amount.unit.at, answer, values);
  const left = minus(whole, less);
  if (unit === undefined || left === null) return undefined;
  const total = amount.times === undefined ? left : decimalOf(times(left, amount.times));
  if (total === null) return undefined;
  return {
    amount: total,
    unit,
    basis: amount.basis ?? 'reported',
  };
}

/** Why, in the provider's words. */
export function messageOf(answer: Answer, pointers: readonly string[]): string | undefined {
  const said = pointers
    .flatMap((pointer) => find(answer.json, pointer))
    .find((value) => value !== null && value !== '');
  return said === undefined ? undefined : asText(said);
}
