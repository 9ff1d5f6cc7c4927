import { it } from 'vitest';
import { buildLedger } from './build.ts';
import { explore } from './explore.ts';
import { initialise, requestFor, ROOT } from './ledger.ts';
import type { Port } from '../../src/port.ts';
it('twins', async () => {
  const ledger = await buildLedger();
  await explore({ histories: 1, lockBusy: () => ledger.lockBusy(null, 3) }, async (world) => {
    const go = (port: Port, key: string) => ledger.allocate({ store: ledger.createFileStore(port, ROOT), port, root: ROOT }, requestFor(key, '2026-W32'));
    world.disk.mkdir(ROOT);
    await world.run([(p) => initialise(ledger, p)]);
    await world.run([async (p) => void await go(p, 'k1')]);
    const head = JSON.parse(world.disk.readFile(`${ROOT}/state/commits/000000001.json`).toString());
    for (const c of head.changes) world.disk.link(`${ROOT}/${c.target}`, `${ROOT}/state/staging/${c.staged}`);
    let cApplied = false, aDone = false, aWaits = false;
    const a = async (port: Port) => {
      const disk = { ...port.disk, rename: async (x: string, y: string) => { aWaits = true; while (!cApplied) await port.sleep(1); return port.disk.rename(x, y); } };
      const p = { ...port, disk, lock: async () => ({ lost: new AbortController().signal, release: async () => {} }) };
      try { console.log(await go(p, 'k2')); } catch (e) { console.log('A', String(e)); } finally { aDone = true; }
    };
    const c = async (port: Port) => {
      while (!aWaits) await port.sleep(1);
      const disk = { ...port.disk, unlink: async (x: string) => { cApplied = true; while (!aDone) await port.sleep(1); return port.disk.unlink(x); } };
      try { console.log(await go({ ...port, disk, }, 'k3')); } catch (e) { console.log('C', String(e)); }
    };
    await world.run([a, c]);
    await world.run([async (p) => { for (const k of ['k1', 'k2', 'k3']) try { console.log(k, (await go(p, k)).episode_id); } catch (e) { console.log(k, String(e)); } }]);
  });
});
