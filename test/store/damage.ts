import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createNodePort } from '../../src/node-port.ts';
import { createFileStore } from '../../src/store/file/file-store.ts';
import { ref } from '../../src/store/store.ts';
import { makeShow } from '../rig.ts';
import { runVerb } from '../run-verb.ts';

export const WEEK = '2026-W32';

/** Where each kind of record lies in the show below. */
export const RECORDS = {
  'the newest commit': 'state/commits/000000007.json',
  'the commit before it': 'state/commits/000000006.json',
  'the ledger': 'state/ledger.json',
  'the index of the week': `state/${WEEK}/week.json`,
  'the history of the week': `history/${WEEK}.json`,
  'a key': '',
  'an episode': `state/${WEEK}/${WEEK}-1.json`,
  'pipeline.json': 'pipeline.json',
};
export type RecordName = keyof typeof RECORDS;

/** Another record of the same kind: what a hurried `cp` puts in the wrong place. */
const SIBLINGS: Partial<Record<RecordName, string>> = {
  'the newest commit': 'state/commits/000000005.json',
  'the commit before it': 'state/commits/000000005.json',
  'the index of the week': 'state/2026-W31/week.json',
  'the history of the week': 'history/2026-W31.json',
  'an episode': `state/${WEEK}/${WEEK}-2.json`,
};

/** Keys a, b, c made 2026-W32-0 to -2, a week lies before and after, and the two newest transactions are of the latter. */
export async function makeFullShow(): Promise<string> {
  const root = await makeShow();
  const store = createFileStore(createNodePort({ command: 'a test', now: () => Date.parse('2026-08-02Z') }), root);
  await store.transact(async (transaction) => {
    for (const week_id of ['2026-W31', WEEK]) {
      await transaction.create(ref('history', week_id), { format: 1, revision: 1, week_id, episodes: [] });
    }
  });
  const keys = { a: WEEK, b: WEEK, c: WEEK, d: '2026-W31', e: '2026-W33' };
  for (const [key, week] of Object.entries(keys)) await succeed('allocate', { options: { key, week } });
  await succeed('close', { args: ['2026-W33-0'], options: { reason: 'the newest transaction' } });
  return root;

  async function succeed(name: string, parameters: object): Promise<void> {
    const { errors } = await runVerb(root, name, parameters);
    if (errors[0]) throw errors[0];
  }
}

/** The file of a record; that of a key by the key it is about. */
export function fileOf(root: string, record: RecordName, key = 'b'): string {
  if (record !== 'a key') return RECORDS[record];
  const names = readdirSync(join(root, 'state/keys'));
  const name = names.find((one) => JSON.parse(readFileSync(join(root, 'state/keys', one), 'utf8')).key === key)!;
  return `state/keys/${name}`;
}

type Damage = (path: string, sibling: string | null) => void;

const rewrite =
  (change: (text: string) => string | Buffer): Damage =>
  (path) =>
    writeFileSync(path, change(readFileSync(path, 'utf8')));

const replaceWith =
  (make: (path: string) => void): Damage =>
  (path) => {
    rmSync(path);
    make(path);
  };

/** What power cuts, editors, merges and restores do to a file. */
export const DAMAGES: Record<string, Damage> = {
  'of zero bytes': rewrite(() => ''),
  'cut off': rewrite((text) => text.slice(0, text.length / 2)),
  'full of NUL': rewrite((text) => Buffer.alloc(text.length)),
  'with NUL at its end': rewrite((text) => `${text}\0\0\0`),
  'with a byte order mark': rewrite((text) => `\uFEFF${text}`),
  'in UTF-16': rewrite((text) => Buffer.from(`\uFEFF${text}`, 'utf16le')),
  'in Latin-1': rewrite((text) => Buffer.from(text.replace('{', '{ "name": "Zoë",'), 'latin1')),
  'with merge markers': rewrite((text) => `<<<<<<< HEAD\n${text}=======\n${text}>>>>>>> theirs\n`),
  'with a field twice': rewrite((text) => text.replace('"format": 1,', '"format": 1,\n  "format": 1,')),
  'with 1e400': rewrite((text) => text.replace('{', '{\n  "number": 1e400,')),
  'with an integer beyond 2^53': rewrite((text) => text.replace('{', '{\n  "more": 9007199254740993,')),
  'that is a list': rewrite((text) => `[${text}]`),
  'without a field it needs': rewrite((text) => text.replace('"format": 1,', '')),
  'of a newer format': rewrite((text) => text.replace('"format": 1,', '"format": 2,')),
  'replaced by a directory': replaceWith((path) => mkdirSync(path)),
  'replaced by a link to nothing': replaceWith((path) => symlinkSync('/nonexistent/record.json', path)),
  'replaced by a link to itself': replaceWith((path) => symlinkSync(path, path)),
  'replaced by another of its kind': (path, sibling) => writeFileSync(path, readFileSync(sibling!)),
};

export function damage(root: string, record: RecordName, how: string): string {
  const file = fileOf(root, record);
  const sibling = record === 'a key' ? fileOf(root, record, 'c') : (SIBLINGS[record] ?? null);
  DAMAGES[how]!(join(root, file), sibling && join(root, sibling));
  return file;
}

export const hasSibling = (record: RecordName): boolean => record === 'a key' || record in SIBLINGS;

/** Every name below, what it is, its bytes and the time of its last change. */
export function picture(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => {
      const stat = lstatSync(path);
      return `${path} ${stat.mode} ${stat.isFile() ? `${stat.mtimeMs} ${readFileSync(path, 'latin1')}` : ''}`;
    });
}
