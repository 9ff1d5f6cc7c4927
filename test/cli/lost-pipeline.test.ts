import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { episode, makeShow, type Ran, temporaryDirectory } from '../rig.ts';
import { picture } from '../store/damage.ts';

/** A show that lost its `pipeline.json` and nothing else: `init` is no way back to it. */

const NOW = '2026-08-07T00:00:00Z';

async function makeLost(): Promise<{ root: string; restore: () => void }> {
  const root = await makeShow();
  await episode(root, ['allocate', '--key', 'a'], { now: NOW });
  const bytes = readFileSync(join(root, 'pipeline.json'));
  rmSync(join(root, 'pipeline.json'));
  return { root, restore: () => writeFileSync(join(root, 'pipeline.json'), bytes) };
}

const said = (root: string, code: string) =>
  `episode: ${root} has a ledger in state/ and no pipeline.json [${code}]
  put the file back from a backup: cp -p BACKUP/pipeline.json ${root}/pipeline.json
  or write it anew, with the time zone in which weeks were counted: { "format": 1, "show": "NAME", "time_zone": "ZONE", "currency": "USD" }
`;

it('is told to put it back, by every command, from wherever it is named', async () => {
  const { root, restore } = await makeLost();
  mkdirSync(join(root, 'plans/deep'), { recursive: true });
  const before = picture(root);
  const elsewhere = await temporaryDirectory();
  const expectSaid = (ran: Ran) =>
    expect(ran).toMatchObject({ code: 78, stdout: '', stderr: said(root, 'NOT_A_SHOW') });
  expectSaid(await episode(root, ['allocate', '--key', 'a'], { now: NOW }));
  expectSaid(await episode(root, ['doctor'], { now: NOW }));
  expectSaid(await episode(root, ['list'], { now: NOW, cwd: join(root, 'plans/deep') }));
  expectSaid(await episode(root, ['list', '--root', root], { now: NOW, cwd: elsewhere }));
  expectSaid(await episode(root, ['list'], { now: NOW, cwd: elsewhere, env: { EPISODE_ROOT: root } }));
  expect(picture(root)).toEqual(before);
  restore();
  expect(await episode(root, ['allocate', '--key', 'a'], { now: NOW })).toMatchObject({
    code: 0,
    stdout: '2026-W32-0\n',
  });
});

it('gets neither a new pipeline.json nor a new ledger from init', async () => {
  const { root } = await makeLost();
  const before = picture(root);
  expect(await episode(root, ['init', '--time-zone', 'UTC'], { now: NOW })).toMatchObject({
    code: 73,
    stdout: '',
    stderr: said(root, 'ALREADY_INITIALISED'),
  });
  expect(picture(root)).toEqual(before);
});

it('works again with one that was written anew', async () => {
  const { root } = await makeLost();
  writeFileSync(join(root, 'pipeline.json'), '{ "format": 1, "show": "NAME", "time_zone": "UTC", "currency": "USD" }');
  expect(await episode(root, ['allocate', '--key', 'a'], { now: NOW })).toMatchObject({
    code: 0,
    stdout: '2026-W32-0\n',
  });
});

it('never hands its commands to a show around it', async () => {
  const { root } = await makeLost();
  const outer = await temporaryDirectory();
  writeFileSync(
    join(outer, 'pipeline.json'),
    '{ "format": 1, "show": "outer", "time_zone": "UTC", "currency": "USD" }',
  );
  const inner = join(outer, 'inner');
  mkdirSync(join(inner, 'state/commits'), { recursive: true });
  expect(await episode(root, ['list'], { now: NOW, cwd: inner })).toMatchObject({
    code: 78,
    stderr: said(inner, 'NOT_A_SHOW'),
  });
});
