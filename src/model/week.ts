import { tz } from '@date-fns/tz';
import { getISOWeek } from 'date-fns/getISOWeek';
import { getISOWeekYear } from 'date-fns/getISOWeekYear';

/** ISO 8601 weeks, always in a named zone and always with the week-year, never the calendar year. */
const format = (year: number, week: number): string =>
  `${String(year).padStart(4, '0')}-W${String(week).padStart(2, '0')}`;

/** The week of an instant (milliseconds since the epoch) as people in `zone` count it. */
export function weekOfInstant(instantMs: number, zone: string): string {
  const context = { in: tz(zone) };
  return format(getISOWeekYear(instantMs, context), getISOWeek(instantMs, context));
}

/** The week of a calendar date `YYYY-MM-DD`: the same in every zone. `null` if the date does not exist. */
export function weekOfDate(date: string): string | null {
  const noon = Date.parse(`${date}T12:00:00Z`);
  if (Number.isNaN(noon) || !isoDate(noon).startsWith(date)) return null;
  return weekOfInstant(noon, 'UTC');
}

/** 28 December is always in the last week of its week-year. */
export const lastWeekOfYear = (year: number): string => weekOfInstant(Date.UTC(year, 11, 28, 12), 'UTC');

/** `null` when `week` is the canonical name of a week that exists, else what is wrong with it. */
export function faultOfWeek(week: string): string | null {
  const match = /^(\d{4})-W(\d\d)$/.exec(week);
  if (!match) return 'a week is written YYYY-Www, for example 2026-W32';
  const last = lastWeekOfYear(Number(match[1]));
  if (Number(match[2]) >= 1 && week <= last) return null;
  return `${match[1]} has the weeks ${match[1]}-W01 to ${last}`;
}

/** Whether the platform's zone data knows `zone`; offsets like `+09:00` are no zones: they have no summer time. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

const isoDate = (instantMs: number): string => new Date(instantMs).toISOString();
