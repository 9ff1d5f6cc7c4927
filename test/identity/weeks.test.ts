import { afterEach, describe, expect, it } from 'vitest';
import { weekAt } from '../../src/clock.ts';
import { faultOfWeek, isCalendarDate, isTimeZone, weekOfDate } from '../../src/model/week.ts';
import { weekOfInstant } from '../../src/model/zoned.ts';
import { episode, makeShow } from '../rig.ts';
import { allocate, refusal } from './desk.ts';

const ZONES = [
  'UTC',
  'Asia/Tokyo',
  'America/New_York',
  'Europe/Berlin',
  'Pacific/Kiritimati', // +14
  'Pacific/Pago_Pago', // -11
  'Asia/Kathmandu', // +5:45
  'Pacific/Chatham', // +12:45/+13:45
  'America/St_Johns', // -3:30/-2:30
  'Africa/Casablanca', // summer time but for Ramadan
];

/** Computed from nothing that the program uses: the platform's wall clock, and the Thursday rule of ISO 8601. */
function weekByHand(ms: number, zone: string): string {
  const [year, month, day] = wallDate(ms, zone);
  const date = new Date(Date.UTC(year, month - 1, day));
  const thursday = new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * 86_400_000);
  const firstOfYear = Date.UTC(thursday.getUTCFullYear(), 0, 1);
  const week = Math.floor((thursday.getTime() - firstOfYear) / 86_400_000 / 7) + 1;
  return `${thursday.getUTCFullYear()}-W${String(week).padStart(2, '0')}`;
}

const wallClocks = new Map<string, Intl.DateTimeFormat>();
function wallDate(ms: number, zone: string): [number, number, number] {
  const clock = wallClocks.get(zone) ?? new Intl.DateTimeFormat('en-US', { timeZone: zone, dateStyle: 'short' });
  wallClocks.set(zone, clock);
  const part = (type: string) => Number(clock.formatToParts(ms).find((one) => one.type === type)!.value);
  return [2000 + part('year'), part('month'), part('day')];
}

const QUARTER_MS = 15 * 60_000;

/** The first instant of a Monday in a zone, found by halving: no offset arithmetic to get wrong. */
function mondayBegins(utcMidnight: number, zone: string): number {
  const monday = new Date(utcMidnight).getUTCDate();
  let [before, after] = [-64, 64];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (wallDate(utcMidnight + middle * QUARTER_MS, zone)[2] === monday) after = middle;
    else before = middle;
  }
  return utcMidnight + after * QUARTER_MS;
}

const MONDAYS: number[] = [];
for (let at = Date.UTC(2019, 11, 23); at < Date.UTC(2033, 0, 20); at += 7 * 86_400_000) MONDAYS.push(at);

/** Every edge with the weeks on its two sides, by hand. */
const EDGES = new Map(
  ZONES.map((zone) => {
    const edges = MONDAYS.map((monday) => mondayBegins(monday, zone));
    return [zone, edges.map((edge) => ({ edge, old: weekByHand(edge - 1, zone), begun: weekByHand(edge, zone) }))];
  }),
);

const machineZone = process.env.TZ;
afterEach(() => {
  process.env.TZ = machineZone;
});

describe.each(['Asia/Tokyo', 'America/New_York'])('on a machine in %s', (machine) => {
  it.each(ZONES)('the week turns at the first instant of Monday in %s, from 2020 to 2032', async (zone) => {
    process.env.TZ = machine;
    expect(new Date(2026, 0, 1).getTimezoneOffset()).toBe(machine === 'Asia/Tokyo' ? -540 : 300);
    for (const { edge, old, begun } of EDGES.get(zone)!) {
      expect(old).not.toBe(begun);
      for (const week of [weekOfInstant, weekAt]) {
        expect([await week(edge - 1, zone), await week(edge, zone)]).toEqual([old, begun]);
      }
    }
  });

  it('a date has one week, whatever the zone', () => {
    process.env.TZ = machine;
    expect(weekOfDate('2026-12-28')).toBe('2026-W53');
    expect(weekOfDate('2027-01-03')).toBe('2026-W53');
    expect(weekOfDate('2027-01-04')).toBe('2027-W01');
    expect(weekOfDate('2024-12-30')).toBe('2025-W01');
    expect(weekOfDate('2026-08-09')).toBe('2026-W32');
  });
});

it('weeks that exist are those that hold a Thursday of their year, in every year that four digits can write', () => {
  for (let name = 1583; name <= 9999; name += 1) {
    const thursdays = countThursdays(name);
    expect(faultOfWeek(`${name}-W${thursdays}`)).toBeNull();
    expect(faultOfWeek(`${name}-W${thursdays + 1}`)).toBe(`${name} has the weeks ${name}-W01 to ${name}-W${thursdays}`);
  }
});

function countThursdays(year: number): number {
  const first = new Date(0);
  first.setUTCFullYear(year, 0, 1);
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const day = first.getUTCDay();
  return day === 4 || (leap && day === 3) ? 53 : 52;
}

it('only the canonical name of a week is one', () => {
  for (const week of [
    '2026-w32',
    '2026W32',
    '2026-32',
    '2026-W1',
    '2026-W032',
    ' 2026-W32',
    '2026-W32\n',
    '26-W32',
    '0026-W32',
    '0000-W01',
    '２０２６-W32',
    '2026-W32-0',
    '',
  ]) {
    expect(faultOfWeek(week), week).toBe('a week is written YYYY-Www, for example 2026-W32');
  }
  expect(faultOfWeek('2026-W00')).toBe('2026 has the weeks 2026-W01 to 2026-W53');
});

it('a date that the calendar does not have is none', () => {
  for (const date of [
    '2026-02-29',
    '2026-02-30',
    '2026-13-01',
    '2026-00-10',
    '2026-04-31',
    '2026-8-7',
    '2026-08-07Z',
    '',
  ]) {
    expect(isCalendarDate(date), date).toBe(false);
  }
  expect(isCalendarDate('2028-02-29')).toBe(true);
});

it('a zone that nobody knows, or a year that four digits cannot write, has no week at all', async () => {
  for (const week of [weekOfInstant, weekAt]) {
    await expect(async () => week(Date.UTC(2026, 7, 7), 'Mars/Olympus')).rejects.toThrow(RangeError);
    await expect(async () => week(Date.UTC(-1, 0, 1), 'UTC')).rejects.toThrow(RangeError);
  }
});

it('a zone is a name of the zone data, never an offset', () => {
  for (const zone of ['Asia/Tokyo', 'UTC', 'America/Argentina/Buenos_Aires', 'Etc/GMT+3'])
    expect(isTimeZone(zone), zone).toBe(true);
  for (const zone of ['+09:00', '-0300', 'Mars/Olympus', '', 'Asia/Tokyo/', '../etc', 'JST-9'])
    expect(isTimeZone(zone), zone).toBe(false);
});

describe('a new episode belongs to the week', () => {
  it("of now in the show's zone, over every edge of a year from 2020 to 2032", async () => {
    for (const timeZone of ['Asia/Tokyo', 'America/New_York']) {
      const root = await makeShow({ timeZone, madeAt: '2019-12-01T00:00:00Z' });
      for (let year = 2020; year <= 2032; year += 1) {
        const newYear = Date.UTC(year, 0, 1);
        const monday = MONDAYS.find((at) => at > newYear - 4 * 86_400_000)!;
        const edge = mondayBegins(monday, timeZone);
        for (const at of [edge - 1, edge]) {
          const made = await allocate(root, { key: `edge ${year} ${at === edge}`, now: new Date(at).toISOString() });
          expect(made.week_id, `${new Date(at).toISOString()} in ${timeZone}`).toBe(weekByHand(at, timeZone));
        }
      }
    }
  });

  it('whatever the zone of the machine: Sunday 23:30 UTC is Monday in Tokyo', async () => {
    const [tokyo, utc] = await Promise.all([makeShow({ timeZone: 'Asia/Tokyo' }), makeShow({ timeZone: 'UTC' })]);
    const now = '2026-11-29T23:30:00Z';
    const ids = await Promise.all(
      ['Asia/Tokyo', 'America/New_York', 'UTC'].flatMap((tz) =>
        [tokyo, utc].map((root) => episode(root, ['allocate', '--key', 'release-a'], { now, tz })),
      ),
    );
    expect(ids.map(({ stdout }) => stdout)).toEqual([1, 2, 3].flatMap(() => ['2026-W49-0\n', '2026-W48-0\n']));
  });

  it('that was asked for, also in the past or the future', async () => {
    const root = await makeShow();
    const asked = { now: '2026-08-07T00:00:00Z' };
    expect((await allocate(root, { ...asked, key: 'a', week: '2026-W53' })).episode_id).toBe('2026-W53-0');
    expect((await allocate(root, { ...asked, key: 'b', week: '2020-W53' })).episode_id).toBe('2020-W53-0');
  });

  it("of the slot: a date as it stands, an instant in the show's zone", async () => {
    const root = await makeShow({ timeZone: 'Asia/Tokyo' });
    const now = '2026-08-07T00:00:00Z';
    expect((await allocate(root, { now, key: 'a', slot: '2027-01-01' })).week_id).toBe('2026-W53');
    expect((await allocate(root, { now, key: 'b', slot: '2026-11-29T23:30:00Z' })).week_id).toBe('2026-W49');
    expect((await allocate(root, { now, key: 'c', slot: '2026-11-29T23:30:00-11:00' })).week_id).toBe('2026-W49');
  });
});

it('a week that does not exist is refused, naming the last one that does', async () => {
  const root = await makeShow();
  const refused = (week: string) => refusal(root, { now: '2026-08-07T00:00:00Z', key: 'a', week });
  expect(await refused('2025-W53')).toEqual({
    code: 'WEEK_UNKNOWN',
    exit: 64,
    message: 'there is no week "2025-W53": 2025 has the weeks 2025-W01 to 2025-W52',
    hints: ['give a week that exists, or leave --week out'],
  });
  expect((await refused('2026-W54')).message).toBe(
    'there is no week "2026-W54": 2026 has the weeks 2026-W01 to 2026-W53',
  );
  expect((await refused('2026-w32')).message).toBe(
    'there is no week "2026-w32": a week is written YYYY-Www, for example 2026-W32',
  );
});

it('a slot that names no instant or lies in another week than the one asked for is refused', async () => {
  const root = await makeShow();
  const refused = (given: { slot: string; week?: string }) =>
    refusal(root, { now: '2026-08-07T00:00:00Z', key: 'a', ...given });
  expect((await refused({ slot: '2026-02-30' })).message).toBe('--slot 2026-02-30 is no date of the calendar');
  for (const slot of [
    '2026-02-30T09:00:00Z',
    '2026-08-07T24:00:00Z',
    '2026-08-07T09:00:00',
    '2026-08-07 09:00Z',
    'friday',
  ]) {
    expect(await refused({ slot })).toMatchObject({
      code: 'USAGE',
      message: `--slot ${slot} is no time with an offset`,
      hints: ['write 2026-08-07T09:00:00+09:00', 'or a date: 2026-08-07'],
    });
  }
  expect(await refused({ slot: '2026-08-07', week: '2026-W33' })).toMatchObject({
    code: 'USAGE',
    message: '--week 2026-W33 contradicts the slot 2026-08-07, which lies in 2026-W32',
  });
  expect((await refused({ slot: '0000-01-01' })).code).toBe('USAGE');
});
