const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

/** What a JSON pointer (RFC 6901) finds in a document, in order; `*` stands for every element or member. */
export function find(document: unknown, pointer: string): unknown[] {
  const tokens = pointer.split('/').slice(1).map(unescaped);
  return tokens.reduce<unknown[]>((found, token) => found.flatMap((value) => membersOf(value, token)), [document]);
}

function membersOf(value: unknown, token: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (token === '*') return Object.values(value);
  return Object.hasOwn(value, token) ? [(value as Record<string, unknown>)[token]] : [];
}
