import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** SHA-256 of bytes or of UTF-8 text, in lower-case hex. */
export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** SHA-256 over the canonical JSON (RFC 8785) of plain JSON: key order and number spelling do not matter. */
export const fingerprint = (json: unknown): string => sha256(canonicalize(json)!);
