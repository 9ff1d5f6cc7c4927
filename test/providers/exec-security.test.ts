import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { startChild } from '../../src/child/child.ts';
import { converse } from '../../src/providers/exec/conversation.ts';
import { ADAPTER, recorder, rig, until, untilDead } from './exec-rig.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CANARY = 'sk+canary/κλειδί "42" ==';
const PEM = '-----BEGIN KEY-----\ncanaryAAAABBBB\ncanaryCCCCDDDD\n-----END KEY-----';
/** The canary in every form that the adapter is made to say. */
const FORMS = [
  CANARY,
  encodeURIComponent(CANARY),
  Buffer.from(CANARY).toString('base64'),
  Buffer.from(CANARY).toString('base64url'),
  ...['k:', 'ke:', 'key:'].map((user) =>
    Buffer.from(user + CANARY)
      .toString('base64')
      .slice(8, -4),
  ),
  JSON.stringify(CANARY).slice(1, -1),
];
const SAID = 'key %{HOUSE_KEY} %{HOUSE_KEY:url} %{HOUSE_KEY:base64} %{HOUSE_BASIC:base64} %{HOUSE_PEM}';
const secrets = { env: { HOUSE_KEY: CANARY, HOUSE_BASIC: `key:${CANARY}`, HOUSE_PEM: PEM } };

function expectNoCanary(said: unknown): void {
  const text = `${JSON.stringify(said)}${String(said)}`;
  for (const form of FORMS) expect(text).not.toContain(form);
  expect(text).not.toContain('canary');
}

describe.concurrent('a secret in the environment of an adapter', () => {
  it('reaches the adapter', async () => {
    const house = rig({ at: { 'submit.request': 'dump' } }, secrets);
    await house.submit();
    expect(house.dump().env.HOUSE_KEY).toBe(CANARY);
    expectNoCanary(house.dump().argv);
  });

  it('is hidden in notes, evidence and messages of an outcome', async () => {
    const outcome = { outcome: 'unknown', reason: SAID, message: SAID, evidence: { said: [SAID], [SAID]: { SAID } } };
    const house = rig({ outcome, at: { 'submit.before_answer': `note:${SAID}` } }, secrets);
    const result = await house.submit();
    expect(result).toMatchObject({
      outcome: 'unknown',
      message: expect.stringContaining('key [HOUSE_KEY] [HOUSE_KEY]'),
    });
    expect(house.notes.join()).toContain('key [HOUSE_KEY] [HOUSE_KEY]');
    expectNoCanary([result, house.notes]);
  });

  it.each([
    ['an error', 'say:{"id":2,"ok":false,"error":{"code":"%{HOUSE_KEY:url}","message":"%{HOUSE_KEY:url}"}}'],
    ['garbage', `say:${SAID}`],
    ['a path', 'say:{"id":2,"ok":true,"result":{"outcome":"completed","files":[{"path":"/%{HOUSE_KEY:url}"}]}}'],
    ['stderr and dies', ['note:%{HOUSE_KEY}', 'die']],
  ])('is hidden when it says it in %s', async (_what, action) => {
    const house = rig({ at: { 'submit.after_sending': action } }, secrets);
    const outcome = await house.submit();
    expect(outcome.outcome).toBe('unknown');
    expect(JSON.stringify(outcome)).toContain('[HOUSE_KEY]');
    expectNoCanary([outcome, house.notes]);
  });

  it.each([
    ['an error', 'say:{"id":1,"ok":false,"error":{"code":"x","message":"%{HOUSE_KEY:url}"}}'],
    ['garbage', `say:${SAID}`],
    ['a wrong version', 'say:{"id":1,"ok":true,"result":{"protocol":"%{HOUSE_KEY:url}"}}'],
    ['stderr', [`note:${SAID}`, 'exit:1']],
  ])('is hidden in errors about %s', async (_what, action) => {
    const house = rig({ at: { 'describe.request': action } }, secrets);
    const error = await house.provider.describe().catch((reason: Error) => reason);
    expect(error).toBeInstanceOf(Error);
    expectNoCanary([{ ...error }, String(error), (error as Error).stack, (error as Error).cause]);
  });

  it('is hidden when the process cannot be started because of it', async () => {
    const house = rig({}, { env: { HOUSE_KEY: 'canary\0canary' } });
    const error = await house.provider.describe().catch((reason: Error) => reason);
    expect(error).toMatchObject({ code: 'PROVIDER_CONFIGURATION' });
    expectNoCanary([{ ...error }, String(error), (error as Error).stack]);
  });
});

it('an adapter gets its own variables, four of the machine, and nothing else', async () => {
  process.env.EPISODE_TEST_CANARY = 'canary';
  process.env.TZ ??= 'UTC';
  process.env.LANG ??= 'C.UTF-8';
  const house = rig({ at: { 'submit.request': 'dump' } }, { env: { HOUSE_KEY: 'mine' } });
  await house.submit();
  const { PATH, HOME, LANG, TZ } = process.env;
  const { ADAPTER_HOME, ADAPTER_SCENARIO, ...env } = house.dump().env;
  expect(env).toEqual({ PATH, HOME, LANG, TZ, HOUSE_KEY: 'mine' });
  expect(house.dump().cwd).toBe(house.root);
});

it('arguments reach an adapter as they are written', async () => {
  const args = ['$(touch pwned)', '; touch pwned', '"`touch pwned`', "a 'b' \\ *", '', '--help', 'ａ\n\u202eb'];
  const house = rig({ at: { 'submit.request': 'dump' } }, { command: [ADAPTER, ...args] });
  await house.submit();
  expect(house.dump().argv.slice(2)).toEqual(args);
  expect(existsSync(join(house.root, 'pwned'))).toBe(false);
});

it('text for people cannot drive a terminal, and is bounded', async () => {
  const flood = 'note:x\n'.repeat(600).replaceAll('note:', '');
  const house = rig({
    at: {
      'submit.request': [
        'note:\u001b[2J\u202egone\u0007',
        `note:${'y'.repeat(5_000)}`,
        `note:${'z'.repeat(20_000)}`,
        `note:${flood}`,
      ],
    },
  });
  await house.submit();
  expect(house.notes.slice(0, 4)).toEqual([
    '\\u001b[2J\\u202egone\\u0007',
    `${'y'.repeat(1_000)}…`,
    '(a line of more than 16384 bytes left out)',
    'x',
  ]);
  expect(house.notes).toHaveLength(501);
  expect(house.notes.at(-1)).toBe('(more lines left out)');
});

it('hostile names in answers stay data', async () => {
  const say =
    '{"id":2,"ok":true,"result":{"outcome":"unknown","reason":"x","__proto__":{"evil":1},"evidence":{"__proto__":{"evil":1},"constructor":{"prototype":{"evil":1}}}}}';
  const house = rig({ at: { 'submit.before_accepted': `say:${say}` } });
  const outcome = await house.submit();
  expect(outcome).toMatchObject({ outcome: 'unknown', reason: 'x' });
  expect(Object.hasOwn(Object.prototype, 'evil')).toBe(false);
});

describe.concurrent('the process group ends with its leader', () => {
  it.each([
    ['answered', ['spawn']],
    ['died', ['spawn', 'die']],
    ['broke the protocol', ['spawn', 'garbage', 'hang']],
  ])('that %s', async (_how, action) => {
    const house = rig({ at: { 'submit.before_answer': action } });
    await house.submit();
    await untilDead(house.grandchild());
  });

  it('that was stopped', async () => {
    const house = rig({ at: { 'submit.before_answer': ['spawn', 'hang'] } });
    const stop = new AbortController();
    const submitted = house.submit({}, recorder().events, stop.signal);
    await until(() => house.grandchild() > 0, 'a grandchild');
    stop.abort();
    await submitted;
    await untilDead(house.grandchild());
  });

  it('whose call was stopped while it was being started', async () => {
    const child = await startChild(['sleep', '600'], '/', {});
    const call = { id: 1, op: 'status', args: {}, timeoutMs: 60_000, signal: AbortSignal.abort() };
    expect((await converse(child, call)).ending).toEqual({ how: 'aborted' });
    await untilDead(child.pid);
  });

  it('and with this program', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `import { startChild } from './src/child/child.ts';
          startChild(['sleep', '600'], '/', {}).then(({ pid }) => { console.log(pid); process.exit(); });`,
        resolveDir: ROOT,
      },
      bundle: true,
      platform: 'node',
      write: false,
    });
    const { stdout } = spawnSync(process.execPath, ['-'], { input: outputFiles[0]!.text, encoding: 'utf8' });
    expect(Number(stdout)).toBeGreaterThan(1);
    await untilDead(Number(stdout));
  });

  it('and one that left the group cannot hold up its end', async () => {
    const house = rig({ at: { 'submit.after_sending': ['escape', 'die'] } });
    try {
      expect(await house.submit()).toMatchObject({ outcome: 'unknown', reason: 'died' });
    } finally {
      process.kill(house.grandchild());
    }
  });
});
