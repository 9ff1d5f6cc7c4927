import { beforeEach, describe, expect, it } from 'vitest';
import type { Episode } from '../../src/model/episode.ts';
import type { Week } from '../../src/model/ledger.ts';
import { withDerived } from '../../src/model/status.ts';
import { ref, type Store, type View } from '../../src/store/store.ts';

/** A place for one ledger; `open` is what another process would do. */
export interface Place {
  open(): Store;
  /** All that is stored, as something that can be compared. */
  contents(): unknown;
}

const WEEK = '2026-W32';
const KEY = 'a'.repeat(64);
const week = (highest: number): Week => ({
  format: 1,
  revision: 1,
  week_id: WEEK,
  highest,
  episodes: Object.fromEntries(Array.from({ length: highest + 1 }, (_, sequence) => [`${WEEK}-${sequence}`, KEY])),
});
const index = ref('week', WEEK);
const first = ref('episode', `${WEEK}-0`);

function episode(sequence: number, further: object = {}): Episode {
  return withDerived({
    format: 1,
    revision: 1,
    episode_id: `${WEEK}-${sequence}`,
    week_id: WEEK,
    sequence,
    allocation_key: `key ${sequence}`,
    allocation: {
      source: 'typed',
      schedule: null,
      slot: null,
      time_zone: 'UTC',
      plan_sha256: null,
      inputs_sha256: KEY,
      issued_at: null,
      key_is_stable: null,
      allocated_at: '2026-08-07T00:00:00Z',
      allocated_by: 'mika',
    },
    again_of: null,
    plan: null,
    plan_sha256: null,
    status: 'allocated',
    steps: [],
    costs: [],
    artifacts: [],
    approvals: [],
    publications: [],
    migration: null,
    completed_at: null,
    closed: null,
    events: [],
    ...further,
  });
}

/** What every store of a show keeps to, whatever it is made of. `make` gives an empty ledger. */
export function testStore(name: string, make: () => Promise<Place>): void {
  describe(name, () => {
    let place: Place;
    let store: Store;
    beforeEach(async () => {
      place = await make();
      store = place.open();
    });
    const highest = (from: Store) => from.view(async (view) => (await view.get(index))?.highest);

    describe('a transaction', () => {
      it('makes all that it wrote readable to everybody, and gives the answer of decide', async () => {
        const answer = await store.transact(async (transaction) => {
          await transaction.create(index, week(0));
          await transaction.create(first, episode(0));
          return 'done';
        });
        expect(answer).toBe('done');
        const [stored, indexed] = await place
          .open()
          .view(async (view) => [await view.get(first), await view.get(index)]);
        expect(stored).toEqual(episode(0));
        expect(indexed).toEqual(week(0));
      });

      it('reads its own writes, and nobody else does before it ends', async () => {
        await store.transact(async (transaction) => {
          await transaction.create(index, week(0));
          await transaction.create(first, episode(0));
          expect(await transaction.get(index)).toEqual(week(0));
          expect(await transaction.list('week')).toEqual([WEEK]);
          expect(await transaction.list('episode', WEEK)).toEqual([first.id]);
          transaction.put(index, week(1));
          expect(await transaction.get(index)).toEqual(week(1));
          expect(await highest(place.open())).toBeUndefined();
          expect(await place.open().view((view) => view.list('episode', WEEK))).toEqual([]);
        });
        expect(await highest(store)).toBe(1);
      });

      it('that throws changes nothing, whatever it had written before', async () => {
        const before = place.contents();
        const fault = new Error('the caller changed its mind');
        const broken = store.transact(async (transaction) => {
          await transaction.create(index, week(0));
          throw fault;
        });
        await expect(broken).rejects.toBe(fault);
        expect(place.contents()).toEqual(before);
        expect(await highest(store)).toBeUndefined();
      });

      it('that writes nothing leaves every byte and the number of the newest transaction as they are', async () => {
        await store.transact(async (transaction) => transaction.create(index, week(0)));
        const before = place.contents();
        const head = await store.transact(async (transaction) => transaction.head);
        expect(place.contents()).toEqual(before);
        expect(await store.view(async (view) => view.head)).toBe(head);
      });

      it('creates no document twice', async () => {
        await store.transact(async (transaction) => transaction.create(index, week(0)));
        const again = store.transact(async (transaction) => transaction.create(index, week(1)));
        await expect(again).rejects.toThrow('already recorded');
        const twice = store.transact(async (transaction) => {
          await transaction.create(first, episode(0));
          await transaction.create(first, episode(0));
        });
        await expect(twice).rejects.toThrow('already recorded');
        expect(await highest(store)).toBe(0);
        expect(await store.view((view) => view.get(first))).toBeUndefined();
      });

      it('removes a document, from lists too', async () => {
        await store.transact(async (transaction) => {
          await transaction.create(first, episode(0));
          await transaction.create(ref('episode', `${WEEK}-1`), episode(1));
        });
        await store.transact(async (transaction) => {
          transaction.remove(first);
          expect(await transaction.get(first)).toBeUndefined();
          expect(await transaction.list('episode', WEEK)).toEqual([`${WEEK}-1`]);
        });
        for (const seen of [place.open(), store]) {
          expect(await seen.view((view) => view.get(first))).toBeUndefined();
          expect(await seen.view((view) => view.list('episode', WEEK))).toEqual([`${WEEK}-1`]);
        }
      });

      it('runs alone: 40 of two processes, all begun at once, count to 40', async () => {
        await store.transact(async (transaction) => transaction.create(index, week(0)));
        const other = place.open();
        const count = (from: Store) =>
          from.transact(async (transaction) =>
            transaction.put(index, week((await transaction.get(index))!.highest + 1)),
          );
        await Promise.all(Array.from({ length: 40 }, (_, turn) => count(turn % 2 ? store : other)));
        expect(await highest(store)).toBe(40);
      });

      it('after one that failed goes on', async () => {
        const failing = store.transact(async () => Promise.reject(new Error('no')));
        const next = store.transact(async (transaction) => transaction.create(index, week(0)));
        await expect(failing).rejects.toThrow('no');
        await next;
        expect(await highest(store)).toBe(0);
      });

      it('has a number one above the one before, and its time', async () => {
        const look = (from: Store) => from.view(async ({ head, headAt }: View) => ({ head, headAt }));
        const before = await look(store);
        await store.transact(async (transaction) => transaction.create(index, week(0)));
        const after = await look(store);
        expect(after.head).toBe(before.head + 1);
        expect(after.headAt).toBeGreaterThanOrEqual(before.headAt);
      });
    });

    describe('a document', () => {
      it('keeps fields that this program does not know', async () => {
        const newer = episode(0, { from_the_future: { note: 'keep me' }, costs: [] });
        await store.transact(async (transaction) => transaction.create(first, newer));
        await store.transact(async (transaction) =>
          transaction.put(first, { ...(await transaction.get(first))!, revision: 2 }),
        );
        expect(await store.view((view) => view.get(first))).toEqual({ ...newer, revision: 2 });
      });

      it('that is not there is undefined, and a list of nothing is empty', async () => {
        const found = await store.view(async (view) => [
          await view.get(first),
          await view.get(index),
          await view.list('week'),
          await view.list('history'),
          await view.list('key'),
          await view.list('episode', WEEK),
        ]);
        expect(found).toEqual([undefined, undefined, [], [], [], []]);
      });

      it('is handed out as a copy: changing it changes no record', async () => {
        await store.transact(async (transaction) => transaction.create(index, week(0)));
        await store.view(async (view) => {
          (await view.get(index))!.highest = 99;
          expect((await view.get(index))!.highest).toBe(0);
        });
      });
    });

    it('shows one instant: what a writer changes during a view is seen whole or not at all', async () => {
      await store.transact(async (transaction) => {
        await transaction.create(index, week(0));
        await transaction.create(first, episode(0));
      });
      const writer = place.open();
      let rounds = 0;
      const seen = await store.view(async (view) => {
        const before = (await view.get(index))!.highest;
        rounds += 1;
        if (rounds === 1) {
          await writer.transact(async (transaction) => {
            transaction.put(index, week(1));
            await transaction.create(ref('episode', `${WEEK}-1`), episode(1));
          });
        }
        return [before, (await view.list('episode', WEEK)).length];
      });
      expect(seen).toEqual([1, 2]);
      expect(rounds).toBe(2);
    });

    it('browses without starting again: a long list is not kept from its end by a busy writer', async () => {
      await store.transact(async (transaction) => transaction.create(index, week(0)));
      const writer = place.open();
      let rounds = 0;
      await store.browse(async (view) => {
        rounds += 1;
        expect((await view.get(index))!.highest).toBe(0);
        await writer.transact(async (transaction) => transaction.put(index, week(1)));
      });
      expect(rounds).toBe(1);
    });

    it('decides again when its transaction lost the race, on the newest state, and with one effect', async () => {
      await store.transact(async (transaction) => transaction.create(index, week(0)));
      // Shows what it decided upon; how often is the store's business.
      const bases: number[] = [];
      const add = (from: Store) =>
        from.transact(async (transaction) => {
          const base = (await transaction.get(index))!.highest;
          bases.push(base);
          transaction.put(index, week(base + 1));
          return base + 1;
        });
      const results = await Promise.all([add(store), add(place.open()), add(place.open())]);
      expect(results.sort()).toEqual([1, 2, 3]);
      expect(await highest(store)).toBe(3);
      expect(new Set(bases)).toEqual(new Set([0, 1, 2]));
    });

    it('finds no damage in what it wrote', async () => {
      await store.transact(async (transaction) => transaction.create(index, week(0)));
      expect(await store.inspect()).toEqual([]);
      expect(await store.salvage(async (view, damage) => [(await view.get(index))?.highest, damage])).toEqual([
        0,
        null,
      ]);
    });
  });
}
