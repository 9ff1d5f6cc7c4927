import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { episode, makeShow, writePipeline } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { allocate, refusal } from './desk.ts';

const FRIDAY = '2026-08-07T00:00:00Z';

/** A plan of one text step; `note` makes it another one. */
const plan = (note: string) =>
  JSON.stringify({ format: 1, steps: [{ id: 'words', provider: 'local', kind: 'image', params: { caption: note } }] });

describe('a retry gets the same episode', () => {
  it('and is told that it is one, on stderr and as the verdict', async () => {
    const root = await makeShow();
    const first = await episode(root, ['allocate', '--key', 'scheduled-run:2026-08-07'], { now: FRIDAY });
    expect(first).toMatchObject({ code: 0, stdout: '2026-W32-0\n', stderr: '' });
    const again = await episode(root, ['allocate', '--key', 'scheduled-run:2026-08-07'], {
      now: '2026-08-07T00:04:00Z',
    });
    expect(again).toMatchObject({
      code: 0,
      stdout: '2026-W32-0\n',
      stderr: 'original episode 2026-W32-0, created 2026-08-07T00:00:00.000Z; now: allocated\n',
    });
    expect((await allocate(root, { key: 'scheduled-run:2026-08-07', now: FRIDAY })).verdict).toBe('replay');
  });

  it('also after Sunday midnight, when it names no week', async () => {
    const root = await makeShow();
    await allocate(root, { key: 'a', now: '2026-08-09T23:59:00Z' });
    for (const now of ['2026-08-10T00:01:00Z', '2027-01-01T00:00:00Z']) {
      expect(await allocate(root, { key: 'a', now })).toMatchObject({ verdict: 'replay', episode_id: '2026-W32-0' });
    }
  });

  it('and writes nothing: the ledger has the same head before and after', async () => {
    const root = await makeShow();
    await allocate(root, { key: 'a', now: FRIDAY });
    const head = async () => (await runLine(root, ['doctor', '--json'])).json.diagnoses;
    const ledger = (diagnoses: unknown) => (diagnoses as { check: string }[]).find(({ check }) => check === 'ledger');
    const before = ledger(await head());
    await allocate(root, { key: 'a', now: FRIDAY });
    expect(ledger(await head())).toEqual(before);
  });

  it('before every guard: with a clock behind, a key that looks unstable, a plan that no longer fits the show', async () => {
    const root = await makeShow();
    await writeFile(join(root, 'plan.json'), plan('a').replace('"local"', '"house"'));
    await writePipeline(root, { providers: { house: { type: 'exec', command: ['./render'] } } });
    const key = '3f2b6c1e-8d4a-4c55-9a53-0d7f2a6b1c9e';
    const asked = { key, plan: 'plan.json', keyIsStable: 'kept by our queue' };
    await allocate(root, { ...asked, now: FRIDAY });
    await writePipeline(root, {});
    const { keyIsStable: _, ...without } = asked;
    expect(await allocate(root, { ...without, now: '2020-01-01T00:00:00Z' })).toMatchObject({
      verdict: 'replay',
      episode_id: '2026-W32-0',
    });
    expect(await refusal(root, { ...without, key: 'another', now: FRIDAY })).toMatchObject({ code: 'PLAN_INVALID' });
  });
});

describe('a key does not cross weeks', () => {
  it('by --week', async () => {
    const root = await makeShow();
    await allocate(root, { key: 'a', now: FRIDAY });
    expect(await refusal(root, { key: 'a', week: '2026-W33', now: '2026-08-10T00:00:00Z' })).toEqual({
      code: 'KEY_IN_OTHER_WEEK',
      exit: 10,
      message: 'key "a" belongs to 2026-W32-0 in 2026-W32, and 2026-W33 was asked for',
      hints: [
        'episode show 2026-W32-0  # it is the same release: leave the week out, or give 2026-W32',
        'use another key if a second release is meant',
      ],
    });
    expect((await allocate(root, { key: 'b', now: '2026-08-10T00:00:00Z' })).episode_id).toBe('2026-W33-0');
  });

  it('by --slot', async () => {
    const root = await makeShow({ timeZone: 'Asia/Tokyo' });
    await allocate(root, { key: 'a', slot: '2026-08-07', now: FRIDAY });
    expect(await refusal(root, { key: 'a', slot: '2026-08-09T15:00:00Z', now: FRIDAY })).toMatchObject({
      code: 'KEY_IN_OTHER_WEEK',
      message: 'key "a" belongs to 2026-W32-0 in 2026-W32, and 2026-W33 was asked for',
    });
    expect((await allocate(root, { key: 'a', slot: '2026-08-09T14:59:59Z', now: FRIDAY })).verdict).toBe('replay');
  });

  it('when it was asked for in a week of its own', async () => {
    const root = await makeShow();
    expect((await allocate(root, { key: 'a', week: '2026-W40', now: FRIDAY })).episode_id).toBe('2026-W40-0');
    expect((await allocate(root, { key: 'a', now: FRIDAY })).episode_id).toBe('2026-W40-0');
    expect((await refusal(root, { key: 'a', week: '2026-W32', now: FRIDAY })).code).toBe('KEY_IN_OTHER_WEEK');
  });
});

describe('the inputs that a key was made with', () => {
  it('are compared: another plan is a conflict, in whatever file it stands', async () => {
    const root = await makeShow();
    await writeFile(join(root, 'one.json'), plan('one'));
    await writeFile(join(root, 'two.json'), plan('two'));
    await allocate(root, { key: 'a', plan: 'one.json', now: FRIDAY });
    expect(await refusal(root, { key: 'a', plan: 'two.json', now: FRIDAY })).toEqual({
      code: 'KEY_INPUT_MISMATCH',
      exit: 10,
      message: 'key "a" made 2026-W32-0 with another plan',
      hints: [
        'episode show 2026-W32-0  # leave out what differs to get this episode',
        'use another key if a second release is meant',
      ],
    });
    // The same content under another name, with other spaces and another order of fields.
    await writeFile(join(root, 'two.json'), JSON.stringify(reversed(JSON.parse(plan('one'))), null, 8));
    expect((await allocate(root, { key: 'a', plan: 'two.json', now: FRIDAY })).verdict).toBe('replay');
  });

  it('match when a retry leaves them out, and are a conflict when only the retry has them', async () => {
    const root = await makeShow();
    await writeFile(join(root, 'one.json'), plan('one'));
    await allocate(root, { key: 'a', plan: 'one.json', now: FRIDAY });
    expect((await allocate(root, { key: 'a', now: FRIDAY })).verdict).toBe('replay');
    await allocate(root, { key: 'b', now: FRIDAY });
    expect(await refusal(root, { key: 'b', plan: 'one.json', now: FRIDAY })).toMatchObject({
      code: 'KEY_INPUT_MISMATCH',
      message: 'key "b" made 2026-W32-1 without a plan',
      hints: expect.arrayContaining(['episode plan 2026-W32-1 --file FILE  # gives it one']),
    });
  });

  it('stay those of the first request when the episode is given another plan later', async () => {
    const root = await makeShow();
    await writeFile(join(root, 'one.json'), plan('one'));
    await writeFile(join(root, 'two.json'), plan('two'));
    await allocate(root, { key: 'a', plan: 'one.json', now: FRIDAY });
    const given = await runLine(root, ['plan', '2026-W32-0', '--file', 'two.json'], { now: FRIDAY });
    expect(given.code, given.stderr).toBe(0);
    expect((await allocate(root, { key: 'a', plan: 'one.json', now: FRIDAY })).verdict).toBe('replay');
    expect((await refusal(root, { key: 'a', plan: 'two.json', now: FRIDAY })).code).toBe('KEY_INPUT_MISMATCH');
  });

  it('include the source: a typed "friday@…" is another key than the scheduled one', async () => {
    const schedules = { friday: { cron: '0 9 * * 5' } };
    const root = await makeShow({ config: { schedules } });
    const now = '2026-08-07T09:00:01Z';
    expect((await allocate(root, { schedule: 'friday', now })).episode_id).toBe('2026-W32-0');
    const typed = await allocate(root, { key: 'friday@2026-08-07T09:00Z', now });
    expect(typed).toMatchObject({ verdict: 'proceed', episode_id: '2026-W32-1' });
    expect((await allocate(root, { schedule: 'friday', now })).episode_id).toBe('2026-W32-0');
    expect((await allocate(root, { key: 'friday@2026-08-07T09:00Z', now })).episode_id).toBe('2026-W32-1');
  });

  it('are recorded in a form that the next command can read, however they were written', async () => {
    const root = await makeShow();
    const asked = { key: 'a', issuedAt: '2026-08-07T09:00+09:00', slot: '2026-08-07T09:00+09:00', now: FRIDAY };
    await allocate(root, asked);
    const { code, json } = await runLine(root, ['why', '2026-W32-0', '--json']);
    expect(code).toBe(0);
    expect(json.allocation).toMatchObject({ issued_at: '2026-08-07T00:00:00Z', slot: '2026-08-07T00:00:00Z' });
  });
});

it('the name of the show is frozen in its ledger: renaming it in pipeline.json changes no key', async () => {
  const root = await makeShow();
  await allocate(root, { key: 'a', now: FRIDAY });
  await writePipeline(root, { show: 'another name' });
  expect(await allocate(root, { key: 'a', now: FRIDAY })).toMatchObject({
    verdict: 'replay',
    episode_id: '2026-W32-0',
  });
  const { code } = await runLine(root, ['why', '--key', 'a']);
  expect(code).toBe(0);
});

it('a plan that is not there, or is none, makes no episode', async () => {
  const root = await makeShow();
  await writeFile(join(root, 'bad.json'), '{"format":1,"steps":[{"id":"a","provider":"local","kind":"film"}]}');
  expect(await refusal(root, { key: 'a', plan: 'none.json', now: FRIDAY })).toMatchObject({
    code: 'FILE_NOT_FOUND',
    exit: 66,
    message: 'there is no file none.json (no such file or directory)',
  });
  expect((await refusal(root, { key: 'a', plan: '.', now: FRIDAY })).code).toBe('PLAN_INVALID');
  expect(await refusal(root, { key: 'a', plan: 'bad.json', now: FRIDAY })).toMatchObject({
    code: 'PLAN_INVALID',
    exit: 64,
  });
  await rm(join(root, 'bad.json'));
  expect((await allocate(root, { key: 'a', now: FRIDAY })).verdict).toBe('proceed');
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  );
}
