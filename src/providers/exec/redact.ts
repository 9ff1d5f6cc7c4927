/** Shorter values cannot be told from ordinary words: replacing every `1` would make any text unreadable. */
const MIN_SECRET_LENGTH = 6;
const MIN_BASE64_LENGTH = 8;

/** What the adapter keeps for itself is kept as it is: a presigned address rightly holds an access key's public ID. */
const MACHINE_FIELDS = new Set(['ref', 'path', 'sha256']);

/**
 * The forms in which base64 shows a value inside a longer text, as in `Authorization: Basic …`: each of the three
 * positions it can have in a group of three bytes, without the characters at the borders that depend on its neighbours.
 */
function base64Forms(value: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]);
    const stable = bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
    return stable.length < MIN_BASE64_LENGTH ? [] : [stable, stable.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

function formsOf(value: string): string[] {
  const encoded = encodeURIComponent(value);
  return [
    value,
    ...value.split(/\r?\n/).filter((line) => line.length >= MIN_SECRET_LENGTH),
    JSON.stringify(value).slice(1, -1),
    encoded,
    encoded.replaceAll('%20', '+'),
    encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    ...base64Forms(value),
  ];
}

export interface Redaction {
  /** The text with each secret, plain, URL-encoded, JSON-escaped or in base64, replaced by the name of its variable. */
  text(text: string): string;
  /** The same for every string and field name in a JSON value, except in `ref`, `path` and `sha256`. */
  json<T>(value: T): T;
}

/** Hides the values of `env`. Values of fewer than six characters are not taken for secrets. */
export function redaction(env: Readonly<Record<string, string>>): Redaction {
  const needles = Object.entries(env)
    .filter(([, value]) => value.length >= MIN_SECRET_LENGTH)
    .flatMap(([name, value]) => formsOf(value).map((form) => ({ form, mark: `[${name}]` })))
    .sort((a, b) => b.form.length - a.form.length);
  const text = (original: string): string =>
    needles.reduce((redacted, { form, mark }) => redacted.replaceAll(form, mark), original);
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [text(key), MACHINE_FIELDS.has(key) ? inner : walk(inner)]),
    );
  };
  return { text, json: <T>(value: T): T => walk(value) as T };
}
