import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../rig.ts';
import { ADAPTER, expectWhole, type House, ID, makeHouse, SYNC, step, writeScript } from './rig.ts';

/** Verbs that may spend or act on what was spent, for one episode. */
const verbs = (id: string): string[][] => [
  ['generate', id],
  ['generate', id, '--step', 'nowhere'],
  ['generate', id, '--dry-run'],
  ['approve', id],
  ['approve', id, '--dry-run'],
  ['reject', id, '--step', 's1', '--reason', 'x'],
  ['retry', id, '--step', 's1', '--reason', 'x'],
  ['reassemble', id],
  ['reassemble', id, '--dry-run'],
  ['reconcile', id],
  ['settle', id, '--step', 's1', '--write-off', '--evidence', 'x'],
  ['plan', id, '--file', 'plan.json'],
  ['close', id, '--reason', 'x'],
  ['wait', id, '--timeout', '0s'],
];

/** A house whose provider leaves a mark when it is started, and whose credential is a file that can be watched. */
async function makeWatched() {
  const house = await makeHouse();
  const command = writeScript(house.root, 'render', `#!/bin/sh\ntouch started\nexec ${ADAPTER}\n`);
  const configHome = await temporaryDirectory();
  const secrets = join(configHome, 'episode', 'credentials');
  mkdirSync(secrets, { recursive: true, mode: 0o700 });
  writeFileSync(join(secrets, 'HOUSE_KEY'), 'canary-3f9a\n', { mode: 0o600 });
  const config = JSON.parse(house.read('pipeline.json'));
  config.providers.house = { type: 'exec', command: [command], env: ['ADAPTER_HOME', 'ADAPTER_SCENARIO', 'HOUSE_KEY'] };
  writeFileSync(join(house.root, 'pipeline.json'), JSON.stringify(config));
  return {
    house,
    env: { XDG_CONFIG_HOME: configHome },
    isStarted: () => existsSync(join(house.root, 'started')),
    secrets,
  };
}

test.concurrent('an episode that does not exist stops every verb before a credential is read or a provider started', async () => {
  const { house, env, isStarted } = await makeWatched();
  await house.allocate([step('s1')]);
  const before = house.tree();
  for (const args of verbs('2026-W32-7')) {
    const refused = await house.json(66, args, { env });
    expect(refused.error).toMatchObject({
      code: 'EPISODE_NOT_FOUND',
      message: 'there is no episode 2026-W32-7',
      subject: '2026-W32-7',
      hints: ['episode list --all', 'episode allocate --key K  # makes one'],
    });
  }
  expect(isStarted()).toBe(false);
  expect(house.tree()).toEqual(before);

  // The watch sees what it must not have seen.
  await house.json(0, ['generate', ID], { env });
  expect(isStarted()).toBe(true);
  expectWhole(house);
});

test.concurrent('the record is opened before the credential, and the credential before anything is claimed', async () => {
  const { house, env, secrets } = await makeWatched();
  await house.allocate([step('s1')]);
  const trace = join(house.home, 'trace');
  const traced = { env, prefix: ['strace', '-f', '-qq', '-o', trace, '-e', 'trace=openat,open,execve,linkat,link'] };
  const opened = async (id: string): Promise<string[]> => {
    await house.run(['generate', id], traced);
    const lines = readFileSync(trace, 'utf8').split('\n');
    const named: [RegExp, string][] = [
      [/"[^"]*state\/2026-W32\/2026-W32-\d+\.json"/, 'record'],
      [/HOUSE_KEY"/, 'credential'],
      [/execve\("[^"]*bin\/render"/, 'provider'],
      [/link(at)?\(.*state\/commits\//, 'commit'],
    ];
    const seen = lines.flatMap((line) => named.find(([pattern]) => pattern.test(line))?.[1] ?? []);
    return seen.filter((name, index) => name !== seen[index - 1]);
  };
  // Nothing of a provider at all.
  expect(await opened('2026-W32-7')).toEqual(['record']);
  // Then everything, in this order: a sheet is asked for before the claim, and the task sent after it.
  const order = await opened(ID);
  expect(order.indexOf('record')).toBe(0);
  expect(order.slice(1, 4)).toEqual(['credential', 'provider', expect.any(String)]);
  expect(order.indexOf('commit')).toBeLessThan(order.lastIndexOf('provider'));
  expect(readdirSync(secrets)).toEqual(['HOUSE_KEY']);
  expectWhole(house);
});

describe('an ID that is none', () => {
  const hostile: [string, string][] = [
    ['a path', '../2026-W32-0'],
    ['a week', '2026-W32'],
    ['a prefix', '2026-W32-'],
    ['leading zeros', '2026-W32-00'],
    ['a newline', '2026-W32-0\n2026-W32-1'],
    ['nothing', ''],
    ['5,000 characters', 'x'.repeat(5_000)],
    ['what every object has', '__proto__'],
    ['a mark that turns text', '2026-W32-0\u202e'],
  ];
  test.concurrent('is refused as such, whatever it looks like, and named in one bounded line', async () => {
    const house = await makeHouse();
    await house.allocate([step('s1')]);
    const before = house.tree();
    for (const [, id] of hostile) {
      const ran = await house.line(['generate', '--json', '--', id]);
      expect([id.slice(0, 20), ran.code, ran.json.error?.code]).toEqual([id.slice(0, 20), 64, 'USAGE']);
      expect(ran.stderr.split('\n')[0]!.length).toBeLessThan(300);
      expect(ran.stderr).not.toMatch(/\u202e/);
    }
    const help = await house.line(['generate', '--', '--help']);
    expect([help.code, help.stderr.split('\n')[0]]).toEqual([64, 'episode: "--help" is no episode ID [USAGE]']);
    const missing = await house.line(['generate', '--json']);
    expect([missing.code, missing.json.error?.code]).toEqual([64, 'USAGE']);
    expect(house.tree()).toEqual(before);
    expect(house.submissions()).toEqual([]);
    expectWhole(house);
  });
});

describe('credentials', () => {
  const CANARY = 'canary-5c1f/+7e-2b';
  const forms = [
    CANARY,
    encodeURIComponent(CANARY),
    Buffer.from(CANARY).toString('base64').replace(/=+$/, ''),
    Buffer.from(CANARY).toString('hex'),
  ];

  test.concurrent('are in no file, output or argument, whatever the adapter does with them', async () => {
    const house = await makeHouse();
    const config = JSON.parse(house.read('pipeline.json'));
    config.providers.house.env.push('HOUSE_KEY');
    writeFileSync(join(house.root, 'pipeline.json'), JSON.stringify(config));
    const leaking = {
      ...SYNC,
      at: {
        'submit.request': ['note:key %{HOUSE_KEY} %{HOUSE_KEY:url} %{HOUSE_KEY:base64}', 'dump'],
        'submit.after_charge': 'error:%{HOUSE_KEY}',
      },
    };
    house.script(leaking);
    await house.allocate([
      step('s1'),
      step('s2', {
        params: {
          scenario: { outcome: { outcome: 'released', reason: 'auth', message: 'bad key %{HOUSE_KEY}' }, at: {} },
        },
      }),
    ]);
    const env = { HOUSE_KEY: CANARY };
    const outputs: string[] = [];
    for (const args of [
      ['generate', ID],
      ['generate', ID, '--json'],
      ['show', ID],
      ['show', ID, '--json'],
      ['list'],
      ['reconcile', ID],
      ['cost', ID, '--csv'],
      ['doctor'],
    ]) {
      const ran = await house.run(args, { env });
      outputs.push(ran.stdout, ran.stderr);
    }
    const { env: given, argv } = JSON.parse(readFileSync(join(house.home, 'dump.json'), 'utf8'));
    expect(given.HOUSE_KEY).toBe(CANARY);
    expect(Object.keys(given).sort()).toEqual(['ADAPTER_HOME', 'ADAPTER_SCENARIO', 'HOME', 'HOUSE_KEY', 'PATH', 'TZ']);
    outputs.push(argv.join(' '), contents(house));
    for (const form of forms) expect(outputs.filter((output) => output.includes(form))).toEqual([]);
    expectWhole(house);
  });

  test.concurrent('that are found nowhere stop the step before it is claimed, and say all names', async () => {
    const house = await makeHouse();
    await house.allocate([step('s1')]);
    const refused = await house.json(78, ['generate', ID], { env: { ADAPTER_HOME: undefined, ADAPTER_SCENARIO: '' } });
    expect(refused.error).toMatchObject({
      code: 'CREDENTIAL_MISSING',
      message: 'house needs ADAPTER_HOME, ADAPTER_SCENARIO, found nowhere; nothing was claimed',
    });
    expect(house.record().steps[0]!.attempts).toEqual([]);
    expectWhole(house);
  });

  test.concurrent('in a file that others can read are not used', async () => {
    const { house, env, secrets } = await makeWatched();
    await house.allocate([step('s1')]);
    writeFileSync(join(secrets, 'ADAPTER_HOME'), 'x', { mode: 0o644 });
    const refused = await house.json(78, ['generate', ID], { env: { ...env, ADAPTER_HOME: undefined } });
    expect(refused.error).toMatchObject({ code: 'CREDENTIAL_EXPOSED', hints: [expect.stringMatching(/^chmod 600 /)] });
    expectWhole(house);
  });
});

function contents(house: House): string {
  const files = Object.keys(house.tree()).filter((file) => !file.endsWith('/'));
  return files.map((file) => house.read(file)).join('\n');
}
