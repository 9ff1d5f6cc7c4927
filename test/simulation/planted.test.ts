import { expect, it } from 'vitest';
import { buildLedger } from './build.ts';
import { explore, HistoryFailed } from './explore.ts';
import { liveThrough } from './ledger.ts';
import { keep, PLANTED_BUGS } from './planted.ts';
import { STORM, THIEVES } from './weather.ts';

/** The rarest of them took some hundred histories, which is minutes for all of them: `npm run torture` says how many. */
const HISTORIES = Number(process.env.EPISODE_HISTORIES ?? 0);

it.skipIf(HISTORIES === 0).each(Object.entries(PLANTED_BUGS))('the simulation finds that %s', async (_, patches) => {
  const ledger = await buildLedger([keep(2), ...patches]);
  const lockBusy = () => ledger.lockBusy(null, 30_000);
  const found = await explore({ histories: HISTORIES, lockBusy }, (world) =>
    liveThrough(world, ledger, world.random.pick([STORM, THIEVES])),
  ).catch((error) => error);
  expect(found).toBeInstanceOf(HistoryFailed);
});
