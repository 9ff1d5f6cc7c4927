import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { Config } from '../../src/model/config.ts';
import { episode, makeShow, temporaryDirectory, writePipeline } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { inTurns } from './verbs.ts';

const NOW = '2026-08-07T00:00:00Z';
const init = (root: string, ...words: string[]) => runLine(root, ['init', ...words], { now: NOW });
const read = (root: string, file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'));

/** The configuration by which DESIGN explains `pipeline.json`. */
const EXAMPLE = read(join(import.meta.dirname, '../../fixtures'), 'pipeline.example.json');

describe('init', () => {
  it('makes a show where it is started, and says what comes next', async () => {
    const root = join(await temporaryDirectory(), 'weekly-brief');
    mkdirSync(root);
    expect(await init(root, '--time-zone', 'Asia/Tokyo')).toMatchObject({
      code: 0,
      stdout: `${root}  weekly-brief, Asia/Tokyo\n`,
      stderr: `pipeline.json: add schedules, providers and a budget
next: episode allocate --key K --plan FILE
`,
    });
    expect(read(root, 'pipeline.json')).toEqual({
      $schema: './pipeline.schema.json',
      format: 1,
      show: 'weekly-brief',
      time_zone: 'Asia/Tokyo',
      currency: 'USD',
      providers: { local: { type: 'local' } },
    });
    expect(read(root, 'state/ledger.json')).toMatchObject({
      format: 1,
      show: 'weekly-brief',
      created_at: '2026-08-07T00:00:00.000Z',
    });
    expect(statSync(join(root, 'state')).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, 'state/ledger.json')).mode & 0o777).toBe(0o600);
    expect((await runLine(root, ['allocate', '--key', 'a'], { now: NOW })).stdout).toBe('2026-W32-0\n');
  });

  it('takes name, currency and place', async () => {
    const [root, elsewhere] = await Promise.all([temporaryDirectory(), temporaryDirectory()]);
    const words = ['--time-zone', 'UTC', '--show', '第32週 "A"', '--currency', 'JPY', '--root', root, '--json'];
    const { json } = await init(elsewhere, ...words);
    expect(json).toMatchObject({ root, show: '第32週 "A"', time_zone: 'UTC', pipeline: 'created' });
    expect(json.ledger_id).toBe(read(root, 'state/ledger.json').ledger_id);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('keeps a pipeline.json that it finds, byte for byte, and says when it counts weeks elsewhere', async () => {
    const root = await temporaryDirectory();
    await writePipeline(root, { time_zone: 'Europe/Berlin', show: 'mine' });
    const before = readFileSync(join(root, 'pipeline.json'), 'utf8');
    expect(await init(root, '--time-zone', 'Asia/Tokyo')).toMatchObject({
      code: 0,
      stdout: `${root}  mine, Europe/Berlin\n`,
      stderr: expect.stringMatching(
        /^pipeline\.json was there, and was kept: weeks are counted in Europe\/Berlin, not in Asia\/Tokyo\n/,
      ),
    });
    expect(readFileSync(join(root, 'pipeline.json'), 'utf8')).toBe(before);
  });

  it('makes a ledger once, also of several at the same time', async () => {
    const root = await temporaryDirectory();
    const all = await Promise.all(
      Array.from({ length: 4 }, () => episode(root, ['init', '--time-zone', 'UTC', '--show', 'a'], { now: NOW })),
    );
    expect(all.map(({ code }) => code).sort()).toEqual([0, 73, 73, 73]);
    const { ledger_id } = read(root, 'state/ledger.json');
    expect(await init(root, '--time-zone', 'UTC')).toMatchObject({
      code: 73,
      stderr: `episode: ${root} already has a ledger [ALREADY_INITIALISED]\n  episode list\n`,
    });
    expect(read(root, 'state/ledger.json').ledger_id).toBe(ledger_id);
  });

  it.each([
    ['episodes/2026-W32-0', 'episodes/2026-W32-0'],
    ['episodes/2026-W32', 'episodes/2026-W32'],
    ['history/2026-W32.json', 'history/2026-W32.json'],
    ['proposals/abc', 'proposals/abc'],
  ])('refuses where works of a show lie without a ledger: %s', async (path, named) => {
    const root = await temporaryDirectory();
    mkdirSync(join(root, path), { recursive: true });
    const { code, stderr } = await init(root, '--time-zone', 'UTC');
    expect([code, stderr.split('\n')[0]]).toEqual([
      65,
      `episode: the ledger is incomplete: ${named} is there and state/ is empty; nothing was created [LEDGER_INCOMPLETE]`,
    ]);
    expect(readdirSync(root)).toEqual([path.split('/')[0]]);
  });

  it('refuses what would make a pipeline.json that the next command refuses, and writes nothing', async () => {
    const root = await temporaryDirectory();
    const refused = async (...words: string[]) => {
      const { code, stderr } = await init(root, ...words);
      return [code, stderr.split('\n')[0]];
    };
    expect(await refused()).toEqual([64, 'episode: --time-zone is missing [USAGE]']);
    expect(await refused('--time-zone', 'Mars/Olympus')).toEqual([
      64,
      'episode: --time-zone Mars/Olympus is no IANA time zone [USAGE]',
    ]);
    expect(await refused('--time-zone', '+09:00')).toEqual([
      64,
      'episode: --time-zone +09:00 is no IANA time zone [USAGE]',
    ]);
    expect(await refused('--time-zone', 'UTC', '--currency', 'usd')).toEqual([
      64,
      'episode: --currency usd is no ISO 4217 code [USAGE]',
    ]);
    for (const show of ['x'.repeat(201), 'a\nb', 'a\u001bb']) {
      expect(await refused('--time-zone', 'UTC', '--show', show)).toEqual([
        64,
        'episode: show: a name of 1 to 200 characters without control characters [USAGE]',
      ]);
    }
    expect(readdirSync(root)).toEqual([]);
    expect(await refused('--time-zone', 'UTC', '--root', join(root, 'none'))).toEqual([
      73,
      `episode: there is no directory ${root}/none [CANNOT_WRITE]`,
    ]);
    expect(existsSync(join(root, 'none'))).toBe(false);
  });
});

describe('the schema beside pipeline.json', () => {
  it('takes the example of DESIGN, and so does the program', async () => {
    const root = await makeShow();
    const schema = z.fromJSONSchema(read(root, 'pipeline.schema.json'));
    expect(schema.safeParse(EXAMPLE)).toMatchObject({ success: true });
    expect(z.safeParse(Config, EXAMPLE)).toMatchObject({ success: true });
    await writePipeline(root, EXAMPLE);
    mkdirSync(join(root, 'plans'));
    writeFileSync(join(root, 'plans/friday.json'), '{"format":1,"steps":[{"id":"a","provider":"fal","kind":"video"}]}');
    expect(await runLine(root, ['allocate', '--schedule', 'friday'], { now: NOW })).toMatchObject({
      code: 0,
      stdout: '2026-W32-0\n',
    });
  });

  it('refuses what the program refuses', async () => {
    const schema = z.fromJSONSchema(read(await makeShow(), 'pipeline.schema.json'));
    for (const wrong of [
      { ...EXAMPLE, budgt: {} },
      { ...EXAMPLE, show: undefined },
      { ...EXAMPLE, currency: 'usd' },
      { ...EXAMPLE, format: 2 },
      { ...EXAMPLE, budget: { per_episode: 20 } },
      { ...EXAMPLE, schedules: { friday: { cron: '0 9 * * 5', late: 'skip' } } },
      { ...EXAMPLE, providers: { fal: { type: 'rest' } } },
    ]) {
      const plain = JSON.parse(JSON.stringify(wrong));
      expect(schema.safeParse(plain).success, JSON.stringify(wrong)).toBe(false);
      expect(z.safeParse(Config, plain).success, JSON.stringify(wrong)).toBe(false);
    }
  });
});

describe('a pipeline.json that is wrong is 78 with every fault, where it stands, and the nearest name', () => {
  it.each([
    [{ budgt: {} }, 'Unrecognized key: "budgt" (is "budget" meant?)'],
    [{ budget: { per_epsode: '1' } }, 'budget: Unrecognized key: "per_epsode" (is "per_episode" meant?)'],
    [{ nonsense_of_mine: 1 }, 'Unrecognized key: "nonsense_of_mine"'],
    [{ constructor: 1 }, 'Unrecognized key: "constructor"'],
    [{ time_zone: 'Mars/Olympus' }, 'time_zone: "Mars/Olympus" is no time zone; write e.g. Asia/Tokyo'],
    [{ time_zone: '+09:00' }, 'time_zone: an IANA time zone like Asia/Tokyo'],
    [{ currency: 'dollars' }, 'currency: an ISO 4217 currency like USD'],
    [{ budget: { per_episode: 20 } }, 'budget.per_episode: Invalid input: expected string, received number'],
    [{ budget: { per_episode: '20,00' } }, 'budget.per_episode: an exact decimal like "0.40"'],
    [
      { schedules: { friday: { cron: '9:00' } } },
      'schedules.friday.cron: five fields as in crontab(5), like "0 9 * * 5"',
    ],
    [
      { schedules: { friday: { cron: '0 9 * * 5', time_zone: 'Asia/Tokio' } } },
      'schedules.friday.time_zone: "Asia/Tokio" is no time zone; write e.g. Asia/Tokyo',
    ],
    [
      { schedules: { friday: { cron: '0 9 * * 5', plan: '../plan.json' } } },
      'schedules.friday.plan: a path inside the show: relative, without "." or ".."',
    ],
    [
      { providers: { fal: { type: 'http', mapping: 'fal', env: ['FAL KEY'] } } },
      'providers.fal.env.0: the name of an environment variable',
    ],
    [{ show: '' }, 'show: a name of 1 to 200 characters without control characters'],
  ] as const)('%j', async (config, fault) => {
    const root = await makeShow();
    await writePipeline(root, config);
    expect(await runLine(root, ['cost'], { now: NOW })).toMatchObject({
      code: 78,
      stdout: '',
      stderr: `episode: pipeline.json: ${fault} [CONFIGURATION]
  the schema beside it (pipeline.schema.json) tells editors what is allowed
`,
    });
  });

  it('also where only the week of now asks for the zone', async () => {
    const root = await makeShow();
    await writePipeline(root, { time_zone: 'Mars/Olympus' });
    for (const words of [
      ['--key', 'a'],
      ['--key', 'a', '--slot', '2026-08-07T09:00:00Z'],
      ['--schedule', 'friday'],
    ]) {
      const { code, stdout, stderr } = await runLine(root, ['allocate', ...words], { now: NOW });
      expect([code, stdout, stderr]).toEqual([
        78,
        '',
        expect.stringMatching(/time_zone: "Mars\/Olympus" is no time zone/),
      ]);
    }
  });

  it('and all of them at once; with the place when it is no JSON', async () => {
    const root = await makeShow();
    await writePipeline(root, { currency: 'x', budgt: 1, time_zone: 5 });
    const { stderr } = await runLine(root, ['cost'], { now: NOW });
    expect(stderr.split('\n')[0]!.split('; ')).toHaveLength(3);
    const files = ['', '{', '\u0000', '[]', '{"format":1,"format":1}', '{"show":1e400}', '<<<<<<< HEAD\n{}'];
    await inTurns(files, async (content) => {
      const broken = await temporaryDirectory();
      writeFileSync(join(broken, 'pipeline.json'), content);
      const ran = await runLine(broken, ['cost'], { now: NOW });
      expect([ran.code, ran.stderr], content).toEqual([
        78,
        expect.stringMatching(/^episode: pipeline\.json: .* \[CONFIGURATION\]\n/),
      ]);
    });
  });
});
