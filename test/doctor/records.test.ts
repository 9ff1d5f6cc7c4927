import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/doctor/diagnosis.ts';
import { makeShow, temporaryDirectory } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { picture } from '../store/damage.ts';

/** Whatever stops a verb with 65, `doctor` names with the same words and the same fix; and what others name was made. */

const NOW = '2026-08-07T00:00:00Z';
const W32 = '2026-W32';
const run = (root: string, words: readonly string[]) => runLine(root, words, { now: NOW });

/** 2026-W32-0 (key a) is complete, -1 (key b) waits for approval, -2 (key c) has a plan, 2026-W31-0 (key d) none. */
let original: string;
let place: string;
beforeAll(async () => {
  [original, place] = [await makeShow(), await temporaryDirectory()];
  const plan = (review: boolean): string => {
    const steps = [{ id: 's1', provider: 'local', kind: 'image', params: { width: 64, height: 64 }, review }];
    writeFileSync(join(original, `review-${review}.json`), JSON.stringify({ format: 1, steps }));
    return `review-${review}.json`;
  };
  const words = [
    ['allocate', '--key', 'a', '--week', W32, '--plan', plan(false)],
    ['allocate', '--key', 'b', '--week', W32, '--plan', plan(true)],
    ['allocate', '--key', 'c', '--week', W32, '--plan', plan(false)],
    ['generate', `${W32}-0`],
    ['generate', `${W32}-1`],
    ['allocate', '--key', 'd', '--week', '2026-W31'],
    // So that nothing of the newest transaction is damaged here: that is another matter.
    ['allocate', '--key', 'e', '--week', '2026-W33'],
  ];
  for (const one of words) {
    const { code, stderr } = await run(original, one);
    if (code !== 0) throw new Error(`${one.join(' ')}: ${stderr}`);
  }
});

let copies = 0;
async function copy(): Promise<string> {
  copies += 1;
  const root = join(place, `show-${copies}`);
  await cp(original, root, { recursive: true, preserveTimestamps: true });
  return root;
}

const lose =
  (...paths: string[]) =>
  (root: string) => {
    for (const path of paths) rmSync(join(root, path), { recursive: true });
  };
const change = (path: string, edit: (record: Record<string, unknown>) => object) => (root: string) => {
  const record = JSON.parse(readFileSync(join(root, path), 'utf8'));
  writeFileSync(join(root, path), `${JSON.stringify({ ...record, ...edit(record) }, null, 2)}\n`);
};
const keyFile = (key: string): string => {
  const names = readdirSync(join(original, 'state/keys'));
  return `state/keys/${names.find((name) => JSON.parse(readFileSync(join(original, 'state/keys', name), 'utf8')).key === key)}`;
};
/** An index that came from before an episode was made: it is neither there nor in the list of its week. */
const forget = (id: string) => (root: string) => {
  rmSync(join(root, `state/${W32}/${id}.json`));
  change(`state/${W32}/week.json`, ({ episodes }) => {
    const { [id]: _, ...others } = episodes as Record<string, string>;
    return { episodes: others };
  })(root);
};
const stamp = (path: string, more: object) => (root: string) => {
  mkdirSync(join(root, path), { recursive: true });
  const { ledger_id } = JSON.parse(readFileSync(join(root, 'state/ledger.json'), 'utf8'));
  writeFileSync(
    join(root, path, 'episode.json'),
    JSON.stringify({ format: 1, ledger_id, episode_id: path.slice('episodes/'.length), head: 1, ...more }),
  );
};

async function diagnose(root: string) {
  const { code, json } = await run(root, ['doctor', '--json']);
  const found = (json.diagnoses as Diagnosis[]).filter(({ state }) => state !== 'ok');
  return { code, found: found.filter(({ check }) => ['ledger', 'artifacts'].includes(check)) };
}

const NEW = ['allocate', '--key', 'new', '--week', W32];

it('a healthy show has nothing', async () => {
  expect(await diagnose(await copy())).toEqual({ code: 0, found: [] });
});

describe('what stops a verb is named by doctor, in its words and with its fix', () => {
  const made = (key: string, id: string) => `${keyFile(key)} says that key "${key}" made ${id}`;
  it.each<[string, (root: string) => void, string[], () => string, () => string]>([
    [
      'a week that is gone',
      lose(`state/${W32}`),
      NEW,
      () => `state/${W32}/week.json is missing: ${W32} has had episodes`,
      () => `state/${W32}/week.json`,
    ],
    [
      'a week that is gone, for one of its episodes',
      lose(`state/${W32}`),
      ['show', `${W32}-1`],
      () => `state/${W32}/week.json is missing: ${W32} has had episodes`,
      () => `state/${W32}/week.json`,
    ],
    [
      'a week that is gone, for what it cost',
      lose(`state/${W32}`),
      ['cost', '--week', W32],
      () => `state/${W32}/week.json is missing: ${W32} has had episodes`,
      () => `state/${W32}/week.json`,
    ],
    [
      'a week that is gone, for what all cost',
      lose(`state/${W32}`),
      ['cost'],
      () => `state/${W32}/week.json is missing: ${W32} has had episodes`,
      () => `state/${W32}/week.json`,
    ],
    [
      'a key that is gone, asked for by its text',
      (root) => lose(keyFile('c'))(root),
      ['why', '--key', 'c'],
      () => `${keyFile('c')} is missing: key "c" made ${W32}-2`,
      () => keyFile('c'),
    ],
    [
      'an episode that its history names',
      forget(`${W32}-0`),
      ['show', `${W32}-0`],
      () => `state/${W32}/${W32}-0.json is missing: ${W32}-0 is in history/${W32}.json`,
      () => `state/${W32}/${W32}-0.json`,
    ],
    [
      'an episode that its key names',
      forget(`${W32}-2`),
      ['show', `${W32}-2`],
      () => `state/${W32}/${W32}-2.json is missing: ${keyFile('c')} says that key "c" made it`,
      () => `state/${W32}/${W32}-2.json`,
    ],
    [
      'an index that knows a key by another name',
      (root) =>
        change(`state/${W32}/week.json`, ({ episodes }) => ({
          episodes: { ...(episodes as object), [`${W32}-2`]: 'f'.repeat(64) },
        }))(root),
      ['allocate', '--key', 'c'],
      () => `${made('c', `${W32}-2`)}, and state/${W32}/week.json does not`,
      () => `state/${W32}/week.json`,
    ],
    [
      'an episode that says it is of another key',
      change(`state/${W32}/${W32}-2.json`, () => ({ allocation_key: 'z' })),
      ['allocate', '--key', 'c'],
      () => `${made('c', `${W32}-2`)}, and state/${W32}/${W32}-2.json says it was "z"`,
      () => `state/${W32}/${W32}-2.json`,
    ],
    [
      'a history that lost a complete episode',
      lose(`history/${W32}.json`),
      ['generate', `${W32}-2`],
      () => `${W32}-0 is complete, and history/${W32}.json does not hold it`,
      () => `history/${W32}.json`,
    ],
  ])('%s', async (_, damage, words, fault, file) => {
    const root = await copy();
    damage(root);
    const ran = await run(root, words);
    expect(ran.code).toBe(65);
    expect(ran.stderr).toContain(`the ledger is incomplete: ${fault()}; nothing was created [LEDGER_INCOMPLETE]\n`);
    expect(ran.stderr).toContain('\n  episode doctor  # names all that is missing or does not fit\n');
    const { code, found } = await diagnose(root);
    expect(code).toBe(65);
    const about = found.filter(
      ({ message }) => message.startsWith(`the ledger is incomplete: ${file()}`) || message.endsWith(fault()),
    );
    expect(about.length).toBeGreaterThan(0);
    const [fix] = new Set(about.map((one) => one.fix));
    expect(ran.stderr).toContain(`\n  ${fix}\n`);
  });

  it.each<[string, (root: string) => void, string, string]>([
    [
      'of another ledger',
      stamp(`episodes/${W32}-2`, { ledger_id: 'another' }),
      `episodes/${W32}-2 was made by another ledger (another)`,
      'LEDGER_INCOMPLETE',
    ],
    [
      'of a later head',
      stamp(`episodes/${W32}-2`, { head: 900 }),
      `episodes/${W32}-2 was made at transaction 900, and state/ ends at`,
      'LEDGER_INCOMPLETE',
    ],
    [
      'of another episode',
      stamp(`episodes/${W32}-2`, { episode_id: `${W32}-1` }),
      `episodes/${W32}-2/episode.json is damaged: it says it belongs to ${W32}-1`,
      'RECORD_DAMAGED',
    ],
    [
      'that is cut off',
      (root) => {
        stamp(`episodes/${W32}-2`, {})(root);
        writeFileSync(join(root, `episodes/${W32}-2/episode.json`), '{');
      },
      `episodes/${W32}-2/episode.json is damaged: it is not JSON`,
      'RECORD_DAMAGED',
    ],
  ])('a stamp %s', async (_, damage, fault, code) => {
    const root = await copy();
    damage(root);
    const { found } = await diagnose(root);
    expect(found).toEqual([expect.objectContaining({ check: 'ledger', state: 'wrong', code })]);
    expect(found[0]!.message).toContain(fault);
    const ran = await run(root, ['generate', `${W32}-2`]);
    expect([ran.code, ran.stderr]).toEqual([65, expect.stringContaining(fault)]);
    expect(ran.stderr).toContain(found[0]!.fix);
  });

  it('every one of several, and each file once', async () => {
    const root = await copy();
    lose(`state/${W32}`, keyFile('d'))(root);
    stamp(`episodes/2026-W30-4`, {})(root);
    mkdirSync(join(root, 'episodes/week-29-2026'));
    const before = picture(root);
    const { code, found } = await diagnose(root);
    expect([code, found.map(({ message }) => message.replace('the ledger is incomplete: ', '')).sort()]).toEqual([
      65,
      [
        `${keyFile('d')} is missing: key "d" made 2026-W31-0`,
        `state/${W32}/week.json is missing: ${W32} has had episodes`,
        'episodes/week-29-2026 carries a weekly name of 2026-W29 from before the versioned ones',
        'episodes/2026-W30-4 was made by a ledger, and no record of it is here',
        `episodes/${W32}-0 was made by a ledger, and no record of it is here`,
        `episodes/${W32}-1 was made by a ledger, and no record of it is here`,
      ].sort(),
    ]);
    for (const { fix } of found) expect(fix).toMatch(/: (cp -|mv )/);
    expect(picture(root)).toEqual(before);
  });
});

describe('an episode that something else names was made', () => {
  it('by a stamped directory: 65 and the way out', async () => {
    const root = await copy();
    stamp('episodes/2026-W30-4', {})(root);
    expect(await run(root, ['show', '2026-W30-4'])).toMatchObject({
      code: 65,
      stdout: '',
      stderr: `episode: the ledger is incomplete: episodes/2026-W30-4 was made by a ledger, and no record of it is here; nothing was created [LEDGER_INCOMPLETE]
  put state/ and history/ back from the backup that belongs to episodes/2026-W30-4: mv state history ELSEWHERE && cp -Rp BACKUP/state BACKUP/history .
  or, if episodes/2026-W30-4 is not of this show: mv episodes/2026-W30-4 ELSEWHERE
  episode doctor  # names all that is missing or does not fit
`,
    });
  });

  it('and one that nothing names was not: 66, also beside an unstamped directory and a damaged key', async () => {
    const root = await copy();
    mkdirSync(join(root, `episodes/${W32}-9`));
    writeFileSync(join(root, keyFile('d')), '');
    for (const id of [`${W32}-9`, `${W32}-3`, '2026-W30-0'])
      for (const verb of ['show', 'why', 'generate', 'wait', 'cost'])
        expect(await run(root, [verb, id]), `${verb} ${id}`).toMatchObject({
          code: 66,
          stdout: '',
          stderr: expect.stringContaining(`there is no episode ${id} [EPISODE_NOT_FOUND]`),
        });
    expect((await run(root, ['why', '--key', 'nobody'])).code).toBe(66);
  });

  it('by every verb that reads it', async () => {
    const root = await copy();
    lose(`state/${W32}`)(root);
    for (const verb of ['show', 'why', 'generate', 'wait', 'cost', 'approve', 'reconcile'])
      expect(await run(root, [verb, `${W32}-1`]), verb).toMatchObject({
        code: 65,
        stdout: '',
        stderr: expect.stringContaining(`state/${W32}/week.json is missing`),
      });
  });

  it('and list says so beside the rest', async () => {
    const root = await copy();
    lose(`state/${W32}`)(root);
    for (const words of [
      ['list', '--all'],
      ['list', '--week', W32],
    ]) {
      const { code, stderr } = await run(root, words);
      expect([code, stderr]).toEqual([
        65,
        expect.stringContaining(`state/${W32}/week.json is missing: ${W32} has had episodes`),
      ]);
    }
    expect((await run(root, ['list', '--all'])).stdout).toContain('2026-W31-0');
    expect(await run(root, ['list', '--week', '2026-W31'])).toMatchObject({ code: 0 });
    const other = await copy();
    lose('state/ledger.json')(other);
    expect(await run(other, ['list'])).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('state/ledger.json is missing'),
    });
  });
});

describe('what is recorded and not so', () => {
  const file = (id: string) => `episodes/${id}/s1/take-1/image.png`;

  it('a lost or changed output of what is complete is a hint', async () => {
    const root = await copy();
    lose(file(`${W32}-0`))(root);
    const { code, found } = await diagnose(root);
    expect([code, found]).toEqual([
      0,
      [
        {
          check: 'artifacts',
          state: 'hint',
          message: expect.stringMatching(
            new RegExp(`^${file(`${W32}-0`)} is not what was recorded \\([0-9a-f]{12}…\\): it is missing$`),
          ),
          fix: `put the file back from a backup: cp -p BACKUP/${file(`${W32}-0`)} ${file(`${W32}-0`)}`,
          code: null,
        },
      ],
    ]);
  });

  it.each([
    ['lost', (path: string) => rmSync(path), /: it is missing$/],
    ['longer', (path: string) => writeFileSync(path, 'x', { flag: 'a' }), /: it has \d+ bytes, not \d+$/],
    [
      'a directory',
      (path: string) => {
        rmSync(path);
        mkdirSync(path);
      },
      /: it is a directory$/,
    ],
  ])('of what is not, it is wrong: %s', async (_, damage, why) => {
    const root = await copy();
    damage(join(root, file(`${W32}-1`)));
    const { code, found } = await diagnose(root);
    expect([code, found]).toEqual([
      10,
      [
        expect.objectContaining({
          check: 'artifacts',
          state: 'wrong',
          code: 'ARTIFACT_CHANGED',
          message: expect.stringMatching(why),
        }),
      ],
    ]);
    expect((await run(root, ['approve', `${W32}-1`, '--step', 's1'])).code).toBeGreaterThan(0);
    expect((await run(root, ['close', `${W32}-1`, '--reason', 'given up'])).code).toBe(0);
    expect(await diagnose(root)).toEqual({ code: 0, found: [] });
  });

  it('a status or a state that does not follow from the rest is a hint, and the next change mends it', async () => {
    const root = await copy();
    const record = `state/${W32}/${W32}-2.json`;
    change(record, ({ steps }) => ({
      status: 'complete',
      steps: (steps as object[]).map((step) => ({ ...step, state: 'succeeded' })),
    }))(root);
    expect(await diagnose(root)).toEqual({
      code: 0,
      found: [
        {
          check: 'ledger',
          state: 'hint',
          message: `${record}: status is complete, and planned by the rest of it; step s1 is succeeded, and ready by the rest of it`,
          fix: 'compare the file with a backup; commands go by the rest of it, and the next one that changes it writes this anew',
          code: null,
        },
      ],
    });
    expect((await run(root, ['generate', `${W32}-2`])).code).toBe(0);
    expect(await diagnose(root)).toEqual({ code: 0, found: [] });
  });
});
