import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createNodePort } from '../../src/node-port.ts';
import { initialiseFileStore } from '../../src/store/file/commit.ts';
import { createFileStore } from '../../src/store/file/file-store.ts';
import { ref } from '../../src/store/store.ts';
import { temporaryDirectory } from '../rig.ts';
import { type Place, testStore } from './store-suite.ts';

const port = createNodePort({ command: 'a test' });
const LEDGER = { format: 1, ledger_id: 'a test', show: 'brief', created_at: '2026-08-01T00:00:00Z' } as const;

/** Every file below, with its bytes and the time of its last change. */
function contents(directory: string): [string, string, number][] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name !== 'lock.json')
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => [path, readFileSync(path, 'latin1'), statSync(path).mtimeMs]);
}

async function makePlace(): Promise<Place & { root: string }> {
  const root = await temporaryDirectory();
  await initialiseFileStore(port, root, LEDGER);
  return { root, open: () => createFileStore(port, root), contents: () => contents(root) };
}

testStore('the file store', makePlace);

it('keeps the newest 64 transactions, and reads no more of them when there were a thousand', async () => {
  const { root, open } = await makePlace();
  const store = open();
  const note = (turn: number) => ({ ...LEDGER, turn });
  for (let turn = 1; turn <= 70; turn += 1) {
    await store.transact(async (transaction) => transaction.put(ref('ledger', ''), note(turn)));
  }
  const commits = readdirSync(join(root, 'state/commits')).sort();
  expect([commits.length, commits[0], commits.at(-1)]).toEqual([64, '000000007.json', '000000070.json']);
  expect(readdirSync(join(root, 'state/staging'))).toEqual([]);
  expect(await store.view((view) => view.get(ref('ledger', '')))).toEqual(note(70));
});

it('works in a copy that kept files only: empty directories are made again', async () => {
  const { root, open } = await makePlace();
  const { rmdirSync } = await import('node:fs');
  for (const directory of ['state/staging', 'state/keys', 'history', 'episodes']) rmdirSync(join(root, directory));
  await open().transact(async (transaction) => transaction.put(ref('ledger', ''), LEDGER));
  expect(await open().view((view) => view.get(ref('ledger', '')))).toEqual(LEDGER);
});
