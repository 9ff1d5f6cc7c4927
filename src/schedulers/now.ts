/** Whether a key holds the time at which it was made: then a retry, minutes later, has another one. */
export const holdsNow = (key: string, nowMs: number): boolean =>
  epochsIn(key).some((ms) => Math.abs(ms - nowMs) < NEAR_MS.number) || holdsTimeOfNow(key, nowMs);

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const NEAR_MS = { number: 10 * MINUTE_MS, time: 2 * MINUTE_MS };
/** The clock of no zone is further from UTC. */
const FURTHEST_MS = 14 * 60 * MINUTE_MS;

/** Integers read as seconds, milliseconds, microseconds and nanoseconds since the epoch: `nightly-$(date +%s)`. */
function epochsIn(key: string): number[] {
  return [...key.matchAll(/(?<!\d)\d{9,19}(?!\d)/g)].flatMap(([digits]) =>
    [0.001, 1, 1e3, 1e6]
      .map((unitsPerMs) => Number(digits) / unitsPerMs)
      // Whole minutes beside a name are a scheduler's own (`brief-1786060800`); alone they say nothing.
      .filter((ms) => digits === key || ms % MINUTE_MS !== 0),
  );
}

/** A date and a time of day in any of the spellings of date(1) and file names, to the second; the offset is rare. */
const DATED =
  /(?<!\d)(\d{4}|\d\d)[-_/.]?(\d\d)[-_/.]?(\d\d)[T _.:@-]{0,2}(\d\d)[-_:.]?(\d\d)[-_:.]?(\d\d)((?:[.,]?\d{1,9})?)(Z|[+-](?:0\d|1[0-4]):?(?:[03]0|[14]5))?(?!\d)/g;
const TIME_OF_DAY = /(?<![\d:])(\d\d):(\d\d):(\d\d)(?![\d:])/g;

/** Only times with seconds: a scheduler's own 09:00:00, used at 09:00:03, has none and is stable. */
function holdsTimeOfNow(key: string, nowMs: number): boolean {
  for (const [, year, month, day, hour, minute, second, fraction, offset] of key.matchAll(DATED)) {
    const date = `${year!.length === 2 ? `20${year}` : year}-${month}-${day}`;
    const ms = Date.parse(`${date}T${hour}:${minute}:${second}${fraction && `.${fraction.replace(/\D/, '')}`}Z`);
    if (Number.isNaN(ms) || Number(`${second}${fraction!.replace(/\D/, '')}`) === 0) continue;
    if (offset === undefined ? isNowSomewhere(ms, nowMs) : isNear(ms - offsetMs(offset), nowMs)) return true;
  }
  const today = [clockOf(nowMs, 'UTC'), clockOf(nowMs, 'here')];
  return [...key.replaceAll(DATED, '').matchAll(TIME_OF_DAY)].some(([, hour, minute, second]) => {
    const ms = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000;
    return Number(second) !== 0 && today.some((now) => isNear(ms, now));
  });
}

const isNear = (ms: number, nowMs: number): boolean => Math.abs(ms - nowMs) < NEAR_MS.time;

/** Without an offset it may be of any zone, and all of them are whole quarters of an hour from UTC. */
function isNowSomewhere(ms: number, nowMs: number): boolean {
  const ahead = ms - nowMs;
  const quarters = Math.round(ahead / QUARTER_MS) * QUARTER_MS;
  return Math.abs(quarters) <= FURTHEST_MS && Math.abs(ahead - quarters) < NEAR_MS.time;
}

function offsetMs(offset: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [];
  return sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
}

/** Milliseconds since midnight on a clock of UTC, or of this machine: the two that a bare time of day is likely of. */
function clockOf(nowMs: number, where: 'UTC' | 'here'): number {
  const offset = where === 'here' ? new Date(nowMs).getTimezoneOffset() * MINUTE_MS : 0;
  return (((nowMs - offset) % 86_400_000) + 86_400_000) % 86_400_000;
}
