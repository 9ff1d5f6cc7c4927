import { beforeAll, describe, expect, it } from 'vitest';
import type { Disk, Port } from '../../src/port.ts';
import { buildLedger, type LedgerBuild } from './build.ts';
import { expectFaultsFired, explore } from './explore.ts';
import { Tally } from './faults.ts';
import { initialise, liveThrough, ROOT, requestFor } from './ledger.ts';
import { keep } from './planted.ts';
import { filesBelow } from './walk.ts';
import { STORM, THIEVES } from './weather.ts';
import { World } from './world.ts';

const HISTORIES = Number(process.env.EPISODE_HISTORIES ?? 100);
const WEEK = '2026-W32';

let ledger: LedgerBuild;
beforeAll(async () => {
  ledger = await buildLedger();
});

const allocate = (port: Port, key: string) =>
  ledger.allocate({ store: ledger.createFileStore(port, ROOT), port, root: ROOT }, requestFor(key, WEEK));

/** A show with these keys, made in calm weather. */
async function createShow(keys: string[]): Promise<World> {
  const world = new World(1, new Tally(), () => ledger.lockBusy(null, 30_000));
  world.disk.mkdir(ROOT);
  await world.run([
    async (port) => {
      await initialise(ledger, port);
      for (const key of keys) await allocate(port, key);
    },
  ]);
  return world;
}

describe('the ledger keeps its promises', () => {
  it.each([
    ['in a storm of everything', STORM, [keep(2)]],
    ['among thieves', THIEVES, [keep(2)]],
    ['in a storm, as shipped', STORM, []],
  ])('%s', async (_, weather, patches) => {
    const built = await buildLedger(patches);
    const lockBusy = () => built.lockBusy(null, 30_000);
    const tally = await explore({ histories: HISTORIES, lockBusy }, (world) => liveThrough(world, built, weather));
    expectFaultsFired(tally, weather);
  });
});

it('an init that is cut off anywhere leaves a show that works, or one that init makes', async () => {
  const weather = { span: 80, powerLoss: 2, kill: 2, error: 1 };
  const lockBusy = () => ledger.lockBusy(null, 30_000);
  const init = (port: Port) => initialise(ledger, port);
  const tally = await explore({ histories: 4 * HISTORIES, lockBusy }, async (world) => {
    world.disk.mkdir(ROOT);
    world.disk.fsync(world.disk.open('/', 'read'));
    await world.run([init, init], weather);
    world.losePower();
    await world.run([init]);
    await world.run([async (port) => void (await allocate(port, 'first'))]);
  });
  expectFaultsFired(tally, weather);
});

describe('a damaged ledger', () => {
  const keys = ['first', 'second', 'third'];
  const damages: [name: string, damage: (text: string) => string | null][] = [
    ['missing', () => null],
    ['empty', () => ''],
    ['cut in half', (text) => text.slice(0, text.length / 2)],
    ['full of NUL', (text) => '\0'.repeat(text.length)],
  ];

  it.each(damages)(
    'with a file that is %s gives the old answers or stops, and never writes the file over',
    async (_, damage) => {
      const intact = filesBelow((await createShow(keys)).disk, ROOT);
      let stopped = 0;
      for (const [path, text] of intact) {
        const world = await createShow(keys);
        const { disk } = world;
        disk.unlink(path);
        const damaged = damage(text);
        if (damaged !== null) disk.write(disk.open(path, 'create'), Buffer.from(damaged));
        await world.run([
          async (port) => {
            for (const [sequence, key] of [...keys, 'fourth'].entries()) {
              const answer = await allocate(port, key).then(
                ({ episode_id }) => episode_id,
                (error) => error.exit,
              );
              expect([`${WEEK}-${sequence}`, 65], `${key} with ${path} damaged`).toContain(answer);
              if (answer === 65) stopped++;
            }
          },
        ]);
        const left = new Map(filesBelow(disk, ROOT)).get(path) ?? null;
        expect(left, path).toBe(damaged);
      }
      expect(stopped).toBeGreaterThan(0);
    },
  );
});

/**
 * A power loss between the two fsyncs of a rename can leave both names (PROOF: "or both, never neither"), and POSIX
 * renames one link of a file over the other by doing nothing. A late owner must not find the staged one and put
 * the old content in the place of newer.
 */
it('a staged file that a power loss left beside its target is never put in place again', async () => {
  const world = await createShow(['first']);
  const head = JSON.parse(world.disk.readFile(`${ROOT}/state/commits/000000001.json`).toString());
  for (const { target, staged } of head.changes)
    world.disk.link(`${ROOT}/${target}`, `${ROOT}/state/staging/${staged}`);

  let lateIsAtRename = false;
  let lateIsOver = false;
  let newerIsApplied = false;
  const until = async ({ sleep }: Port, isTrue: () => boolean) => {
    while (!isTrue()) await sleep(1);
  };
  const hold = (port: Port, call: 'rename' | 'unlink', before: () => Promise<void>): Port => {
    const perform = port.disk[call] as (...paths: string[]) => Promise<void>;
    const held = async (...paths: string[]) => {
      await before();
      await perform(...paths);
    };
    return {
      ...port,
      disk: { ...port.disk, [call]: held } as Disk,
      lock: async () => ({ lost: new AbortController().signal, release() {} }),
    };
  };

  const late = async (port: Port) => {
    const slow = hold(port, 'rename', async () => {
      lateIsAtRename = true;
      await until(port, () => newerIsApplied);
    });
    await allocate(slow, 'late').finally(() => {
      lateIsOver = true;
    });
  };
  const newer = async (port: Port) => {
    await until(port, () => lateIsAtRename);
    const slow = hold(port, 'unlink', async () => {
      if (!world.disk.lstat(`${ROOT}/state/commits/000000002.json`)) return;
      newerIsApplied = true;
      await until(port, () => lateIsOver);
    });
    await allocate(slow, 'newer');
  };
  await world.run([late, newer]);
});
