const NEWLINE = 0x0a;

/** `tail` is what stood before the end of the stream; of an `overlong` line nothing is kept. */
export interface Line {
  bytes: Buffer;
  end: 'newline' | 'tail' | 'overlong';
}

/**
 * Splits a stream into lines, as bytes: a character cut in two by a chunk border is whole again in its line.
 * A line of more than `maxBytes` bytes (its newline not counted) is reported once, as soon as it is too long, and then
 * skipped, so that no more than `maxBytes` and one chunk are ever held.
 */
export async function* lines(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line> {
  let held: Buffer[] = [];
  let size = 0;
  let skipping = false;
  for await (const chunk of chunks) {
    for (let from = 0; from <= chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, from);
      const piece = chunk.subarray(from, newline === -1 ? chunk.length : newline);
      size += piece.length;
      if (!skipping && size > maxBytes) {
        skipping = true;
        held = [];
        yield { bytes: Buffer.alloc(0), end: 'overlong' };
      }
      if (!skipping) held.push(piece);
      if (newline === -1) break;
      if (!skipping) yield { bytes: Buffer.concat(held), end: 'newline' };
      held = [];
      size = 0;
      skipping = false;
      from = newline + 1;
    }
  }
  if (!skipping && size > 0) yield { bytes: Buffer.concat(held), end: 'tail' };
}
