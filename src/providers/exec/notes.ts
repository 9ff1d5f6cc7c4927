import { lines } from '../../child/lines.ts';
import { presentable, type Redaction } from '../redact.ts';

const MAX_LINE_BYTES = 16 * 1024;
const MAX_LINES = 500;
const KEPT_LINES = 10;

/**
 * Hands each line of an adapter's stderr to `onNote`, presentable, at most 500, and resolves with the last ten at the
 * end of the stream. It reads all, so that an adapter never waits for its stderr. A line of more than 16 KiB is left
 * out whole: cut first, it could end in half a secret that no redaction recognises.
 */
export async function takeNotes(
  stderr: AsyncIterable<Buffer>,
  redact: Redaction,
  onNote: (line: string) => void,
): Promise<string[]> {
  const kept: string[] = [];
  let count = 0;
  for await (const { bytes, end } of lines(stderr, MAX_LINE_BYTES)) {
    const note =
      end === 'overlong'
        ? `(a line of more than ${MAX_LINE_BYTES} bytes left out)`
        : presentable(bytes.toString('utf8'), redact);
    count += 1;
    if (count <= MAX_LINES) onNote(note);
    if (count === MAX_LINES) onNote('(more lines left out)');
    kept.push(note);
    if (kept.length > KEPT_LINES) kept.shift();
  }
  return kept;
}
