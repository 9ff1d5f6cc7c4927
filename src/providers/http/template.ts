import type { Request } from './mapping.ts';

/** What templates may name: `ref`, `params.prompt`, `credential.key`. Members may be getters, which cost nothing unasked. */
export type Values = Readonly<Record<string, unknown>>;

/** Something a template needs is not there. Nothing was sent. */
export class Missing extends Error {
  constructor(name: string) {
    super(`it needs ${name}, which is not given`);
  }
}

/** `{a.b}`, `{a|b}`: the first there is, `{a?}`: or nothing, `{+a}`: with its slashes (RFC 6570). */
const EXPRESSION = /\{(\+?)([\w-]+(?:\.[\w-]+)*(?:\|[\w-]+(?:\.[\w-]+)*)*)(\??)\}/g;
const WHOLE = new RegExp(`^${EXPRESSION.source}$`);

const isThere = (value: unknown): boolean => value !== undefined && value !== null;

function memberOf(values: Values, name: string): unknown {
  return name
    .split('.')
    .reduce<unknown>(
      (value, part) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, part)
          ? (value as Record<string, unknown>)[part]
          : undefined,
      values,
    );
}

/** `undefined` for what is not there and need not be. Throws `Missing`. */
function evaluate(values: Values, names: string, optional: boolean): unknown {
  for (const name of names.split('|')) {
    const value = memberOf(values, name);
    if (isThere(value)) return value;
  }
  if (optional) return undefined;
  throw new Missing(names.split('|')[0]!);
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A text; `undefined` when it is nothing but one optional expression without a value. Throws `Missing`. */
export function fillText(template: string, values: Values): string | undefined {
  const value = fillString(template, values);
  return value === undefined ? undefined : asText(value);
}

/** A path: what is put in is percent-encoded, `{+…}` but for its slashes. Throws `Missing`. */
export function fillPath(template: string, values: Values): string {
  return template.replace(EXPRESSION, (_, slashes: string, names: string, optional: string) => {
    const value = evaluate(values, names, optional === '?');
    const segments = asText(value ?? '').split('/');
    // A dot segment would climb out of the path that the mapping names.
    if (segments.some((segment) => segment === '.' || segment === '..')) throw new Missing(`a usable ${names}`);
    const encoded = segments.map(encodeURIComponent);
    return slashes === '+' ? encoded.join('/') : encoded.join('%2F');
  });
}

/** One expression alone keeps the type of its value. */
function fillString(template: string, values: Values): unknown {
  const whole = WHOLE.exec(template);
  if (whole) return evaluate(values, whole[2]!, whole[3] === '?');
  return template.replace(EXPRESSION, (_, _slashes, names: string, optional: string) =>
    asText(evaluate(values, names, optional === '?') ?? ''),
  );
}

/** JSON with its strings filled; members and elements without a value are left out. `rest`: what `$rest` stands for. */
export function fillJson(template: unknown, values: Values, rest: Record<string, unknown>): unknown {
  if (typeof template === 'string') return fillString(template, values);
  if (Array.isArray(template)) {
    return template.map((element) => fillJson(element, values, rest)).filter((element) => element !== undefined);
  }
  if (typeof template !== 'object' || template === null) return template;
  const members = Object.entries(template)
    .filter(([name]) => name !== '$rest')
    .map(([name, value]) => [name, fillJson(value, values, rest)] as const)
    .filter(([, value]) => value !== undefined);
  return { ...('$rest' in template ? rest : {}), ...Object.fromEntries(members) };
}

/** Names of the parameters that a request puts somewhere itself. */
export function paramsIn(...parts: (Request | object | undefined)[]): Set<string> {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node === 'string') {
      for (const [, , expression] of node.matchAll(EXPRESSION)) {
        for (const name of expression!.split('|')) if (name.startsWith('params.')) names.add(name.split('.')[1]!);
      }
    } else if (typeof node === 'object' && node !== null) {
      for (const value of Object.values(node)) visit(value);
    }
  };
  visit(parts);
  return names;
}
