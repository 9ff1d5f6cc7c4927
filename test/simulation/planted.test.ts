import { expect, it } from 'vitest';
import { buildLedger } from './build.ts';
import { explore, HistoryFailed } from './explore.ts';
import { liveThrough } from './ledger.ts';
import { keep, PLANTED_BUGS } from './planted.ts';
import { STORM, THIEVES } from './weather.ts';

/** Twice what the rarest of them took. */
const HISTORIES = Number(process.env.EPISODE_HISTORIES ?? 400);

it.each(Object.entries(PLANTED_BUGS))('the simulation finds that %s', async (_, patches) => {
  const ledger = await buildLedger([keep(2), ...patches]);
  const lockBusy = () => ledger.lockBusy(null, 30_000);
  const found = await explore({ histories: HISTORIES, lockBusy }, (world) =>
    liveThrough(world, ledger, world.random.pick([STORM, THIEVES])),
  ).catch((error) => error);
  expect(found).toBeInstanceOf(HistoryFailed);
});
