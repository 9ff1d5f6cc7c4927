import { expect, it } from 'vitest';
import { buildLedger } from './build.ts';
import { explore, HistoryFailed } from './explore.ts';
import { liveThrough } from './ledger.ts';
import { keep, PLANTED_BUGS } from './planted.ts';
import { STORM, THIEVES } from './weather.ts';

export const FIXES = [
  { file: 'store/file/commit.ts', find: '    await syncDirectory(disk, root);\n    staged =', replace: '    await syncDirectory(disk, root);\n    await syncDirectory(disk, `${root}/state`);\n    staged =' },
  { file: 'store/file/commit.ts', find: 'await disk.rename(`${root}/${staged}`, target);', replace: 'await disk.rename(`${root}/${staged}`, target); await unlinkIfThere(disk, `${root}/${staged}`);' },
];
const HISTORIES = Number(process.env.EPISODE_HISTORIES ?? 300);

it.each(Object.keys(PLANTED_BUGS))('is found: %s', async (name) => {
  const ledger = await buildLedger([...FIXES, keep(2), ...PLANTED_BUGS[name]!]);
  const lockBusy = () => ledger.lockBusy(null, 30_000);
  const found = await explore({ histories: HISTORIES, lockBusy }, (world) =>
    liveThrough(world, ledger, world.random.pick([STORM, THIEVES])),
  ).catch((error) => error);
  console.log('FOUND', name, found instanceof HistoryFailed ? found.history + String(found.cause) : 'NO');
  expect(found).toBeInstanceOf(HistoryFailed);
}, 600_000);
