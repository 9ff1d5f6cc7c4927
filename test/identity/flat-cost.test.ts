import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { sha256 } from '../../src/fingerprint.ts';
import { makeShow } from '../rig.ts';
import { allocate } from './desk.ts';

const NOW = '2026-08-07T00:00:00Z';

/** Writes the records of `count` episodes, ten a week, as the program would have made them: copies of one that it made. */
async function showWith(count: number): Promise<string> {
  const root = await makeShow();
  await allocate(root, { key: 'model', week: '2000-W01', now: NOW });
  const model = readFileSync(join(root, 'state/2000-W01/2000-W01-0.json'), 'utf8');
  const week = JSON.parse(readFileSync(join(root, 'state/2000-W01/week.json'), 'utf8'));
  const hash = week.episodes['2000-W01-0'] as string;
  const key = readFileSync(join(root, `state/keys/${hash}.json`), 'utf8');
  for (let made = 1, index = 0; made < count; index += 1) {
    const weekId = `${2001 + Math.floor(index / 50)}-W${String((index % 50) + 1).padStart(2, '0')}`;
    mkdirSync(join(root, 'state', weekId), { mode: 0o700 });
    const episodes: Record<string, string> = {};
    for (let sequence = 0; sequence < 10 && made < count; sequence += 1, made += 1) {
      const id = `${weekId}-${sequence}`;
      episodes[id] = sha256(Buffer.from(id));
      const rename = (text: string) =>
        text
          .replaceAll('2000-W01-0', id)
          .replaceAll('2000-W01', weekId)
          .replace('"sequence": 0', `"sequence": ${sequence}`)
          .replaceAll('"model"', `"key of ${id}"`);
      writeFileSync(join(root, `state/${weekId}/${id}.json`), rename(model), { mode: 0o600 });
      writeFileSync(join(root, `state/keys/${episodes[id]}.json`), rename(key), { mode: 0o600 });
    }
    const highest = Object.keys(episodes).length - 1;
    writeFileSync(
      join(root, `state/${weekId}/week.json`),
      JSON.stringify({ ...week, week_id: weekId, highest, episodes }),
    );
  }
  return root;
}

const strace = spawnSync('strace', ['-c', 'true'], { encoding: 'utf8' });
const missing = strace.status === 0 ? null : (strace.error?.message ?? strace.stderr);

it.skipIf(missing !== null)(
  `allocating opens as many files with 5,000 episodes on record as with 10${missing === null ? '' : ` (not run: ${missing})`}`,
  async () => {
    const traced = async (count: number): Promise<{ opened: string[]; listed: number }> => {
      const root = await showWith(count);
      const trace = join(root, 'trace');
      const words = [inject('program'), '--root', root, 'allocate', '--key', 'new', '--now', NOW];
      execFileSync('strace', ['-f', '-e', 'trace=open,openat,getdents64', '-o', trace, process.execPath, ...words], {
        env: { PATH: process.env.PATH, EPISODE_TEST: '1', TZ: 'UTC' },
      });
      const calls = readFileSync(trace, 'utf8').split('\n');
      const listed = calls.map((line) => Number(/getdents64\(.*= (\d+)$/.exec(line)?.[1] ?? 0));
      return { opened: calls.filter((line) => line.includes(root)), listed: listed.reduce((a, b) => a + b, 0) };
    };
    const [few, many] = [await traced(10), await traced(5_000)];
    expect(few.opened.length).toBeGreaterThan(5);
    expect(few.opened.length).toBeLessThan(60);
    expect(many.opened.length, many.opened.join('\n')).toBe(few.opened.length);
    // Nor are there long listings behind the few opens.
    expect(many.listed).toBeLessThan(few.listed * 1.2);
  },
);
