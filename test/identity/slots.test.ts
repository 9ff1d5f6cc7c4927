import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { EpisodeError } from '../../src/errors.ts';
import { currentSlot, type NamedSchedule, slotAtInstant, slotOnDate } from '../../src/schedulers/slot.ts';
import { episode, makeShow, writePipeline } from '../rig.ts';
import { allocate, refusal } from './desk.ts';

const friday = (zone: string, cron = '0 9 * * 5'): NamedSchedule => ({
  name: 'friday',
  schedule: { cron, granularity: 'slot' },
  zone,
});
const at = (time: string): number => Date.parse(time);
const hourly = (zone: string) => friday(zone, '0 * * * *');

const machineZone = process.env.TZ;
afterEach(() => {
  process.env.TZ = machineZone;
});

describe('the slot of a run is the last one that has come, or comes within the grace', () => {
  it.each([
    ['on time', '2026-08-07T00:00:01Z', 'friday@2026-08-07T00:00Z'],
    ['hours late', '2026-08-07T13:00:00Z', 'friday@2026-08-07T00:00Z'],
    ['nearly a week late', '2026-08-13T23:54:59Z', 'friday@2026-08-07T00:00Z'],
    ['early by five minutes', '2026-08-06T23:55:00Z', 'friday@2026-08-07T00:00Z'],
    ['earlier than that', '2026-08-06T23:54:59.999Z', 'friday@2026-07-31T00:00Z'],
  ])('%s', (_, now, key) => {
    expect(currentSlot(friday('Asia/Tokyo'), at(now))?.key).toBe(key);
  });

  it('with a grace of a quarter of a short period: a minutely run is early by 15 s at most', () => {
    const minutely = friday('UTC', '* * * * *');
    expect(currentSlot(minutely, at('2026-08-07T08:59:45Z'))?.slot).toBe('2026-08-07T09:00:00Z');
    expect(currentSlot(minutely, at('2026-08-07T08:59:44Z'))?.slot).toBe('2026-08-07T08:59:00Z');
  });

  it("in the schedule's week, which may be another one than in UTC", () => {
    expect(currentSlot(friday('Asia/Tokyo', '30 8 * * 1'), at('2026-11-29T23:30:01Z'))).toMatchObject({
      slot: '2026-11-29T23:30:00Z',
      week: '2026-W49',
    });
  });
});

describe("a night with two two-o'clocks or none, in New York", () => {
  const zone = 'America/New_York';

  it('a job of 02:30 that does not exist runs once, at 03:00', () => {
    const job = friday(zone, '30 2 * * *');
    expect(currentSlot(job, at('2026-03-08T07:00:01Z'))?.slot).toBe('2026-03-08T07:00:00Z');
    expect(currentSlot(job, at('2026-03-09T06:29:00Z'))?.slot).toBe('2026-03-09T06:30:00Z');
    expect(slotOnDate(job, '2026-03-08').slot).toBe('2026-03-08T07:00:00Z');
  });

  it('a job of 01:30 that comes twice has one slot, the first', () => {
    const job = friday(zone, '30 1 * * *');
    for (const now of ['2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z', '2026-11-02T06:24:59Z']) {
      expect(currentSlot(job, at(now))?.slot, now).toBe('2026-11-01T05:30:00Z');
    }
    expect(slotOnDate(job, '2026-11-01').slot).toBe('2026-11-01T05:30:00Z');
  });

  it('a list of hours is no wildcard: 01:15 and 01:45 run once each', () => {
    const job = friday(zone, '15,45 1 * * *');
    expect(currentSlot(job, at('2026-11-01T06:50:00Z'))?.slot).toBe('2026-11-01T05:45:00Z');
  });

  it('an hourly job runs in both hours', () => {
    expect(currentSlot(hourly(zone), at('2026-11-01T05:10:00Z'))?.slot).toBe('2026-11-01T05:00:00Z');
    expect(currentSlot(hourly(zone), at('2026-11-01T06:10:00Z'))?.slot).toBe('2026-11-01T06:00:00Z');
  });

  it('a day without a midnight has its slots all the same', () => {
    // Summer time began at 00:00 in Beirut on 29 March 2026.
    expect(slotOnDate(friday('Asia/Beirut', '30 0 * * *'), '2026-03-29').slot).toBe('2026-03-28T22:00:00Z');
  });
});

describe('a slot given by hand', () => {
  it.each(['Asia/Tokyo', 'America/New_York', 'Pacific/Kiritimati', 'Pacific/Pago_Pago'])(
    'by its date, on a machine in %s',
    (machine) => {
      process.env.TZ = machine;
      expect(slotOnDate(friday('Asia/Tokyo'), '2026-08-07').slot).toBe('2026-08-07T00:00:00Z');
      expect(slotOnDate(friday('Pacific/Kiritimati'), '2026-08-07').slot).toBe('2026-08-06T19:00:00Z');
      expect(slotOnDate(friday('Pacific/Pago_Pago', '59 23 * * 5'), '2026-08-07').slot).toBe('2026-08-08T10:59:00Z');
    },
  );

  it('by its instant, in whatever offset', () => {
    const expected = { key: 'friday@2026-08-07T00:00Z', week: '2026-W32' };
    expect(slotAtInstant(friday('Asia/Tokyo'), at('2026-08-07T09:00:00+09:00'), '')).toMatchObject(expected);
    expect(slotAtInstant(friday('Asia/Tokyo'), at('2026-08-06T19:00:00-05:00'), '')).toMatchObject(expected);
  });

  it('that the schedule does not have names the nearest ones', () => {
    const refused = (run: () => unknown) => {
      try {
        run();
      } catch (error) {
        const { code, message, hints } = error as EpisodeError;
        return [code, message, ...hints];
      }
    };
    expect(refused(() => slotOnDate(friday('Asia/Tokyo'), '2026-08-08'))).toEqual([
      'SLOT_UNKNOWN',
      'schedule friday has no slot at 2026-08-08',
      'the nearest: 2026-08-07T00:00:00Z and 2026-08-14T00:00:00Z',
    ]);
    const nearly = '2026-08-07T09:00:01+09:00';
    expect(refused(() => slotAtInstant(friday('Asia/Tokyo'), at(nearly), nearly))).toEqual([
      'SLOT_UNKNOWN',
      'schedule friday has no slot at 2026-08-07T09:00:01+09:00',
      'the nearest: 2026-08-07T00:00:00Z and 2026-08-14T00:00:00Z',
    ]);
    expect(refused(() => slotOnDate(friday('UTC', '0 9 30 2 *'), '2026-08-08'))?.at(-1)).toBe(
      'its expression names no time at all',
    );
    expect(refused(() => slotOnDate(friday('UTC', '0 9,18 * * *'), '2026-08-08'))).toEqual([
      'SLOT_UNKNOWN',
      'schedule friday has 2 slots on 2026-08-08',
      'say which: --slot 2026-08-08T09:00:00Z, …, --slot 2026-08-08T18:00:00Z',
    ]);
  });

  it('by a date with several slots is one release when the granularity says so', () => {
    const daily = { ...friday('UTC', '0 9,18 * * *'), schedule: { cron: '0 9,18 * * *', granularity: 'day' as const } };
    expect(slotOnDate(daily, '2026-08-08').key).toBe('friday@2026-08-08');
  });
});

it.each([
  ['slot', 'friday@2026-12-31T23:30Z'],
  ['day', 'friday@2027-01-01'],
  ['iso-week', 'friday@2026-W53'],
  ['month', 'friday@2027-01'],
] as const)("granularity %s makes the key %s, in the schedule's zone", (granularity, key) => {
  const schedule = { name: 'friday', schedule: { cron: '30 8 * * 5', granularity }, zone: 'Asia/Tokyo' };
  expect(currentSlot(schedule, at('2027-01-01T00:00:00Z'))?.key).toBe(key);
});

it.each(['@reboot', 'H 9 * * 5', '0 9 * * 8', '61 9 * * 5', '@every 5m'])(
  '"%s" is no schedule with instants',
  (cron) => {
    expect(() => currentSlot(friday('UTC', cron), at('2026-08-07T00:00:00Z'))).toThrow(
      `schedules.friday.cron in pipeline.json: "${cron}" is no schedule with instants`,
    );
  },
);

describe('allocate --schedule', () => {
  const schedules = { friday: { cron: '0 9 * * 5', time_zone: 'Asia/Tokyo' } };

  it('gives one slot one episode, however often and from whatever zone it is started', async () => {
    const root = await makeShow({ config: { schedules } });
    const run = (tz: string, now: string) => episode(root, ['allocate', '--schedule', 'friday', '--json'], { tz, now });
    const first = await run('UTC', '2026-08-06T23:58:00Z');
    expect(first.json).toMatchObject({ verdict: 'proceed', allocation_key: 'friday@2026-08-07T00:00Z' });
    expect(first.stderr).toBe('allocated early, for the slot 2026-08-07T00:00:00Z\n');
    const later = await Promise.all([
      run('America/New_York', '2026-08-07T00:04:00Z'),
      run('Asia/Tokyo', '2026-08-10T00:00:00Z'),
    ]);
    for (const { json } of later) expect(json).toMatchObject({ verdict: 'replay', episode_id: '2026-W32-0' });
    expect((await allocate(root, { schedule: 'friday', now: '2026-08-14T00:00:01Z' })).episode_id).toBe('2026-W33-0');
  });

  it('freezes the plan of the schedule when the episode is made: what the file says later is not compared', async () => {
    const step = (id: string) => JSON.stringify({ format: 1, steps: [{ id, provider: 'local', kind: 'image' }] });
    const root = await makeShow({ config: { schedules: { friday: { ...schedules.friday, plan: 'friday.json' } } } });
    const now = '2026-08-07T00:00:01Z';
    expect(await refusal(root, { schedule: 'friday', now })).toMatchObject({ code: 'FILE_NOT_FOUND' });
    await writeFile(join(root, 'friday.json'), step('one'));
    await allocate(root, { schedule: 'friday', now });
    await writeFile(join(root, 'friday.json'), step('two'));
    expect((await allocate(root, { schedule: 'friday', now })).verdict).toBe('replay');
    await rm(join(root, 'friday.json'));
    expect((await allocate(root, { schedule: 'friday', now })).verdict).toBe('replay');
    const { json } = await episode(root, ['show', '2026-W32-0', '--json'], { now });
    expect(json.plan).toMatchObject({ steps: [{ id: 'one' }] });
  });

  it('with a slot in another week than the one asked for makes nothing', async () => {
    const root = await makeShow({ config: { schedules } });
    const now = '2026-08-07T00:00:01Z';
    expect(await refusal(root, { schedule: 'friday', week: '2026-W33', now })).toMatchObject({
      code: 'USAGE',
      message: '--week 2026-W33 contradicts the slot of now, which lies in 2026-W32',
    });
    await allocate(root, { schedule: 'friday', now });
    expect((await refusal(root, { schedule: 'friday', week: '2026-W33', now })).code).toBe('KEY_IN_OTHER_WEEK');
  });

  it('once a month means once: a later slot of the month gets the episode that is there', async () => {
    const root = await makeShow({ config: { schedules: { friday: { cron: '0 9 * * 5', granularity: 'month' } } } });
    expect((await allocate(root, { schedule: 'friday', now: '2026-08-07T09:00:01Z' })).episode_id).toBe('2026-W32-0');
    await writePipeline(root, { schedules: { friday: { cron: '0 9 * * 4', granularity: 'month' } } });
    expect(await allocate(root, { schedule: 'friday', now: '2026-08-13T09:00:01Z' })).toMatchObject({
      verdict: 'replay',
      episode_id: '2026-W32-0',
    });
  });

  it('of a name that is in no pipeline.json says which are', async () => {
    const root = await makeShow({ config: { schedules } });
    for (const schedule of ['monthly', '__proto__', 'constructor']) {
      expect(await refusal(root, { schedule, now: '2026-08-07T00:00:01Z' })).toMatchObject({
        code: 'CONFIGURATION',
        message: `pipeline.json has no schedule ${schedule}`,
        hints: ['there is friday'],
      });
    }
    expect((await refusal(root, { schedule: 'fridya', now: '2026-08-07T00:00:01Z' })).hints).toEqual([
      'episode allocate --schedule friday  # is that one meant?',
      'there is friday',
    ]);
  });
});
