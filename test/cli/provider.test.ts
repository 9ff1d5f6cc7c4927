import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { answer, MAPPING, serve } from '../providers/http-rig.ts';
import { writePipeline } from '../rig.ts';
import { ADAPTER, expectWhole, type House, ID, makeHouse, SYNC } from '../spend/rig.ts';

const SECRET = 'sk-very-secret-value';

const PROVIDERS = {
  providers: {
    house: { type: 'exec', command: [ADAPTER], env: ['ADAPTER_HOME', 'ADAPTER_SCENARIO', 'HOUSE_KEY'] },
    pictures: { type: 'local' },
    fal: { type: 'http', mapping: 'fal', env: ['FAL_KEY'] },
  },
};

/** A show whose `house` takes one more credential, and nothing that was submitted to it. */
async function makeKeyed(scenario: object = {}): Promise<House> {
  const house = await makeHouse({ scenario });
  await writePipeline(house.root, PROVIDERS);
  return house;
}

function expectNothingSubmitted(house: House, before: Record<string, string>): void {
  expect(house.submissions()).toEqual([]);
  expect(house.tree()).toEqual(before);
  expectWhole(house);
}

describe('provider list', () => {
  test.concurrent('names each with its type and what it is made of, and credentials by name, never by value', async () => {
    const house = await makeKeyed();
    const before = house.tree();
    const config = join(house.home, 'config');
    mkdirSync(join(config, 'episode/credentials'), { recursive: true });
    writeFileSync(join(config, 'episode/credentials/FAL_KEY'), SECRET);
    chmodSync(join(config, 'episode/credentials/FAL_KEY'), 0o644);
    const env = { HOUSE_KEY: SECRET, XDG_CONFIG_HOME: config };
    const listed = await house.run(['provider', 'list'], { env });
    const exposed = `${config}/episode/credentials/FAL_KEY can be read by others; it is not used`;
    expect([listed.code, listed.stderr]).toEqual([0, '']);
    expect(listed.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['assembly', 'assembly', 'built in; free'],
      ['fal', 'http', 'mapping fal', `FAL_KEY ${exposed}`],
      [
        'house',
        'exec',
        ADAPTER,
        'ADAPTER_HOME found (environment), ADAPTER_SCENARIO found (environment), HOUSE_KEY found (environment)',
      ],
      ['local', 'local', 'built in; free'],
      ['pictures', 'local', 'built in; free'],
      [''],
    ]);
    const document = await house.run(['provider', 'list', '--json'], { env });
    expect(document.json.providers).toContainEqual({
      provider: 'fal',
      type: 'http',
      by: 'mapping fal',
      credentials: [{ name: 'FAL_KEY', found: null, fault: exposed }],
    });
    expect(`${listed.stdout}${document.stdout}`).not.toContain(SECRET);
    // It starts none of them.
    const bare = await house.run(['provider', 'list']);
    expect(bare.stdout).toContain('HOUSE_KEY MISSING');
    expectNothingSubmitted(house, before);
  });
});

describe('provider describe', () => {
  test.concurrent('says for people what a sheet says, and gives the sheet itself with --json', async () => {
    const house = await makeHouse({
      scenario: {
        sheet: {
          capabilities: {
            cancel: 'before_start',
            idempotent_submit: { supported: true, window_seconds: 86400 },
            lookup: { settle_seconds: 120, proves: { present: true, absent: false } },
            result: { expiry_seconds: 3600 },
          },
        },
      },
    });
    const before = house.tree();
    const described = await house.run(['provider', 'describe', 'house']);
    expect([described.code, described.stderr]).toEqual([0, '']);
    expect(described.stdout).toBe(`house  exec  ${ADAPTER}
  calls itself   scripted 1, episode-provider/1
  makes          video, image, audio, text, file
  answers        with a reference, then is asked
  a crash        is held from the moment it announced sending
  sent twice     counts once under one reference for 86400 s
  lookup         proves presence, 120 s after it was sent
  cancel         before it starts
  price before   from a table
  cost after     reported
  balance        can be asked
  keeps results  3600 s
  credentials    ADAPTER_HOME found (environment)
                 ADAPTER_SCENARIO found (environment)
`);
    const { json } = await house.run(['provider', 'describe', 'house', '--json']);
    expect(json).toMatchObject({
      provider: 'house',
      type: 'exec',
      sheet: { protocol: 'episode-provider/1', provider: 'scripted', capabilities: { cancel: 'before_start' } },
    });
    const local = await house.run(['provider', 'describe', 'local']);
    expect(local.stdout).toContain('  a crash        is run again: free and repeatable\n');
    expect(local.stdout).toContain('  sent twice     costs nothing\n');
    expectNothingSubmitted(house, before);
  });

  test.concurrent('of one that is not there, or cannot be asked, says what is', async () => {
    const house = await makeKeyed();
    const none = await house.json(78, ['provider', 'describe', 'nowhere']);
    expect(none.error).toMatchObject({
      code: 'PROVIDER_CONFIGURATION',
      message: 'pipeline.json has no provider nowhere',
      hints: ['there is assembly, fal, house, local, pictures', 'episode provider list'],
    });
    // The same whoever looks for it: certify, and what would spend for a plan of before.
    await writePipeline(house.root, { providers: { ...PROVIDERS.providers, nowhere: { type: 'local' } } });
    await house.allocate([{ id: 'still', provider: 'nowhere', kind: 'image' }]);
    await writePipeline(house.root, PROVIDERS);
    const allocated = house.tree();
    for (const args of [
      ['provider', 'check', 'nowhere'],
      ['provider', 'certify', 'nowhere'],
      ['generate', ID],
    ]) {
      expect((await house.json(78, args)).error).toMatchObject({
        message: none.error!.message,
        hints: none.error!.hints,
      });
    }
    expect((await house.json(78, ['provider', 'check', 'house'])).error?.code).toBe('CREDENTIAL_MISSING');
    for (const args of [[], ['nothing'], ['describe'], ['check'], ['list', 'house'], ['constructor', 'house']]) {
      const ran = await house.json(64, ['provider', ...args]);
      expect([args, ran.error?.code]).toEqual([args, 'USAGE']);
    }
    expectNothingSubmitted(house, allocated);
  });
});

test.concurrent('--params is refused where nothing is made of it', async () => {
  const house = await makeKeyed();
  const before = house.tree();
  for (const [args, message] of [
    [['list'], 'list takes no --params'],
    [['describe', 'house'], 'describe takes no --params'],
    [['check', 'house'], 'check takes no --params'],
    [['certify', 'local'], 'local is built in, and certify takes no --params for it'],
    [['certify', 'assembly'], 'assembly is built in, and certify takes no --params for it'],
    [['certify', 'pictures'], 'pictures is built in, and certify takes no --params for it'],
  ] as const) {
    const { error } = await house.json(64, ['provider', ...args, '--params', '{"prompt":"a harbour"}']);
    expect(error).toMatchObject({ code: 'USAGE', subject: '--params', message });
  }
  expect((await house.json(64, ['provider', 'certify', 'fal', '--params', '[]'])).error).toMatchObject({
    message: '--params is no JSON object',
  });
  expectNothingSubmitted(house, before);
});

describe('provider check', () => {
  test.concurrent('asks whether it knows us and what is left; it submits nothing', async () => {
    const house = await makeHouse({ scenario: SYNC });
    const before = house.tree();
    const checked = await house.run(['provider', 'check', 'house']);
    expect([checked.code, checked.stdout, checked.stderr]).toEqual([
      0,
      'house  accepts the credentials  balance 100.00 USD\n',
      '',
    ]);
    // A provider may give its balance only where that is asked for.
    house.script({ check: { auth: 'ok' }, balance: { amount: '0.125', unit: 'credits' } });
    expect((await house.run(['provider', 'check', 'house', '--json'])).json).toMatchObject({
      provider: 'house',
      auth: 'ok',
      balance: { amount: '0.125', unit: 'credits' },
    });
    // A key that may run models need not be one that sees the account.
    house.script({ check: { auth: 'ok' }, balance: { error: 'forbidden' } });
    expect(await house.json(0, ['provider', 'check', 'house'])).toMatchObject({ auth: 'ok', balance: null });
    house.script({ check: { error: 'unsupported' }, sheet: { capabilities: { balance: false } } });
    expect((await house.run(['provider', 'check', 'house'])).stdout).toBe(
      'house  does not say whether it accepts the credentials\n',
    );
    expect((await house.run(['provider', 'check', 'local'])).stdout).toBe(
      'local  is built in: free, and takes no credentials\n',
    );
    expectNothingSubmitted(house, before);
  });

  test.concurrent('of a mapping asks for the balance once, and a key that may not see it is a good key', async () => {
    const { received, address } = await serve((one, response, request) =>
      answer(one.url === '/who' ? 200 : 403)(one, response, request),
    );
    const house = await makeHouse({ scenario: SYNC });
    const mapping = { ...MAPPING, check: { request: { server: 'api', path: '/who' } } };
    writeFileSync(join(house.root, 'm.json'), JSON.stringify(mapping));
    await writePipeline(house.root, {
      providers: { api: { type: 'http', mapping: './m.json', env: ['KEY'], servers: { api: address } } },
    });
    const before = house.tree();
    const checked = await house.run(['provider', 'check', 'api', '--json'], { env: { KEY: SECRET } });
    expect([checked.code, checked.json, checked.stderr]).toEqual([
      0,
      expect.objectContaining({ provider: 'api', auth: 'ok', balance: null }),
      'the balance is not told: a key that may run models need not be one that sees the account\n',
    ]);
    expect(received.map(({ url }) => url)).toEqual(['/who', '/me']);
    expectNothingSubmitted(house, before);
  });

  test.concurrent('of a credential that is not accepted is 78, and one that gives no answer 69', async () => {
    const house = await makeHouse({ scenario: { check: { auth: 'bad', message: 'key revoked' } } });
    const before = house.tree();
    const bad = await house.json(78, ['provider', 'check', 'house']);
    expect(bad).toMatchObject({ provider: 'house', auth: 'bad', balance: null });
    expect(bad.error).toMatchObject({
      code: 'CREDENTIAL_REFUSED',
      message: 'house does not accept the credential at "check": key revoked',
    });
    house.script({ check: { error: 'down' } });
    expect((await house.json(69, ['provider', 'check', 'house'])).error?.code).toBe('PROVIDER_UNREACHABLE');
    house.script({ check: { auth: 'perhaps' } });
    expect((await house.json(76, ['provider', 'check', 'house'])).error?.code).toBe('PROVIDER_PROTOCOL');
    expectNothingSubmitted(house, before);
  });
});
