import { describe, expect, it } from 'vitest';
import { whyUnstable } from '../../src/schedulers/unstable.ts';
import { makeShow } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { allocate, refusal } from './desk.ts';

const NOW = '2026-08-07T00:00:03.250Z';
const NOW_MS = Date.parse(NOW);
const why = (key: string, env: NodeJS.ProcessEnv = {}) => whyUnstable(key, env, NOW_MS, () => []);

describe('a key is refused when it', () => {
  const TRAPPED = {
    INVOCATION_ID: '9f86d081884c7d659a2feaa0c55ad015',
    TRIGGER_TIMER_REALTIME_USEC: '1785974400000000',
    TRIGGER_TIMER_MONOTONIC_USEC: '86400000001',
    TRIGGER_UNIT: 'weekly-brief.timer',
    JOURNAL_STREAM: '8:1234567',
    SYSTEMD_EXEC_PID: '41207312',
    HOSTNAME: 'brief-29765280-x7k2p',
    NOMAD_ALLOC_ID: '5456bd7a-9fc0-c0dd-6131-cbee77f57577',
    GITHUB_RUN_ATTEMPT: '2',
    CI_JOB_ID: '1234567890',
    BUILDKITE_JOB_ID: '018f6d1e-7c4b-4b6e-9d53-1f2a3b4c5d6e',
    BUILDKITE_RETRY_COUNT: '1',
    CIRCLE_WORKFLOW_ID: '0a1b2c3d-0000-4000-8000-aabbccddeeff',
    CLOUD_RUN_EXECUTION: 'brief-xk2lp',
    CLOUD_RUN_TASK_ATTEMPT: '3',
    AIRFLOW_CTX_TRY_NUMBER: '1',
  };

  it.each(Object.entries(TRAPPED))('is $%s', (name, value) => {
    expect(why(value, { [name]: value })).toMatch(new RegExp(`^it holds \\$${name}: `));
  });

  it.each(Object.entries(TRAPPED).filter(([, value]) => value.length >= 8))('holds $%s', (name, value) => {
    expect(why(`brief:${value}:x`, { [name]: value })).toMatch(new RegExp(`^it holds \\$${name}: `));
  });

  it('but not when a short value only turns up in it: "2" stands in many keys', () => {
    expect(why('release-2', { GITHUB_RUN_ATTEMPT: '2', BUILDKITE_RETRY_COUNT: '2' })).toBeNull();
    expect(why('brief', { HOSTNAME: '' })).toBeNull();
  });

  it.each([
    ['seconds', String(Math.floor(NOW_MS / 1000))],
    ['milliseconds', String(NOW_MS)],
    ['microseconds', String(NOW_MS * 1000)],
    ['nanoseconds', `${NOW_MS}000000`],
    ['seconds, nine minutes ago', String(Math.floor(NOW_MS / 1000) - 540)],
    ['whole minutes, in seconds', String(Math.floor(NOW_MS / 60_000) * 60)],
    ['seconds behind a name', `nightly-${Math.floor(NOW_MS / 1000)}`],
    ['an ISO time', '2026-08-07T00:00:03Z'],
    ['an ISO time with offset', '2026-08-07T09:00:03+09:00'],
    ['an ISO time of date -Is +%z', '2026-08-07T09:00:02+0900'],
    ['an ISO time with a fraction', '2026-08-07T00:00:00.123Z'],
    ['a basic ISO time behind a name', 'nightly-20260807T000002Z'],
  ])('is the time of now: %s', (_, key) => {
    expect(why(key)).toBe('it holds the time of now, which differs on a retry');
  });

  it.each([
    ['seconds of yesterday', String(Math.floor(NOW_MS / 1000) - 86_400)],
    ['eleven minutes ago', String(Math.floor(NOW_MS / 1000) - 660)],
    ["a scheduler's own time", '2026-08-07T00:00:00Z'],
    ["a scheduler's own time with offset", '2026-08-07T09:00:00+09:00'],
    ["a scheduler's own time at a minute", '2026-08-07T00:01:00.000Z'],
    ['a time of last week with seconds', '2026-07-31T00:00:03Z'],
    ["a CronJob's name: minutes since the epoch", 'brief-29765280'],
    ['whole minutes behind a name', `periodic-${Math.floor(NOW_MS / 60_000) * 60}`],
    ['a date', 'scheduled-run:2026-08-07'],
    ['a week', '2026-W32'],
  ])('but not when it is another time: %s', (_, key) => {
    expect(why(key)).toBeNull();
  });

  it.each([
    ['a UUID', '3f2b6c1e-8d4a-4c55-9a53-0d7f2a6b1c9e'],
    ['a UUID in capitals', '3F2B6C1E-8D4A-4C55-9A53-0D7F2A6B1C9E'],
    ['a ULID', '01J4NQ8Z9V7XK3M2P5R6T8W0YB'],
    ['32 hex digits', '9f86d081884c7d659a2feaa0c55ad015'],
  ])('is random by its looks: %s', (_, key) => {
    expect(why(key)).toMatch(/nothing says that a retry has the same$/);
  });

  it.each([
    ['$RELEASE', 'it holds a variable that the shell did not replace'],
    [`release-$\{WEEK}`, 'it holds a variable that the shell did not replace'],
    ['run:$(date +%F)', 'it holds a variable that the shell did not replace'],
    ['%i', 'it holds a specifier that systemd or date did not replace'],
    ['brief@%t', 'it holds a specifier that systemd or date did not replace'],
    ['null', 'it is the word for nothing'],
    ['undefined', 'it is the word for nothing'],
    ['None', 'it is the word for nothing'],
    ['run:<aws.scheduler.scheduled-time>', 'it holds a placeholder that EventBridge did not replace'],
  ])('was never filled in: %s', (key, expected) => {
    expect(why(key)).toBe(expected);
  });
});

describe('a key is taken when it is the value of a variable that a scheduler keeps over retries', () => {
  it.each([
    ['GITHUB_RUN_ID', String(Math.floor(NOW_MS / 1000))],
    ['CI_PIPELINE_ID', String(Math.floor(NOW_MS / 1000))],
    ['BUILDKITE_BUILD_ID', '018f6d1e-7c4b-4b6e-9d53-1f2a3b4c5d6e'],
    ['NOMAD_JOB_ID', 'brief/periodic-1786060803'],
    ['AIRFLOW_CTX_DAG_RUN_ID', 'manual__2026-08-07T00:00:03+00:00'],
  ])('$%s', (name, value) => {
    expect(why(value)).not.toBeNull();
    expect(why(value, { [name]: value })).toBeNull();
  });

  it('also behind a name', () => {
    const NOMAD_JOB_ID = 'brief/periodic-1786060803';
    expect(why(`nomad:${NOMAD_JOB_ID}`)).not.toBeNull();
    expect(why(`nomad:${NOMAD_JOB_ID}`, { NOMAD_JOB_ID })).toBeNull();
  });
});

it("ordinary keys are nobody's business", () => {
  for (const key of [
    'extra:launch',
    'friday',
    'S01E04',
    'Ostern 2026',
    '第32週',
    'a',
    '0',
    'release/2026/32',
    '50% off',
  ]) {
    expect(why(key), key).toBeNull();
  }
});

it('an unstable key is refused with what to use instead, and makes nothing', async () => {
  const root = await makeShow();
  const key = '9f86d081884c7d659a2feaa0c55ad015';
  const ran = await runLine(root, ['allocate', '--key', key], { now: NOW, env: { INVOCATION_ID: key } });
  expect(ran).toMatchObject({ code: 64, stdout: '' });
  expect(
    ran.stderr,
  ).toBe(`episode: key "${key}" would not be the same on a retry: it holds $INVOCATION_ID: systemd makes a new one at every start, restarts included; nothing was created [UNSTABLE_KEY]
  use what stays the same for one release, e.g. --key "scheduled-run:2026-08-07", or --schedule NAME
  if it really is kept across retries: --key-is-stable "why"
`);
  expect((await allocate(root, { key: 'a', now: NOW })).episode_id).toBe('2026-W32-0');
});

it('--key-is-stable takes it, with the reason on record', async () => {
  const root = await makeShow();
  const key = '9f86d081884c7d659a2feaa0c55ad015';
  const keyIsStable = 'our queue keeps the message ID over redeliveries';
  expect((await allocate(root, { key, keyIsStable, now: NOW })).verdict).toBe('proceed');
  const { json } = await runLine(root, ['why', '--key', key, '--json']);
  expect(json.allocation).toMatchObject({ key_is_stable: keyIsStable });
  // On record, it needs no reason any more.
  expect((await allocate(root, { key, now: NOW })).verdict).toBe('replay');
});

it('a key is at most 512 characters, on one line', async () => {
  const root = await makeShow();
  expect((await allocate(root, { key: 'k'.repeat(512), now: NOW })).verdict).toBe('proceed');
  for (const key of ['k'.repeat(513), 'a\nb', 'a\u0000b', 'a\u001b[31m', 'a\u009b31m']) {
    expect(await refusal(root, { key, now: NOW })).toMatchObject({
      code: 'USAGE',
      message: 'a key has at most 512 characters and no control characters',
    });
  }
});
