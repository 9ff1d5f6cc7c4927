import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/doctor/diagnosis.ts';
import { makeShow } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { picture } from './damage.ts';

/** What is said when records and the newest commit do not fit: which of the two is wrong, where that can be known. */

const WEEK = '2026-W32';
const ID = `${WEEK}-0`;
const RECORD = `state/${WEEK}/${ID}.json`;
const commit = (number: number) => `state/commits/${String(number).padStart(9, '0')}.json`;

/** Minute after minute: an episode is made, gets a plan, gets another (`older.json`), is closed. Transactions 1 to 4. */
async function makeGrown(): Promise<string> {
  const root = await makeShow();
  const plan = (caption: string): string => {
    const steps = [{ id: 's1', provider: 'local', kind: 'image', params: { caption } }];
    writeFileSync(join(root, `${caption}.json`), JSON.stringify({ format: 1, steps }));
    return `${caption}.json`;
  };
  const steps = [
    ['allocate', '--key', 'a', '--week', WEEK],
    ['plan', ID, '--file', plan('one')],
    ['plan', ID, '--file', plan('two')],
    ['close', ID, '--reason', 'enough'],
  ];
  for (const [minute, words] of steps.entries()) {
    const { code, stderr } = await runLine(root, words, { now: `2026-08-07T00:0${minute}:00Z` });
    if (code !== 0) throw new Error(stderr);
    if (minute === 2) cpSync(join(root, RECORD), join(root, 'older.json'));
  }
  return root;
}

const run = (root: string, ...words: string[]) => runLine(root, words, { now: '2026-08-07T01:00:00Z' });
const NEW = ['allocate', '--key', 'new', '--week', WEEK];
const DOCTOR = '  episode doctor  # names every damaged record\n';
const damaged = (file: string, fault: string) =>
  `episode: the ledger is damaged at ${file}: ${fault} [LEDGER_DAMAGED]\n`;
const putBack = (file: string) =>
  `  nothing was changed; put the file back from a backup: cp -p BACKUP/${file} ${file}\n`;

async function expectSaid(root: string, said: string): Promise<void> {
  const before = picture(root);
  // At once: a command that finds a commit missing looks for seconds whether it comes.
  const refused = [NEW, ['show', ID], ['plan', ID, '--file', 'one.json']].map(async (words) => {
    expect(await run(root, ...words), words.join(' ')).toMatchObject({ code: 65, stdout: '', stderr: said });
  });
  const [listed, doctor] = await Promise.all([run(root, 'list', '--all'), run(root, 'doctor', '--json'), ...refused]);
  expect(listed).toMatchObject({ code: 65, stdout: expect.stringContaining(ID) });
  expect(listed.stderr).toContain(said);
  expect(doctor.code).toBe(65);
  const wrong = (doctor.json.diagnoses as Diagnosis[]).filter(({ state }) => state === 'wrong');
  const [first, ...others] = wrong;
  expect(`episode: ${first!.message} [${first!.code}]\n  nothing was changed; ${first!.fix}\n${DOCTOR}`).toBe(said);
  // What the record itself says is said too.
  for (const { message } of others) expect(message).toContain(RECORD);
  expect(picture(root)).toEqual(before);
}

describe('a commit that is missing is named, and no record is blamed for it', () => {
  it('the newest, by the record that is newer than all that are there', async () => {
    const root = await makeGrown();
    const kept = readFileSync(join(root, commit(4)));
    rmSync(join(root, commit(4)));
    const why = `it is missing: ${RECORD} was changed at 2026-08-07T00:03:00.000Z, and the newest commit that is there, ${commit(3)}, is of 2026-08-07T00:02:00.000Z`;
    await expectSaid(root, damaged(commit(4), why) + putBack(commit(4)) + DOCTOR);
    writeFileSync(join(root, commit(4)), kept);
    expect((await run(root, ...NEW)).stdout).toBe(`${WEEK}-1\n`);
  });

  it('the newest two, one after the other', async () => {
    const root = await makeGrown();
    const kept = [3, 4].map((number) => [number, readFileSync(join(root, commit(number)))] as const);
    for (const [number] of kept) rmSync(join(root, commit(number)));
    for (const [number, bytes] of kept) {
      expect((await run(root, ...NEW)).stderr).toContain(`the ledger is damaged at ${commit(number)}: it is missing: `);
      writeFileSync(join(root, commit(number)), bytes);
    }
    expect((await run(root, ...NEW)).code).toBe(0);
  });

  it.each([
    ['of the same week, which its index shows', WEEK, `state/${WEEK}/week.json`],
    ['of a new week, which the list of weeks shows', '2026-W33', 'state/ledger.json'],
  ])('of an allocation %s', async (_, week, record) => {
    const root = await makeShow();
    await runLine(root, ['allocate', '--key', 'a', '--week', WEEK], { now: '2026-08-07T00:00:00Z' });
    await runLine(root, ['allocate', '--key', 'b', '--week', week], { now: '2026-08-07T00:01:00Z' });
    rmSync(join(root, commit(2)));
    const why = `it is missing: ${record} was changed at 2026-08-07T00:01:00.000Z, and the newest commit that is there, ${commit(1)}, is of 2026-08-07T00:00:00.000Z`;
    const stderr = damaged(commit(2), why) + putBack(commit(2)) + DOCTOR;
    expect(await run(root, ...NEW)).toMatchObject({ code: 65, stdout: '', stderr });
  });

  it('the one below the newest, with the line that puts it back', async () => {
    const root = await makeGrown();
    rmSync(join(root, commit(3)));
    await expectSaid(root, damaged(commit(4), `${commit(3)} is missing`) + putBack(commit(3)) + DOCTOR);
  });
});

describe('a record that does not fit is named, and no commit is blamed for it', () => {
  it('an older copy that was put back', async () => {
    const root = await makeGrown();
    cpSync(join(root, 'older.json'), join(root, RECORD));
    const why = `it is as ${commit(3)} left it, and ${commit(4)} changed it`;
    await expectSaid(root, damaged(RECORD, why) + putBack(RECORD) + DOCTOR);
  });

  it('that is gone', async () => {
    const root = await makeGrown();
    rmSync(join(root, RECORD));
    await expectSaid(root, damaged(RECORD, `it is missing, and ${commit(4)} wrote it`) + putBack(RECORD) + DOCTOR);
  });

  it('that somebody edited: as a hand leaves it, it may also be of a commit that is missing', async () => {
    const root = await makeGrown();
    const record = JSON.parse(readFileSync(join(root, RECORD), 'utf8'));
    writeFileSync(join(root, RECORD), `${JSON.stringify({ ...record, allocation_key: 'b' }, null, 2)}\n`);
    const why = `it is not as ${commit(4)} left it: it was changed by hand, or ${commit(5)} is missing`;
    await expectSaid(root, damaged(RECORD, why) + putBack(RECORD) + DOCTOR);
  });

  it('that is no record any more', async () => {
    const root = await makeGrown();
    writeFileSync(join(root, RECORD), '{}\n');
    await expectSaid(root, damaged(RECORD, 'it is not what the newest commit says') + putBack(RECORD) + DOCTOR);
  });
});
