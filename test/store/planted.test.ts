import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { NOW, WEEK } from '../crash/faults.ts';
import { episode, temporaryDirectory } from '../rig.ts';
import { makeFullShow } from './damage.ts';

/** What somebody else put where the tool will write. */

let original: string;
beforeAll(async () => {
  original = await makeFullShow();
});

const CANARY = 'not to be touched\n';

/** A directory outside with what the tool would overwrite or tidy away if it were led there. */
async function outside(): Promise<string> {
  const directory = await temporaryDirectory();
  for (const name of ['canary', '1-0123456789abcdef.json', '000000000.json', `${WEEK}-3.json`, 'week.json']) {
    writeFileSync(join(directory, name), CANARY);
  }
  return directory;
}

const names = [
  'state/commits',
  'state/commits/000000008.json',
  'state/staging',
  'state/keys',
  `state/${WEEK}`,
  `state/${WEEK}/${WEEK}-3.json`,
  `state/${WEEK}/week.json`,
  'state/ledger.json',
  'state/lock',
  'state/lock.json',
  'state/lock.json.new',
  'history',
  'episodes',
];

it.each(names.flatMap((name) => [[name, 'a directory'] as const, [name, 'a file'] as const]))(
  'a link planted at %s leads to no change of %s outside',
  async (name, kind) => {
    const root = join(await temporaryDirectory(), 'show');
    await cp(original, root, { recursive: true });
    const target = await outside();
    rmSync(join(root, name), { recursive: true, force: true });
    symlinkSync(kind === 'a directory' ? target : join(target, 'canary'), join(root, name));

    const ran = await episode(root, ['allocate', '--key', 'new', '--week', WEEK], { now: NOW });
    expect([0, 65]).toContain(ran.code);
    expect(ran.stderr).not.toContain('BUG');
    if (ran.code === 65) expect(ran.stderr).toMatch(/\n {2}\S/);
    const found = readdirSync(target).map((file) => [file, readFileSync(join(target, file), 'utf8')]);
    expect(found).toHaveLength(5);
    for (const [, text] of found) expect(text).toBe(CANARY);
  },
);

it('a link planted where init writes is not followed', async () => {
  const root = await temporaryDirectory();
  const target = await outside();
  symlinkSync(join(target, 'canary'), join(root, 'pipeline.schema.json'));
  symlinkSync(target, join(root, 'state'));
  await episode(root, ['init', '--time-zone', 'UTC'], { now: NOW });
  expect(readdirSync(target)).toHaveLength(5);
  expect(readFileSync(join(target, 'canary'), 'utf8')).toBe(CANARY);
});
