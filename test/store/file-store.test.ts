import { readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Ledger } from '../../src/model/ledger.ts';
import { createNodePort } from '../../src/node-port.ts';
import type { Port } from '../../src/port.ts';
import { initialiseFileStore } from '../../src/store/file/commit.ts';
import { createFileStore } from '../../src/store/file/file-store.ts';
import { ref, type Transaction } from '../../src/store/store.ts';
import { temporaryDirectory } from '../rig.ts';
import { type Place, testStore } from './store-suite.ts';

const port = createNodePort({ command: 'a test' });
const LEDGER: Ledger = {
  format: 1,
  ledger_id: 'a test',
  show: 'brief',
  created_at: '2026-08-01T00:00:00Z',
  weeks: [],
};

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

it('keeps the newest 64 transactions and nothing that was staged', async () => {
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
  for (const directory of ['state/staging', 'state/keys', 'history', 'episodes']) rmdirSync(join(root, directory));
  await open().transact(async (transaction) => transaction.put(ref('ledger', ''), LEDGER));
  expect(await open().view((view) => view.get(ref('ledger', '')))).toEqual(LEDGER);
});

it('is right without its lock too: a transaction that another overtook decides again', async () => {
  const { root } = await makePlace();
  const unlocked: Port = Object.create(port, {
    lock: { value: async () => ({ lost: new AbortController().signal, release() {} }) },
  });
  const [slow, fast] = [createFileStore(unlocked, root), createFileStore(unlocked, root)];
  const add = async (transaction: Transaction, mark: string) => {
    const ledger = (await transaction.get(ref('ledger', '')))!;
    transaction.put(ref('ledger', ''), { ...ledger, marks: [...((ledger.marks as string[]) ?? []), mark] });
  };
  let rounds = 0;
  await slow.transact(async (transaction) => {
    rounds += 1;
    await add(transaction, 'slow');
    if (rounds === 1) await fast.transact((inner) => add(inner, 'fast'));
  });
  expect(rounds).toBe(2);
  expect((await slow.view((view) => view.get(ref('ledger', ''))))?.marks).toEqual(['fast', 'slow']);
  expect(readdirSync(join(root, 'state/staging'))).toEqual([]);
});

it('answers what is true of the newest state: an error of an overtaken decide is decided again', async () => {
  const { root } = await makePlace();
  const unlocked: Port = Object.create(port, {
    lock: { value: async () => ({ lost: new AbortController().signal, release() {} }) },
  });
  const other = createFileStore(unlocked, root);
  let rounds = 0;
  const seen = await createFileStore(unlocked, root).transact(async (transaction) => {
    rounds += 1;
    const ledger = (await transaction.get(ref('ledger', '')))!;
    if (rounds > 1) return ledger.mark;
    await other.transact(async (inner) => inner.put(ref('ledger', ''), { ...ledger, mark: 'newer' }));
    throw new Error('there is no mark');
  });
  expect(seen).toBe('newer');
});
