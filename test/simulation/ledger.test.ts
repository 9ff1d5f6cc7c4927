import { expect, it } from 'vitest';
import { buildLedger } from './build.ts';
import { explore, expectFaultsFired } from './explore.ts';
import { liveThrough } from './ledger.ts';
import { STORM, THIEVES } from './weather.ts';

it.each([
  ['a storm of everything', STORM],
  ['thieves', THIEVES],
])('the ledger keeps its promises in %s', async (_, weather) => {
  const ledger = await buildLedger([{ file: 'store/file/commit.ts', find: '    await syncDirectory(disk, root);\n    staged =', replace: '    await syncDirectory(disk, root);\n    await syncDirectory(disk, `${root}/state`);\n    staged =' }]);
  const lockBusy = () => ledger.lockBusy(null, 30_000);
  const t = performance.now();
  const tally = await explore({ histories: 150, lockBusy }, (world) => liveThrough(world, ledger, weather));
  console.log([...(globalThis as any).raw ?? []].map(String).join('\n'));
  expectFaultsFired(tally, weather);
  console.log(JSON.stringify(tally), 'hist/s', tally.histories/(performance.now()-t)*1000,'ops/s', tally.operations/(performance.now()-t)*1000)
});
