import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../rig.ts';
import { runVerb, type VerbRan } from '../run-verb.ts';
import { DAMAGES, damage, hasSibling, makeFullShow, picture, RECORDS, type RecordName, WEEK } from './damage.ts';

/** No damage is read as something else, mended, or written over; what does not depend on it goes on. */

let original: string;
let place: string;
beforeAll(async () => {
  original = await makeFullShow();
  place = await temporaryDirectory();
});

/** These stop everything that creates; one key or one episode stops only itself. */
const STOPS_CREATION: RecordName[] = [
  'the newest commit',
  'the commit before it',
  'the ledger',
  'the index of the week',
  'the history of the week',
  'pipeline.json',
];

const cases = (Object.keys(RECORDS) as RecordName[]).flatMap((record) =>
  Object.keys(DAMAGES)
    .filter((how) => how !== 'replaced by another of its kind' || hasSibling(record))
    .map((how) => [record, how] as const),
);

const allocate = (root: string, key: string) => runVerb(root, 'allocate', { options: { key, week: WEEK } });

/** `pipeline.json` is configuration: 78, but for a newer format. */
const exitOf = (record: RecordName, how: string): number =>
  record === 'pipeline.json' && how !== 'of a newer format' ? 78 : 65;

function expectNamed({ exit, errors, text }: VerbRan, file: string, expected: number): void {
  expect(exit).toBe(expected);
  expect(text).not.toMatch(/^2026-W32-\d+$/m);
  const about = errors.find((error) => `${error.message} ${error.subject}`.includes(file));
  expect(about, `${file} in ${errors.map((error) => error.message).join('; ')}`).toBeDefined();
  expect(about!.hints.length).toBeGreaterThan(0);
}

describe.each(cases)('%s %s', (record, how) => {
  it('stops what depends on it, is named, and stays as it is', async () => {
    const root = join(place, `${record} ${how}`.replaceAll(/\W/g, '-'));
    await cp(original, root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    const file = damage(root, record, how);
    const before = picture(root);
    const exit = exitOf(record, how);

    // A link to nothing is no pipeline.json, so there is no show that a message could be about.
    const lost = record === 'pipeline.json' && how.startsWith('replaced by a link');
    if (!lost) {
      const stopped = await allocate(root, STOPS_CREATION.includes(record) ? 'new' : 'b');
      expectNamed(stopped, file, exit);
    }
    if (record === 'an episode') expectNamed(await runVerb(root, 'show', { args: [`${WEEK}-1`] }), file, 65);
    const listed = await runVerb(root, 'list', { options: { all: true } });
    if (record !== 'a key') expect(listed.exit).toBe(exit);
    if (record !== 'pipeline.json') {
      for (const other of [`${WEEK}-0`, `${WEEK}-2`, '2026-W31-0']) expect(listed.text).toContain(other);
      const doctor = await runVerb(root, 'doctor');
      expect(doctor.exit).toBe(65);
      expect(doctor.text).toContain(file);
    }
    expect(picture(root)).toEqual(before);

    if (record === 'an episode' || record === 'a key') {
      expect((await runVerb(root, 'show', { args: [`${WEEK}-0`] })).exit).toBe(0);
      expect(await allocate(root, 'a')).toMatchObject({ exit: 0, text: `${WEEK}-0\n` });
      expect(await allocate(root, 'new')).toMatchObject({ exit: 0, text: `${WEEK}-3\n` });
    }
  });
});
