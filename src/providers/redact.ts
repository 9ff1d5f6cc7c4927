/** Shorter values cannot be told from ordinary words: replacing every `1` would make any text unreadable. */
const MIN_SECRET_LENGTH = 6;
const MIN_BASE64_LENGTH = 8;

/** What the adapter keeps for itself is kept as it is: a presigned address rightly holds an access key's public ID. */
const MACHINE_FIELDS = new Set(['ref', 'path', 'sha256']);

const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Hexadecimal digits in either case. */
const hex = (value: number, length: number): string =>
  value
    .toString(16)
    .padStart(length, '0')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);

/** A character as it is, or as URLs, HTML forms and JSON may write it: encoders differ in which ones they escape. */
function spellings(character: string): string {
  const url = [...Buffer.from(character)].map((byte) => `%${hex(byte, 2)}`).join('');
  // A text inside a text inside a text: each time its backslashes are escaped once more.
  const backslashes = '\\\\+';
  const units = Array.from(
    { length: character.length },
    (_, at) => `${backslashes}u${hex(character.charCodeAt(at), 4)}`,
  ).join('');
  const written = JSON.stringify(character).slice(1, -1);
  const json = written.startsWith('\\') ? `${backslashes}${literally(written.slice(1))}` : literally(written);
  // PHP escapes the slash as well.
  if (character === '/') return `(?:\\\\*\\/|${url}|${units})`;
  return `(?:${[literally(character), url, units, json, ...(character === ' ' ? ['\\+'] : [])].join('|')})`;
}

/**
 * The forms in which base64 shows a value inside a longer text, as in `Authorization: Basic …`: each of the three
 * positions it can have in a group of three bytes, without the characters at the borders that depend on its neighbours.
 */
function base64Forms(value: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]);
    const stable = bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
    if (stable.length < MIN_BASE64_LENGTH) return [];
    return [
      literally(stable).replaceAll('\\/', '\\\\*\\/'),
      literally(stable.replaceAll('+', '-').replaceAll('/', '_')),
    ];
  });
}

/** Any form of the value, or of a single line of it: notes are read line by line. */
function matcher(value: string): RegExp {
  const lines = value.split(/\r?\n/).filter((line) => line.length >= MIN_SECRET_LENGTH);
  const spelled = [...new Set([value, ...lines])].map((text) => [...text].map(spellings).join(''));
  return new RegExp([...spelled, ...base64Forms(value)].join('|'), 'g');
}

export interface Redaction {
  /** The text with each secret, plain or encoded for a URL, a form, JSON or in base64, replaced by its variable's name. */
  text(text: string): string;
  /** The same for every string and field name in a JSON value, except in `ref`, `path` and `sha256`. */
  json<T>(value: T): T;
}

/** Hides the values of `env`. Values of fewer than six characters are not taken for secrets. */
export function redaction(env: Readonly<Record<string, string>>): Redaction {
  const secrets = Object.entries(env)
    .filter(([, value]) => value.length >= MIN_SECRET_LENGTH)
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([name, value]) => ({ mark: `[${name}]`, pattern: matcher(value) }));
  const text = (original: string): string =>
    secrets.reduce((redacted, { mark, pattern }) => redacted.replace(pattern, () => mark), original);
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

const MAX_CHARACTERS = 1_000;

/** Control characters, and the marks that turn the direction of text, as `\u001b`: a terminal prints them harmlessly. */
const printable = (text: string): string =>
  text.replace(
    /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A text of a provider as people may see it: redacted, one line, at most 1,000 characters, harmless to a terminal. */
export function presentable(text: string, redact: Redaction): string {
  const shown = printable(redact.text(text).trimEnd());
  return shown.length <= MAX_CHARACTERS ? shown : `${shown.slice(0, MAX_CHARACTERS)}…`;
}
