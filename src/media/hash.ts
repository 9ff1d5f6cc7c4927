import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** SHA-256 (lower-case hex) and size of a file, read in a stream. Throws errno errors, or the signal's `AbortError`. */
export async function hashFile(path: string, signal?: AbortSignal): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), bytes };
}
