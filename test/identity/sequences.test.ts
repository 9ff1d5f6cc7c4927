import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { episode, makeShow } from '../rig.ts';
import { allocate } from './desk.ts';

const FRIDAY = '2026-08-07T00:00:00Z';

it('sequences rise within a week and reset in the next', async () => {
  const root = await makeShow();
  const ids: string[] = [];
  for (const [key, now] of [
    ['a', FRIDAY],
    ['b', FRIDAY],
    ['c', '2026-08-09T23:59:59Z'],
    ['d', '2026-08-10T00:00:00Z'],
    ['e', '2026-08-14T00:00:00Z'],
    ['f', '2026-08-17T00:00:00Z'],
  ] as const) {
    ids.push((await allocate(root, { key, now })).episode_id);
  }
  expect(ids).toEqual(['2026-W32-0', '2026-W32-1', '2026-W32-2', '2026-W33-0', '2026-W33-1', '2026-W34-0']);
});

it('sequences are numbers: the twelfth of a week is -11, and lists know that it comes after -9', async () => {
  const root = await makeShow();
  const made: string[] = [];
  for (let n = 0; n < 12; n += 1) made.push((await allocate(root, { key: `release ${n}`, now: FRIDAY })).episode_id);
  expect(made.at(-1)).toBe('2026-W32-11');
  const { json } = await episode(root, ['list', '--json'], { now: FRIDAY });
  const listed = (json.episodes as { episode_id: string }[]).map(({ episode_id }) => episode_id);
  expect(listed).toEqual([...made].sort((a, b) => listed.indexOf(a) - listed.indexOf(b)));
  expect([made, [...made].reverse()]).toContainEqual(listed);
});

it('concurrent allocation is serialised: each key its own consecutive ID, one key one ID', async () => {
  const root = await makeShow();
  const run = (key: string) => episode(root, ['allocate', '--key', key, '--json'], { now: FRIDAY });
  const different = Array.from({ length: 8 }, (_, n) => run(`release ${n}`));
  const same = Array.from({ length: 4 }, () => run('release same'));
  const answers = (await Promise.all([...different, ...same])).map(({ json }) => json);
  expect(answers.map(({ error }) => error)).toEqual(answers.map(() => undefined));
  const sameIds = answers.slice(8).map(({ episode_id }) => episode_id);
  expect(new Set(sameIds).size).toBe(1);
  expect(answers.slice(8).filter(({ verdict }) => verdict === 'proceed')).toHaveLength(1);
  const all = new Set(answers.map(({ episode_id }) => episode_id));
  expect([...all].sort()).toEqual(Array.from({ length: 9 }, (_, n) => `2026-W32-${n}`));
});

it('several completed episodes coexist in one weekly group, each with its own record', async () => {
  const root = await makeShow();
  const params = { width: 64, height: 48 };
  const plan = { format: 1, steps: [{ id: 'cover', provider: 'local', kind: 'image', role: 'cover', params }] };
  await writeFile(join(root, 'plan.json'), JSON.stringify(plan));
  for (const key of ['a', 'b']) {
    const { episode_id } = await allocate(root, { key, plan: 'plan.json', now: FRIDAY });
    const done = await episode(root, ['generate', episode_id, '--json'], { now: FRIDAY });
    expect([done.code, done.json.status], done.stderr).toEqual([0, 'complete']);
  }
  const group = JSON.parse(readFileSync(join(root, 'history/2026-W32.json'), 'utf8'));
  expect(group.episodes).toMatchObject([
    { episode_id: '2026-W32-0', sequence: 0, allocation_key: 'a', completed_at: '2026-08-07T00:00:00.000Z' },
    { episode_id: '2026-W32-1', sequence: 1, allocation_key: 'b', completed_at: '2026-08-07T00:00:00.000Z' },
  ]);
});
