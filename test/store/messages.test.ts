import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/doctor/diagnosis.ts';
import { temporaryDirectory } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { damage, fileOf, makeFullShow, picture, type RecordName, WEEK } from './damage.ts';

/** What is said about damaged and incomplete ledgers, word for word: it is all that a person has at 23:40. */

let original: string;
let place: string;
beforeAll(async () => {
  original = await makeFullShow();
  place = await temporaryDirectory();
});

let copies = 0;
async function copy(): Promise<string> {
  copies += 1;
  const root = join(place, `show-${copies}`);
  await cp(original, root, { recursive: true });
  return root;
}

const NEW = ['allocate', '--key', 'new', '--week', WEEK];
const B = ['allocate', '--key', 'b'];
const run = (root: string, args: string[]) => runLine(root, args, { now: '2026-08-07T00:00:00Z' });

const DAMAGED_HINTS = (file: string) =>
  `  nothing was changed; put the file back from a backup: cp -p BACKUP/${file} ${file}\n` +
  '  episode doctor  # names every damaged record\n';

describe('damage', () => {
  it.each<[RecordName, string, string[], string]>([
    ['the newest commit', 'of zero bytes', NEW, 'it is empty (0 bytes)'],
    ['the newest commit', 'replaced by a link to nothing', NEW, 'it is a link to nothing'],
    ['the commit before it', 'full of NUL', NEW, 'it holds only NUL bytes'],
    ['the ledger', 'in UTF-16', NEW, 'it is UTF-16, not UTF-8'],
    ['the index of the week', 'with merge markers', NEW, 'it holds merge conflict markers'],
    ['the index of the week', 'replaced by another of its kind', NEW, 'it says it is 2026-W31'],
    ['the history of the week', 'with 1e400', NEW, 'the number 1e400 is too large (line 2)'],
    ['a key', 'with a field twice', B, 'the field "format" is there twice (line 3)'],
    ['a key', 'replaced by another of its kind', B, 'it is the record of another key ("c")'],
    ['an episode', 'with an integer beyond 2^53', B, 'the number 9007199254740993 cannot be kept exactly (line 2)'],
    ['an episode', 'replaced by a directory', ['show', `${WEEK}-1`], 'it is a directory'],
    ['an episode', 'with a byte order mark', ['why', `${WEEK}-1`], 'it starts with a byte order mark'],
  ])('of %s %s', async (record, how, args, fault) => {
    const root = await copy();
    const file = damage(root, record, how);
    const before = picture(root);
    const ran = await run(root, args);
    expect(ran.stderr).toBe(`episode: ${file} is damaged: ${fault} [RECORD_DAMAGED]\n${DAMAGED_HINTS(file)}`);
    expect(ran).toMatchObject({ code: 65, stdout: '' });
    expect(picture(root)).toEqual(before);
  });

  it('of a newer format names the program that can read it', async () => {
    const root = await copy();
    damage(root, 'the ledger', 'of a newer format');
    expect(await run(root, NEW)).toMatchObject({
      code: 65,
      stderr:
        'episode: state/ledger.json has format 2, newer than this program (format 1) can read [FORMAT_NEWER]\n' +
        '  use the newer episode that wrote it; it never reads back into this one\n',
    });
  });

  it('of pipeline.json is a matter of configuration', async () => {
    const root = await copy();
    damage(root, 'pipeline.json', 'replaced by a directory');
    const ran = await run(root, NEW);
    expect(ran.code).toBe(78);
    expect(ran.stderr).toMatch(/^episode: pipeline\.json: it is a directory \[CONFIGURATION\]\n {2}\S/);
  });

  it('of one episode leaves the list of the others on stdout, also as JSON', async () => {
    const root = await copy();
    const file = damage(root, 'an episode', 'cut off');
    const { code, json, stderr } = await run(root, ['list', '--json']);
    expect(code).toBe(65);
    expect((json.episodes as { episode_id: string }[]).map((one) => one.episode_id)).toEqual([
      '2026-W33-0',
      `${WEEK}-2`,
      `${WEEK}-0`,
      '2026-W31-0',
    ]);
    expect(json.attention).toMatchObject([{ episode_id: `${WEEK}-1`, what: 'damaged', command: 'episode doctor' }]);
    expect(json.error).toMatchObject({ code: 'RECORD_DAMAGED', subject: file });
    expect(stderr).toContain(DAMAGED_HINTS(file));
  });

  it('in two places is named twice by doctor', async () => {
    const root = await copy();
    const files = [
      damage(root, 'the newest commit', 'of zero bytes'),
      damage(root, 'an episode', 'cut off'),
      damage(root, 'a key', 'cut off'),
      damage(root, 'the index of the week', 'cut off'),
    ];
    const { code, json } = await run(root, ['doctor', '--json']);
    expect(code).toBe(65);
    const messages = (json.diagnoses as { message: string; state: string }[])
      .filter(({ state }) => state === 'wrong')
      .map(({ message }) => message);
    for (const file of files) expect(messages.filter((message) => message.includes(file))).toHaveLength(1);
  });

  it('far below the head stops nothing, and doctor names it', async () => {
    const root = await copy();
    writeFileSync(join(root, 'state/commits/000000002.json'), '');
    const doctor = await run(root, ['doctor']);
    expect(doctor).toMatchObject({ code: 65, stdout: expect.stringContaining('state/commits/000000002.json') });
    expect((await run(root, ['list'])).code).toBe(0);
    expect(await run(root, NEW)).toMatchObject({ code: 0, stdout: `${WEEK}-3\n` });
  });
});

const HISTORY = {
  format: 1,
  revision: 1,
  week_id: '2026-W30',
  episodes: [
    {
      episode_id: '2026-W30-0',
      week_id: '2026-W30',
      sequence: 0,
      allocation_key: 'old',
      title: null,
      completed_at: '2026-07-24T00:00:00Z',
      media_sha256: null,
      cover_sha256: null,
      cost: [],
      references: [],
      receipts: [],
      migration: null,
    },
  ],
};

const INCOMPLETE = (fault: string) =>
  `episode: the ledger is incomplete: ${fault}; nothing was created [LEDGER_INCOMPLETE]\n`;
const DOCTOR = '  episode doctor  # names all that is missing or does not fit\n';
const RESTORE = (...files: string[]) =>
  files.map((file) => `  put the file back from a backup: cp -p BACKUP/${file} ${file}\n`).join('') + DOCTOR;
const RESTORE_WEEK = (week: string) =>
  `  put the week back from a backup, overwriting nothing: cp -Rpn BACKUP/state/${week} state/\n${DOCTOR}`;
const RESTORE_STATE = 'mv state history ELSEWHERE && cp -Rp BACKUP/state BACKUP/history .\n';
const STRAY = (path: string) =>
  `  put state/ and history/ back from the backup that belongs to ${path}: ${RESTORE_STATE}` +
  `  or, if ${path} is not of this show: mv ${path} ELSEWHERE\n${DOCTOR}`;
const WITHOUT_STATE = (path: string) =>
  `  put state/ back from the backup that belongs to ${path}: cp -Rp BACKUP/state .\n` +
  `  or, if ${path} is not of this show: mv ${path} ELSEWHERE\n${DOCTOR}`;

describe('a ledger that does not agree with itself creates nothing', () => {
  const lose = (path: string) => (root: string) => rmSync(join(root, path), { recursive: true });
  const make = (path: string) => (root: string) => mkdirSync(join(root, path), { recursive: true });
  const stamp = (path: string) => (root: string) => {
    make(path)(root);
    writeFileSync(join(root, path, 'episode.json'), '{}');
  };
  const key = () => fileOf(original, 'a key');

  it.each<[string, (root: string) => void, string[], () => string]>([
    [
      'a key without its file',
      (root) => rmSync(join(root, key())),
      B,
      () => INCOMPLETE(`${key()} is missing: key "b" made ${WEEK}-1`) + RESTORE(key()),
    ],
    [
      'an episode without its file',
      lose(`state/${WEEK}/${WEEK}-1.json`),
      NEW,
      () => INCOMPLETE(`state/${WEEK}/${WEEK}-1.json is missing`) + RESTORE(`state/${WEEK}/${WEEK}-1.json`),
    ],
    [
      'the key of an episode without its file',
      lose(`state/${WEEK}/${WEEK}-1.json`),
      B,
      () =>
        INCOMPLETE(`state/${WEEK}/${WEEK}-1.json is missing: key "b" made ${WEEK}-1`) +
        RESTORE(`state/${WEEK}/${WEEK}-1.json`),
    ],
    [
      'an episode without its file, when it is shown',
      lose(`state/${WEEK}/${WEEK}-1.json`),
      ['show', `${WEEK}-1`],
      () => INCOMPLETE(`state/${WEEK}/${WEEK}-1.json is missing`) + RESTORE(`state/${WEEK}/${WEEK}-1.json`),
    ],
    [
      'episodes without an index',
      lose(`state/${WEEK}/week.json`),
      NEW,
      () => INCOMPLETE(`state/${WEEK}/week.json is missing: ${WEEK} has had episodes`) + RESTORE_WEEK(WEEK),
    ],
    [
      'a week that is gone as a whole',
      lose(`state/${WEEK}`),
      NEW,
      () => INCOMPLETE(`state/${WEEK}/week.json is missing: ${WEEK} has had episodes`) + RESTORE_WEEK(WEEK),
    ],
    [
      'a key of a week that is gone as a whole',
      lose(`state/${WEEK}`),
      B,
      () => INCOMPLETE(`state/${WEEK}/week.json is missing: key "b" made ${WEEK}-1`) + RESTORE_WEEK(WEEK),
    ],
    [
      'a week that came from another ledger',
      (root) => {
        make('state/2026-W30')(root);
        writeFileSync(
          join(root, 'state/2026-W30/week.json'),
          JSON.stringify({ format: 1, revision: 1, week_id: '2026-W30', highest: 3, episodes: {} }),
        );
      },
      ['allocate', '--key', 'new', '--week', '2026-W30'],
      () =>
        INCOMPLETE('state/2026-W30/week.json is there, and state/ledger.json does not know that week') +
        RESTORE('state/ledger.json'),
    ],
    [
      'no ledger.json',
      lose('state/ledger.json'),
      NEW,
      () => INCOMPLETE('state/ledger.json is missing') + RESTORE('state/ledger.json'),
    ],
    [
      'a directory in the place of the next episode',
      make(`episodes/${WEEK}-3`),
      NEW,
      () => INCOMPLETE(`episodes/${WEEK}-3 is there, and no record of it`) + STRAY(`episodes/${WEEK}-3`),
    ],
    [
      'a stamped directory of a later number',
      stamp(`episodes/${WEEK}-7`),
      NEW,
      () =>
        INCOMPLETE(`episodes/${WEEK}-7 was made by a ledger, and no record of it is here`) +
        STRAY(`episodes/${WEEK}-7`),
    ],
    [
      'a weekly name from before',
      make('episodes/week-32-2026'),
      NEW,
      () =>
        INCOMPLETE(`episodes/week-32-2026 carries a weekly name of ${WEEK} from before the versioned ones`) +
        STRAY('episodes/week-32-2026'),
    ],
    [
      'a history of a week without records',
      (root) => writeFileSync(join(root, 'history/2026-W30.json'), JSON.stringify(HISTORY)),
      ['allocate', '--key', 'new', '--week', '2026-W30'],
      () =>
        INCOMPLETE('state/2026-W30/week.json is missing: 2026-W30-0 is in history/2026-W30.json') +
        RESTORE_WEEK('2026-W30'),
    ],
    [
      'episodes/ without state/',
      (root) => {
        lose('state')(root);
        lose('history')(root);
        make(`episodes/${WEEK}-0`)(root);
      },
      NEW,
      () => INCOMPLETE(`episodes/${WEEK}-0 is there and state/ is empty`) + WITHOUT_STATE(`episodes/${WEEK}-0`),
    ],
    [
      'history/ without state/, for init too',
      lose('state'),
      ['init', '--time-zone', 'UTC'],
      () => INCOMPLETE('history/2026-W31.json is there and state/ is empty') + WITHOUT_STATE('history/2026-W31.json'),
    ],
  ])('%s', async (_, change, args, text) => {
    const root = await copy();
    change(root);
    const before = picture(root);
    const ran = await run(root, args);
    expect(ran.stderr).toBe(text());
    expect(ran).toMatchObject({ code: 65, stdout: '' });
    const doctor = await run(root, ['doctor', '--json']);
    const [, fix] = ran.stderr.split('\n');
    expect([doctor.code, (doctor.json.diagnoses as Diagnosis[]).map((one) => `  ${one.fix}`)]).toEqual([
      65,
      expect.arrayContaining([fix]),
    ]);
    expect(picture(root)).toEqual(before);
  });

  it('a key of two episodes', async () => {
    const root = await copy();
    const index = join(root, `state/${WEEK}/week.json`);
    const week = JSON.parse(readFileSync(index, 'utf8'));
    week.episodes[`${WEEK}-2`] = week.episodes[`${WEEK}-1`];
    writeFileSync(index, JSON.stringify(week));
    expect(await run(root, B)).toMatchObject({
      code: 65,
      stdout: '',
      stderr:
        `episode: key "b" is recorded for ${WEEK}-1 and ${WEEK}-2 in ${WEEK} [KEY_ON_SEVERAL_EPISODES]\n` +
        `  nothing was created; put state/ and history/ back from one backup: ${RESTORE_STATE}` +
        `  episode show ${WEEK}-1\n` +
        `  episode show ${WEEK}-2\n`,
    });
  });

  it('an unstamped directory of a later number is somebody else’s, and stops nothing', async () => {
    const root = await copy();
    make(`episodes/${WEEK}-9`)(root);
    expect(await run(root, NEW)).toMatchObject({ code: 0, stdout: `${WEEK}-3\n` });
  });
});

describe('a ledger without its commits', () => {
  const GONE =
    'episode: the ledger is damaged at state/commits: records are there, and no commit is [LEDGER_DAMAGED]\n' +
    `  nothing was changed; put state/ and history/ back from one backup: ${RESTORE_STATE}` +
    '  episode doctor  # names every damaged record\n';

  it.each([
    ['gone', (root: string) => rmSync(join(root, 'state/commits'), { recursive: true })],
    [
      'emptied',
      (root: string) => {
        rmSync(join(root, 'state/commits'), { recursive: true });
        mkdirSync(join(root, 'state/commits'));
      },
    ],
  ])('%s is damage, and never taken for an empty one', async (_, change) => {
    const root = await copy();
    change(root);
    for (const args of [NEW, B, ['init', '--time-zone', 'UTC'], ['show', `${WEEK}-1`]]) {
      expect(await run(root, args), args[0]).toMatchObject({ code: 65, stdout: '', stderr: GONE });
    }
    expect(await run(root, ['list', '--all'])).toMatchObject({
      code: 65,
      stdout: expect.stringContaining(`${WEEK}-1`),
    });
  });

  it('of which the one below the newest is lost says which', async () => {
    const root = await copy();
    rmSync(join(root, 'state/commits/000000006.json'));
    expect((await run(root, NEW)).stderr).toMatch(
      /^episode: the ledger is damaged at state\/commits\/000000007\.json: state\/commits\/000000006\.json is missing \[/,
    );
  });

  it('whose newest record was changed by hand says which', async () => {
    const root = await copy();
    writeFileSync(join(root, 'state/2026-W33/2026-W33-0.json'), '{}\n');
    expect((await run(root, NEW)).stderr).toMatch(
      /^episode: the ledger is damaged at state\/2026-W33\/2026-W33-0\.json: it is not what the newest commit says \[/,
    );
  });
});

describe('a show whose state/ is absent or holds nothing', () => {
  it.each([
    ['absent', () => {}],
    ['empty', (root: string) => mkdirSync(join(root, 'state'))],
    [
      'what git keeps of it',
      (root: string) => {
        for (const directory of ['state', 'history', 'episodes']) {
          mkdirSync(join(root, directory));
          writeFileSync(join(root, directory, '.gitkeep'), '');
        }
      },
    ],
  ])('(%s) is not initialised, and init makes its ledger', async (_, change) => {
    const root = await temporaryDirectory();
    await cp(join(original, 'pipeline.json'), join(root, 'pipeline.json'));
    change(root);
    for (const args of [NEW, ['list']]) {
      expect(await run(root, args)).toMatchObject({
        code: 78,
        stdout: '',
        stderr: `episode: ${root} has no ledger yet [NOT_INITIALISED]\n  episode init --time-zone ZONE\n`,
      });
    }
    expect((await run(root, ['init', '--time-zone', 'UTC'])).code).toBe(0);
    expect(await run(root, NEW)).toMatchObject({ code: 0, stdout: `${WEEK}-0\n` });
  });
});
