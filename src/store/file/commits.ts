import * as z from 'zod/mini';
import { namesIn } from '../../durable.ts';
import { ledgerBusy, ledgerDamaged, recordDamaged, restoring } from '../../errors.ts';
import { readBytes, readRecord } from '../../json/record.ts';
import { describeIssues } from '../../model/issues.ts';
import { sha256, timestamp } from '../../model/scalars.ts';
import type { Port } from '../../port.ts';
import { COMMITS, commitNumber, commitPath, STAGING } from './paths.ts';

/** One file of `state/commits/`: a transaction, complete before its number exists. */
const Commit = z.looseObject({
  format: z.literal(1),
  number: z.int().check(z.minimum(0)),
  /** Random; what the next commit names as `prev`. */
  tx: z.string().check(z.minLength(1)),
  at: timestamp,
  /** The `tx` of number-1; `null` for the first. */
  prev: z.nullable(z.string()),
  changes: z.array(
    z.strictObject({
      target: z.string().check(z.regex(/^(state|history)\/([\w-]+\/)?[\w-]+\.json$/)),
      /** Name in `staging/`; `null` removes the target. */
      staged: z.nullable(z.string().check(z.regex(/^\d+-[0-9a-f]+\.json$/))),
      sha256: z.nullable(sha256),
    }),
  ),
});
export type Commit = z.infer<typeof Commit>;
export type Change = Commit['changes'][number];

export const stagedFile = (change: Change): string | null =>
  change.staged === null ? null : `${STAGING}/${change.staged}`;

/** Room for listings that met a writer: each further look costs two reads and the wait below. */
const LOOKS = 60;
const WAIT_MS = { least: 1, most: 40 };

/**
 * The newest valid transaction: the highest number, if its `prev` is the `tx` of the number before it. Writers tidy old
 * commits in ascending order while this looks, so a mismatch is looked at again. `undefined`: there is no commit at all.
 * Throws `LEDGER_BUSY` (75) when it never stood still, `LEDGER_DAMAGED` (65) when it stood still and stayed invalid.
 */
export async function findHead(port: Port, root: string): Promise<Commit | undefined> {
  let before = { fault: '', lost: '' };
  let still = 0;
  for (let look = 0; look < LOOKS; look += 1) {
    const numbers = await commitNumbers(port, root);
    if (numbers.length === 0) return undefined;
    const highest = Math.max(...numbers);
    const seen = await lookAt(port, root, highest);
    if ('number' in seen) return seen;
    still = seen.fault === before.fault ? still + 1 : 0;
    before = seen;
    await port.sleep(Math.min(WAIT_MS.least * 2 ** look, WAIT_MS.most));
  }
  if (still >= LOOKS / 2) {
    const file = commitPath(Math.max(...(await commitNumbers(port, root)), 0));
    throw ledgerDamaged(file, before.fault, restoring(before.lost));
  }
  throw ledgerBusy();
}

/** The commit `highest` if it is the head, else why it is none, and the file that would make it one. */
async function lookAt(port: Port, root: string, highest: number): Promise<Commit | { fault: string; lost: string }> {
  const file = commitPath(highest);
  const head = await readCommit(port, root, highest);
  if (!head) return { fault: `commit ${highest} is listed and cannot be opened`, lost: file };
  if (highest === 0) return head;
  const previous = await readCommit(port, root, highest - 1);
  if (previous?.tx === head.prev) return head;
  const before = commitPath(highest - 1);
  return { fault: previous ? `its prev is not the tx of ${before}` : `${before} is missing`, lost: before };
}

export async function commitNumbers(port: Port, root: string): Promise<number[]> {
  const names = await namesIn(port.disk, root, COMMITS);
  return names.map(commitNumber).filter((number) => number !== null);
}

/** `undefined` if it is not there (tidied away); throws `RECORD_DAMAGED` for what no writer of ours leaves behind. */
export async function readCommit(port: Port, root: string, number: number): Promise<Commit | undefined> {
  const file = commitPath(number);
  const bytes = await readBytes(port.disk, `${root}/${file}`, file);
  if (!bytes) return undefined;
  const result = z.safeParse(Commit, await readRecord(bytes, file));
  if (!result.success) throw recordDamaged(file, describeIssues(result.error)[0]!);
  if (result.data.number !== number) throw recordDamaged(file, `it says it is number ${result.data.number}`);
  return result.data;
}
