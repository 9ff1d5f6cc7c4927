import { isExactNumber } from './answer.ts';
import { find } from './pointer.ts';
import { fillJson, Missing, type Values } from './template.ts';

interface Matching {
  at: string;
  equals: unknown;
}

/** Whether an item of a list carries what was sent. What was not sent proves nothing, so it matches nothing. */
export function isMatch(
  item: unknown,
  { at, equals }: Matching,
  values: Values,
  rest: Record<string, unknown>,
): boolean {
  try {
    const wanted = fillJson(equals, values, rest);
    return wanted !== undefined && find(item, at).some((found) => covers(found, wanted));
  } catch (error) {
    if (error instanceof Missing) return false;
    throw error;
  }
}

/** A reference is kept as text, also one that its provider says as a number. */
function isSame(found: unknown, wanted: unknown): boolean {
  if (typeof wanted === 'string' && isExactNumber(found)) return String(found) === wanted;
  return found === wanted;
}

/** Equal, but that an object may have further members: providers add their defaults to what they were given. */
function covers(found: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(found) && found.length === wanted.length && wanted.every((one, index) => covers(found[index], one))
    );
  }
  if (typeof wanted !== 'object' || wanted === null) return isSame(found, wanted);
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return false;
  return Object.entries(wanted).every(
    ([name, value]) => Object.hasOwn(found, name) && covers((found as Record<string, unknown>)[name], value),
  );
}
