/** ISO 8601 weeks, always in a named zone and always with the week-year, never the calendar year. */
function format(year: number, week: number): string {
  // What libraries answer for a zone they do not know is no number, and must never become the name of a directory.
  if (!(year >= 1000 && year <= 9999 && week >= 1)) throw new RangeError(`no week can be written for year ${year}`);
  return `${year}-W${String(week).padStart(2, '0')}`;
}

/** The Gregorian calendar begins in 1582; ISO 8601 counts earlier years only where both sides agreed to. */
const FIRST_YEAR = 1583;

/** Whether `date`, written `YYYY-MM-DD`, is in the calendar. */
export function isCalendarDate(date: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(date) || Number(date.slice(0, 4)) < FIRST_YEAR) return false;
  const noon = Date.parse(`${date}T12:00:00Z`);
  return !Number.isNaN(noon) && new Date(noon).toISOString().startsWith(date);
}

const DAY_MS = 86_400_000;

/** The week of a calendar date `YYYY-MM-DD`, the same in every zone: that of its Thursday, counted from 1 January (ISO 8601). */
export function weekOfDate(date: string): string {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  const day = new Date(midnight).getUTCDay() || 7;
  const thursday = midnight + (4 - day) * DAY_MS;
  const year = new Date(thursday).getUTCFullYear();
  return format(year, 1 + Math.floor((thursday - Date.UTC(year, 0, 1)) / (7 * DAY_MS)));
}

/** A year has a W53 when it ends on a Thursday, or the one before it ended on a Wednesday (ISO 8601). */
const lastWeekOfYear = (year: number): string => {
  const lastDay = (y: number): number => (y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400)) % 7;
  return format(year, lastDay(year) === 4 || lastDay(year - 1) === 3 ? 53 : 52);
};

/** `null` when `week` is the canonical name of a week that exists, else what is wrong with it. */
export function faultOfWeek(week: string): string | null {
  const match = /^(\d{4})-W(\d\d)$/.exec(week);
  if (!match || Number(match[1]) < FIRST_YEAR) return 'a week is written YYYY-Www, for example 2026-W32';
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
