import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fillText, Missing, type Values } from './template.ts';

const MIME: Record<string, string> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.mp4': 'video/mp4',
  '.mov': 'video/quicktime',
  '.webm': 'video/webm',
  '.wav': 'audio/wav',
  '.mp3': 'audio/mpeg',
  '.m4a': 'audio/mp4',
  '.ogg': 'audio/ogg',
  '.flac': 'audio/flac',
  '.txt': 'text/plain',
  '.json': 'application/json',
};

/** By its name; a provider looks at the bytes. */
export const mimeOf = (path: string): string => MIME[extname(path).toLowerCase()] ?? 'application/octet-stream';

/** The name ending of a type, with its dot; an unknown one has none. */
export const endingOf = (mime: string): string => {
  const type = mime.split(';')[0]!.trim().toLowerCase();
  return Object.entries(MIME).find(([, known]) => known === type)?.[0] ?? '';
};

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The same for every send of one attempt; 31 bits, which every provider's seed takes. */
const seedOf = (attemptId: string): number => digestOf(attemptId).readUInt32BE(0) >>> 1;

/** In the shape of a version 4 UUID (RFC 9562), for providers that take nothing else. */
function uuidOf(clientRef: string): string {
  const bytes = digestOf(clientRef).subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

interface Intent {
  attempt_id: string;
  client_ref: string;
  kind: string;
  params: Record<string, unknown>;
}

/** What templates may name about an attempt; files are read when one names them. */
export function valuesOf(
  intent: Intent,
  more: {
    credential: Record<string, string>;
    variables: Record<string, { of: string; matches: string }>;
    inputs?: readonly { name: string; path: string }[];
    seedParam?: string | undefined;
  } & Values,
): Values {
  const { credential, variables, inputs = [], seedParam, ...rest } = more;
  const seed = seedOf(intent.attempt_id);
  const params = seedParam === undefined ? intent.params : seeded(intent.params, seedParam, seed);
  const values = {
    ...rest,
    params,
    credential,
    kind: intent.kind,
    attempt_id: intent.attempt_id,
    client_ref: intent.client_ref,
    uuid: uuidOf(intent.client_ref),
    seed,
    inputs: Object.fromEntries(inputs.map(({ name, path }) => [name, inputOf(path)])),
  };
  return { ...values, variables: variablesOf(variables, values) };
}

/** `null` says that this model takes none. */
function seeded(params: Record<string, unknown>, name: string, seed: number): Record<string, unknown> {
  const { [name]: given = seed, ...others } = params;
  return given === null ? others : { ...others, [name]: given };
}

const inputOf = (path: string) => ({
  path,
  get base64() {
    return readFileSync(path).toString('base64');
  },
  get data_uri() {
    return `data:${mimeOf(path)};base64,${this.base64}`;
  },
});

function textOrNothing(of: string, values: Values): string {
  try {
    return fillText(of, values) ?? '';
  } catch (error) {
    if (error instanceof Missing) return '';
    throw error;
  }
}

/** What a pattern finds, of its first group if it has one; a variable of what is not there does not exist either. */
function variablesOf(variables: Record<string, { of: string; matches: string }>, values: Values): Values {
  const entries = Object.entries(variables).map(([name, { of, matches }]) => {
    const found = new RegExp(matches).exec(textOrNothing(of, values));
    return [name, found ? (found[1] ?? found[0]) : undefined] as const;
  });
  return Object.fromEntries(entries);
}
