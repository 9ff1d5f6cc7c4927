import { chmodSync, chownSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import type { Diagnosis } from '../../src/doctor/diagnosis.ts';
import { doctor } from '../../src/doctor.ts';
import { createNodePort } from '../../src/node-port.ts';
import { createFileStore } from '../../src/store/file/file-store.ts';
import { LOCK_STALE_MS } from '../../src/store/file/lock.ts';
import { episode, makeShow, type RunOptions, temporaryDirectory, writePipeline } from '../rig.ts';

const NOW = '2026-08-07T00:00:00Z';

async function examine(root: string, options: RunOptions = {}) {
  const { code, json, stderr } = await episode(root, ['doctor', '--json'], { now: NOW, ...options });
  const diagnoses = json.diagnoses as Diagnosis[];
  const of = (check: string, state?: string) =>
    diagnoses.filter((one) => one.check === check && (state === undefined || one.state === state));
  return { code, error: json.error?.code, diagnoses, of, stderr };
}

it('a healthy show is told what was looked at, with exit 0', async () => {
  const root = await makeShow();
  await episode(root, ['allocate', '--key', 'a'], { now: NOW });
  const { code, diagnoses } = await examine(root);
  expect(code).toBe(0);
  expect(new Set(diagnoses.map(({ check }) => check))).toEqual(
    new Set(['configuration', 'ledger', 'owner', 'clock', 'lock', 'disk', 'ffmpeg', 'espeak-ng']),
  );
  expect(diagnoses.filter(({ state }) => state === 'wrong')).toEqual([]);
  for (const { state, fix } of diagnoses) expect(fix === '').toBe(state === 'ok');
  const text = await episode(root, ['doctor'], { now: NOW });
  expect(text.stdout).toMatch(/^ok +configuration +pipeline\.json: brief, weeks counted in UTC$/m);
  expect(text.stdout).toMatch(/^ok +ledger +4 records, transaction 1$/m);
});

describe('each thing that is wrong comes with its fix and its exit code', () => {
  it('a clock behind the newest record: 75', async () => {
    const root = await makeShow();
    await episode(root, ['allocate', '--key', 'a'], { now: '2026-08-07T02:00:00Z' });
    const { code, of, stderr } = await examine(root);
    expect(of('clock')).toEqual([
      {
        check: 'clock',
        state: 'wrong',
        message: 'the clock is 120 min behind the newest record',
        fix: 'timedatectl set-ntp true',
        code: 'CLOCK_BEHIND',
      },
    ]);
    expect([code, stderr]).toEqual([
      75,
      'episode: the clock is 120 min behind the newest record [CLOCK_BEHIND]\n  timedatectl set-ntp true\n',
    ]);
  });

  it.each([
    ['five minutes, which is believed', '2026-08-07T00:05:00.000Z', 0],
    ['a millisecond more, which is not', '2026-08-07T00:05:00.001Z', 75],
  ])('a clock is behind for doctor when it is for allocate: %s', async (_, newest, exit) => {
    const root = await makeShow();
    await episode(root, ['allocate', '--key', 'a'], { now: newest });
    expect((await examine(root)).code).toBe(exit);
    expect((await episode(root, ['allocate', '--key', 'b'], { now: NOW })).code).toBe(exit);
  });

  it('a lock that a dead command left is a hint, and one at work is not', async () => {
    const root = await makeShow();
    const lock = join(root, 'state/lock');
    mkdirSync(lock);
    const touched = (secondsAgo: number) => {
      const at = Date.parse(NOW) / 1000 - secondsAgo;
      utimesSync(lock, at, at);
    };
    touched(3600);
    const stale = await examine(root);
    expect([stale.code, stale.of('lock')]).toEqual([
      0,
      [
        {
          check: 'lock',
          state: 'hint',
          message: 'left by a command that died 3600 s ago',
          fix: 'nothing to do: the next command takes it over',
          code: null,
        },
      ],
    ]);
    touched(LOCK_STALE_MS / 1000);
    expect((await examine(root)).of('lock')).toMatchObject([{ message: 'left by a command that died 10 s ago' }]);
    touched(LOCK_STALE_MS / 1000 - 0.1);
    expect((await examine(root)).of('lock')).toMatchObject([
      { state: 'ok', message: 'held by a command that is working' },
    ]);
  });

  it.runIf(process.getuid?.() === 0)('state/ of another user, or open to others: 77', async () => {
    const root = await makeShow();
    chownSync(join(root, 'state'), 1234, 1234);
    const other = await examine(root);
    expect([other.code, other.error]).toEqual([77, 'NOT_OWNER']);
    expect(other.of('owner')).toMatchObject([
      { state: 'wrong', message: 'state/ belongs to user 1234, and you are 0', fix: "sudo -u '#1234' episode …" },
    ]);
    chownSync(join(root, 'state'), 0, 0);
    chmodSync(join(root, 'state'), 0o750);
    const open = await examine(root);
    expect([open.code, open.error]).toEqual([77, 'NOT_PERMITTED']);
    expect(open.of('owner')).toMatchObject([
      { message: 'state/ can be read by others', fix: `chmod -R go= ${root}/state` },
    ]);
  });

  it('no ffmpeg: 78 with the package to install; no voice is only a hint', async () => {
    const root = await makeShow();
    const { code, error, of } = await examine(root, {
      env: { PATH: '/nonexistent', EPISODE_FFMPEG: '/nonexistent/ffmpeg' },
    });
    expect([code, error]).toEqual([78, 'FFMPEG_MISSING']);
    expect(of('ffmpeg')).toMatchObject([{ state: 'wrong', fix: 'apt-get install ffmpeg' }]);
    expect(of('espeak-ng')).toMatchObject([{ state: 'hint', fix: 'apt-get install espeak-ng' }]);
  });

  it('a provider that cannot be used: 78, as the verb that would use it says', async () => {
    const exec = (program: string) => ({ type: 'exec', command: [program], env: [] });
    const providers = {
      gone: exec('./render'),
      plain: exec('./pipeline.json'),
      absent: exec('no-such-program'),
      found: exec('node'),
      unmapped: { type: 'http', mapping: './no.json', env: [] },
    };
    const root = await makeShow({ config: { providers } });
    const { code, error, of } = await examine(root);
    expect([code, error]).toEqual([78, 'PROVIDER_CONFIGURATION']);
    expect(of('configuration', 'wrong').map(({ message }) => message)).toEqual([
      'gone cannot be started: ./render is no executable file',
      'plain cannot be started: ./pipeline.json is no executable file',
      'absent cannot be started: no-such-program is no executable file',
      'the mapping ./no.json of unmapped cannot be used: there is no such file',
    ]);
    expect(of('configuration', 'wrong').every(({ fix }) => fix !== '')).toBe(true);
  });

  it('settings that say something else than when records were made are hints', async () => {
    const root = await makeShow({ config: { time_zone: 'Asia/Tokyo' } });
    await episode(root, ['allocate', '--key', 'a'], { now: NOW });
    expect((await examine(root)).of('configuration', 'hint')).toEqual([]);
    await writePipeline(root, { time_zone: 'UTC' });
    expect((await examine(root)).of('configuration', 'hint')).toMatchObject([
      {
        message: 'weeks are counted in UTC now, and were in Asia/Tokyo up to 2026-W32-0',
        fix: 'if that was not meant: "time_zone": "Asia/Tokyo"',
      },
    ]);
  });

  it('a credential that is nowhere, or that others can read: 78', async () => {
    const root = await makeShow({ config: { providers: { fal: { type: 'http', mapping: 'fal', env: ['FAL_KEY'] } } } });
    const nowhere = await examine(root);
    expect([nowhere.code, nowhere.error]).toEqual([78, 'CREDENTIAL_MISSING']);
    expect(nowhere.of('credentials')).toMatchObject([
      { message: 'fal: FAL_KEY is found nowhere', fix: 'export FAL_KEY=…' },
    ]);

    const home = await temporaryDirectory();
    const file = join(home, 'episode/credentials/FAL_KEY');
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, 'secret-of-fal\n', { mode: 0o644 });
    const exposed = await examine(root, { env: { XDG_CONFIG_HOME: home } });
    expect([exposed.code, exposed.error]).toEqual([78, 'CREDENTIAL_EXPOSED']);
    expect(exposed.of('credentials')).toMatchObject([
      { state: 'wrong', fix: expect.stringContaining(`chmod 600 ${file}`) },
    ]);

    chmodSync(file, 0o600);
    const kept = await examine(root, { env: { XDG_CONFIG_HOME: home } });
    expect([kept.code, kept.of('credentials')]).toMatchObject([
      0,
      [{ state: 'ok', message: `fal: FAL_KEY from ${file}` }],
    ]);
    expect(JSON.stringify(kept.diagnoses)).not.toContain('secret-of-fal');
  });

  it('a pipeline.json that cannot be used, or a schedule that never comes: 78', async () => {
    const root = await makeShow();
    await writePipeline(root, { budgt: {} });
    const broken = await examine(root);
    expect([broken.code, broken.error]).toEqual([78, 'CONFIGURATION']);
    expect(broken.of('configuration', 'wrong')).toMatchObject([
      { message: expect.stringContaining('(is "budget" meant?)') },
    ]);
    await writePipeline(root, { schedules: { friday: { cron: '0 9 * * 5' }, boot: { cron: '@reboot' } } });
    const { code, of } = await examine(root);
    expect([code, of('configuration', 'wrong')]).toMatchObject([
      78,
      [{ message: 'schedules.boot.cron in pipeline.json: "@reboot" is no schedule with instants' }],
    ]);
  });

  it('damage: 65 before everything else, file by file', async () => {
    const root = await makeShow({ config: { providers: { fal: { type: 'http', mapping: 'fal', env: ['FAL_KEY'] } } } });
    for (const key of ['a', 'b', 'c']) await episode(root, ['allocate', '--key', key], { now: NOW });
    writeFileSync(join(root, 'state/2026-W32/2026-W32-0.json'), '');
    rmSync(join(root, 'state/2026-W32/2026-W32-1.json'));
    const { code, of } = await examine(root);
    expect(code).toBe(65);
    expect(of('ledger').map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^state\/2026-W32\/2026-W32-0\.json is damaged: /),
        'the ledger is incomplete: state/2026-W32/2026-W32-1.json is missing',
      ]),
    );
    expect(of('credentials')).toHaveLength(1);
  });

  it('no ledger at all: 78, and nothing is made of it', async () => {
    const root = await temporaryDirectory();
    await writePipeline(root, {});
    const { code, error, of } = await examine(root);
    expect([code, error]).toEqual([78, 'NOT_INITIALISED']);
    expect(of('ledger')).toMatchObject([{ state: 'wrong', fix: 'episode init --time-zone ZONE' }]);
    expect(of('disk', 'wrong')).toEqual([]);
  });

  it('a network file system and a disk that is nearly full are hints', async () => {
    const root = await makeShow();
    const port = createNodePort({ command: 'test', now: () => Date.parse(NOW) });
    const diagnoses = await doctor({
      store: createFileStore(port, root),
      port,
      root,
      config: await loadConfig(port.disk, root),
      credentials: { env: {}, configHome: '/nonexistent' },
      uid: null,
      findFfmpeg: async () => ({ path: 'ffmpeg', version: '5.1' }),
      isOnPath: () => true,
      lockStaleMs: LOCK_STALE_MS,
      fileSystem: async () => ({ type: 0x6969, bavail: 512, bsize: 4096 }),
      checkProvider: async () => {},
      checkSchedule: () => {},
    });
    expect(diagnoses.filter(({ state }) => state === 'hint')).toEqual([
      {
        check: 'disk',
        state: 'hint',
        message: `${root} is on NFS, where locks and links cannot be relied on`,
        fix: 'move the show to a local disk',
        code: null,
      },
      {
        check: 'disk',
        state: 'hint',
        message: '2 MiB free',
        fix: 'free some: a film and its clips need room',
        code: null,
      },
    ]);
  });
});
