import { describe, expect, it } from 'vitest';
import { allocate as allocateFor } from '../../src/allocate.ts';
import { createNodePort } from '../../src/node-port.ts';
import { whyUnstable } from '../../src/schedulers/unstable.ts';
import { createFileStore } from '../../src/store/file/file-store.ts';
import { episode, makeShow } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { requestFor } from '../simulation/ledger.ts';

/** Keys that would make a second episode for one release, and those that only look like them. */

const NOW = '2026-12-01T00:15:31.250Z';
const NOW_MS = Date.parse(NOW);
const PIDS = [41_207, 1_234_567, 2026];
const why = (key: string, env: NodeJS.ProcessEnv = {}) => whyUnstable(key, env, NOW_MS, () => PIDS);

describe('a key that holds the time of now is refused', () => {
  it.each([
    ['of date +%Y%m%d%H%M%S', '20261201001530'],
    ['of the same behind a name', 'nightly-20261201001530'],
    ['of the same between names', 'a20261201001530b'],
    ['of the same with milliseconds', '20261201001530123'],
    ['of date +%y%m%d%H%M%S', 'run-261201001530'],
    ['of date +%Y%m%d-%H%M%S', 'brief-20261201-001530'],
    ['of date +%FT%T', '2026-12-01T00:15:30'],
    ['with a blank', 'brief 2026-12-01 00:15:30'],
    ['as a file name has it', '2026-12-01_00-15-30'],
    ['with dots', '2026.12.01.00.15.30'],
    ['with a fraction', '2026-12-01T00:15:30.5'],
    ['on a clock in Tokyo', '2026-12-01T09:15:30'],
    ['on a clock in Kathmandu', '20261201060030'],
    ['on a clock in New York, where it is yesterday', 'run-20261130191530'],
    ['before a number of its own', '20261201-001530-0001'],
    ['of date', 'brief Tue Dec  1 00:15:30 UTC 2026'],
    ['of date +%T', 'brief-2026-W49-00:15:30'],
    ['of date +%T in the zone of this machine', `brief-${new Date(NOW_MS).toTimeString().slice(0, 8)}`],
  ])('%s', (_, key) => {
    expect(why(key)).toBe('it holds the time of now, which differs on a retry');
  });

  it.each([
    ["a scheduler's own time without offset", '2026-12-01T00:15:00'],
    ["a scheduler's own time in digits", '20261201001500'],
    ['a slot of minutes', '202612010015'],
    ['a date', '20261201'],
    ['another minute of the hour', '2026-12-01T00:20:30'],
    ['the same time of another day', '2026-11-29T00:15:30'],
    ['a time of last week, in digits', 'take-20261124001530'],
    ['what is no date', '20261301001530'],
    ['what is no time', '20261201006030'],
    ['a length of film', 'cut-01:42:17'],
    ['a number of 14 digits', '90000000001530'],
    ['an order number of 12 digits', 'order-991201001530'],
  ])('and another time is not: %s', (_, key) => {
    expect(why(key)).toBeNull();
  });
});

describe('a key that holds the process ID of what started us is refused', () => {
  it.each(['run-41207', '41207', 'run41207a', 'pid:1234567:x'])('%s', (key) => {
    const pid = /\d+/.exec(key)![0];
    expect(why(key)).toBe(`it holds ${pid}, the process ID of what started this ($$), which differs on a retry`);
  });

  it.each([
    ['the run number of a CI', 'run-41208'],
    ['a part of a number', 'run-141207'],
    ['a year', 'scheduled-run:2026-08-07'],
    ['a number with zeros before it', 'run-041207'],
  ])('and %s is not', (_, key) => {
    expect(why(key)).toBeNull();
  });

  it('nor a run number that the CI keeps over retries and that happens to be one', () => {
    expect(why('run-41207', { GITHUB_RUN_NUMBER: '41207' })).toBeNull();
    expect(why('run-41207', { CI_PIPELINE_IID: '41207' })).toBeNull();
    expect(why('run-41207', { BUILDKITE_BUILD_NUMBER: '41207' })).toBeNull();
  });

  it.each([
    ['of the shell', '"$@" --key "run-$$"; exit $?'],
    ["of the shell's parent", 'sh -c \'"$@" --key "run-$PPID"; exit $?\' sh "$@"; exit $?'],
    ['of a shell that became us', 'exec "$@" --key "run-$$"'],
  ])('$$ %s, in real processes', async (_, script) => {
    const root = await makeShow();
    const ran = await episode(root, ['allocate'], { prefix: ['sh', '-c', script, 'sh'] });
    expect([ran.code, ran.stderr]).toEqual([
      64,
      expect.stringMatching(
        /^episode: key "run-(\d+)" would not be the same on a retry: it holds \1, the process ID of what started this \(\$\$\), which differs on a retry; nothing was created \[UNSTABLE_KEY\]\n/,
      ),
    ]);
  });
});

describe('a key that was never filled in is refused', () => {
  const VARIABLE = 'it holds a variable that the shell did not replace';
  const PLACEHOLDER = 'it holds a placeholder that nobody filled in';
  it.each([
    ['$RUN_ID', VARIABLE],
    [`run-$\{VAR}`, VARIABLE],
    [`run-$\{{ github.run_id }}`, VARIABLE],
    ['run-$$', VARIABLE],
    ['run-`date +%s`', 'it holds a command that the shell did not run'],
    ['%i', 'it holds a specifier that systemd or date did not replace'],
    ['run-%(ds)s', PLACEHOLDER],
    ['{{ds}}', PLACEHOLDER],
    ['run:{{ ds_nodash }}', PLACEHOLDER],
    ['run-{run_id}', PLACEHOLDER],
    ['{% ds %}', PLACEHOLDER],
    ['<run-id>', PLACEHOLDER],
    ['scheduled-run:<date of the run>', PLACEHOLDER],
    ['scheduled-run:YYYY-MM-DD', PLACEHOLDER],
    ['brief-yyyymmdd', PLACEHOLDER],
    ['run:YYYY-Www', PLACEHOLDER],
    ['run:<aws.scheduler.scheduled-time>', 'it holds a placeholder that EventBridge did not replace'],
  ])('%s', (key, expected) => {
    expect(why(key)).toBe(expected);
  });

  it.each(['5 < 6 and 8 > 7', 'a -> b', 'price: 5 $', '{"run":5}', 'yyyyup', '100%', "it's `", '{}', 'ep <3'])(
    '%s is a name like another',
    (key) => {
      expect(why(key)).toBeNull();
    },
  );
});

describe('random by its looks is a key also behind a name', () => {
  it.each([
    ['run-3f2b6c1e-8d4a-4c55-9a53-0d7f2a6b1c9e', 'it holds a UUID, and nothing says that a retry has the same'],
    ['run:01J4NQ8Z9V7XK3M2P5R6T8W0YB', 'it holds a ULID, and nothing says that a retry has the same'],
    ['run_9f86d081884c7d659a2feaa0c55ad015', 'it holds 32 hex digits, and nothing says that a retry has the same'],
  ])('%s', (key, expected) => {
    expect(why(key)).toBe(expected);
  });

  it('but not where a scheduler keeps it over retries, nor a hash of what is released', () => {
    const BUILDKITE_BUILD_ID = '3f2b6c1e-8d4a-4c55-9a53-0d7f2a6b1c9e';
    expect(why(`run-${BUILDKITE_BUILD_ID}`, { BUILDKITE_BUILD_ID })).toBeNull();
    expect(why(`sha256:${'9f86d081'.repeat(8)}`)).toBeNull();
    expect(why(`commit-${'9f86d081'.repeat(5)}`)).toBeNull();
  });
});

describe('a key that looks the same as another is refused, and says how it must be', () => {
  const EDGES = 'begins or ends with white space or an invisible character';
  const FORM = 'holds letters in more than one character (it is not in Unicode NFC)';
  it.each([
    [' a', EDGES, 'a'],
    ['a ', EDGES, 'a'],
    ['a\u00a0', EDGES, 'a'],
    ['\ufeffa', EDGES, 'a'],
    ['a\u200b', EDGES, 'a'],
    ['\u200fa b\u2060', EDGES, 'a b'],
    ['Cafe\u0301', FORM, 'Caf\u00e9'],
    ['\u212b-1', FORM, '\u00c5-1'],
    [" it's e\u0301", EDGES, "it's \u00e9"],
  ])('%j', async (key, fault, normal) => {
    const root = await makeShow();
    const said = {
      code: 64,
      stdout: '',
      stderr:
        expect.stringContaining(`${fault}, and the same key without that would make another episode; nothing was created [USAGE]
  episode allocate --key '${normal.replaceAll("'", `'\\''`)}'
`),
    };
    expect(await runLine(root, ['allocate', '--key', key], { now: NOW })).toMatchObject(said);
    // No reason makes two keys of what people see as one.
    expect(await runLine(root, ['allocate', '--key', key, '--key-is-stable', 'x'], { now: NOW })).toMatchObject(said);
    expect(await runLine(root, ['allocate', '--key', normal], { now: NOW })).toMatchObject({ code: 0 });
  });

  it('also one of nothing else', async () => {
    expect(await runLine(await makeShow(), ['allocate', '--key', ' \u200b'], { now: NOW })).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('\n  episode allocate --key "scheduled-run:2026-08-07"\n'),
    });
  });

  it('a flag is no invisible character, and what stands inside is nobody\u2019s business', async () => {
    const root = await makeShow();
    for (const key of [
      '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
      'a  b',
      '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645',
    ])
      expect(await runLine(root, ['allocate', '--key', key], { now: NOW }), key).toMatchObject({ code: 0 });
  });

  it('and one that is on record replays, whatever it looks like', async () => {
    const root = await makeShow();
    const port = createNodePort({ command: 'an older version', now: () => NOW_MS });
    const keys = ['a ', 'Cafe\u0301', '<run-id>', '20261201001530'];
    for (const key of keys)
      await allocateFor({ store: createFileStore(port, root), port, root }, requestFor(key, '2026-W49'));
    for (const [sequence, key] of keys.entries())
      expect(await runLine(root, ['allocate', '--key', key], { now: NOW })).toMatchObject({
        code: 0,
        stdout: `2026-W49-${sequence}\n`,
      });
  });
});
