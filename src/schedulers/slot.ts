import { TZDate, tz } from '@date-fns/tz';
import { Cron } from 'croner';
import { format } from 'date-fns/format';
import { EpisodeError } from '../errors.ts';
import type { Schedule } from '../model/config.ts';
import { weekOfInstant } from '../model/zoned.ts';

const GRACE_MS = 5 * 60_000;
/** No clock was ever put back further at midnight. */
const LONGEST_OVERLAP_MS = 3 * 3_600_000;

export interface DerivedSlot {
  /** The scheduled instant, milliseconds since the epoch. */
  atMs: number;
  /** RFC 3339 in UTC. */
  slot: string;
  key: string;
  week: string;
}

/** A schedule of `pipeline.json` with its name, and the zone it is read in. */
export interface NamedSchedule {
  name: string;
  schedule: Pick<Schedule, 'cron' | 'granularity'>;
  zone: string;
}

/**
 * The slot that a run started at `nowMs` belongs to: the last occurrence not later than now plus a grace of five minutes
 * or a quarter of the period, because daemons fire a little early after a clock step. `null`: there has been none yet.
 * Throws `CONFIGURATION` (78) for an expression that names no instant (`@reboot`, `H`).
 */
export function currentSlot(named: NamedSchedule, nowMs: number): DerivedSlot | null {
  const cron = parseCron(named);
  const [next, after] = cron.nextRuns(2, new Date(nowMs)).map((date) => date.getTime());
  const period = next !== undefined && after !== undefined ? after - next : Number.POSITIVE_INFINITY;
  const grace = Math.min(GRACE_MS, period / 4);
  // `previousRuns` is strictly before its reference.
  const [last] = cron.previousRuns(1, new Date(nowMs + grace + 1));
  return last ? slotAt(named, last.getTime()) : null;
}

/** The slot at an instant given by hand. Throws `SLOT_UNKNOWN` (64) with the nearest ones when there is none. */
export function slotAtInstant(named: NamedSchedule, atMs: number, given: string): DerivedSlot {
  const cron = parseCron(named);
  if (cron.nextRun(new Date(atMs - 1))?.getTime() === atMs) return slotAt(named, atMs);
  throw noSlot(named, cron, atMs, given);
}

/**
 * The slot on a date (`YYYY-MM-DD`, which exists) in the schedule's zone. Throws `SLOT_UNKNOWN` (64) with the nearest ones
 * when there is none, and with all of them when several would be different releases.
 */
export function slotOnDate(named: NamedSchedule, date: string): DerivedSlot {
  const cron = parseCron(named);
  const [year, month, day] = date.split('-').map(Number) as [number, number, number];
  const midnight = new TZDate(year, month - 1, day, named.zone).getTime();
  const found: DerivedSlot[] = [];
  let at = cron.nextRun(new Date(midnight - LONGEST_OVERLAP_MS));
  for (; at !== null && dateIn(at.getTime(), named.zone) <= date; at = cron.nextRun(at)) {
    if (dateIn(at.getTime(), named.zone) === date) found.push(slotAt(named, at.getTime()));
  }
  const [first] = found;
  if (!first) throw noSlot(named, cron, midnight, date);
  if (found.some(({ key }) => key !== first.key)) {
    throw new EpisodeError('SLOT_UNKNOWN', `schedule ${named.name} has ${found.length} slots on ${date}`, {
      subject: date,
      hints: [`say which: --slot ${first.slot}, …, --slot ${found.at(-1)!.slot}`],
    });
  }
  return first;
}

function noSlot({ name }: NamedSchedule, cron: Cron, atMs: number, given: string): EpisodeError {
  const around = [cron.previousRuns(1, new Date(atMs))[0], cron.nextRun(new Date(atMs))];
  const nearest = around.flatMap((date) => (date ? [rfc3339(date.getTime())] : []));
  return new EpisodeError('SLOT_UNKNOWN', `schedule ${name} has no slot at ${given}`, {
    subject: given,
    hints: [nearest.length > 0 ? `the nearest: ${nearest.join(' and ')}` : 'its expression names no time at all'],
  });
}

/** Throws `CONFIGURATION` (78). */
export function parseCron({ name, schedule, zone }: NamedSchedule): Cron {
  try {
    // A job of 01:30 runs once on the night with two of them; an hourly one runs in both hours, as cron does it.
    return new Cron(schedule.cron, { timezone: zone, paused: true, mode: '5-part', fixedTimeRule: 'no-wildcard' });
  } catch (cause) {
    const what = `schedules.${name}.cron in pipeline.json: "${schedule.cron}" is no schedule with instants`;
    const hints = ['five fields as in crontab(5), e.g. "0 9 * * 5" for Fridays at nine'];
    throw new EpisodeError('CONFIGURATION', what, { subject: 'pipeline.json', hints, cause });
  }
}

const dateIn = (atMs: number, zone: string): string => format(atMs, 'yyyy-MM-dd', { in: tz(zone) });

const rfc3339 = (atMs: number): string => new Date(atMs).toISOString().replace('.000Z', 'Z');

function slotAt({ name, schedule, zone }: NamedSchedule, atMs: number): DerivedSlot {
  const week = weekOfInstant(atMs, zone);
  const slot = rfc3339(atMs);
  const by = {
    slot: () => slot.replace(':00Z', 'Z'),
    day: () => dateIn(atMs, zone),
    'iso-week': () => week,
    month: () => dateIn(atMs, zone).slice(0, 7),
  };
  return { atMs, slot, key: `${name}@${by[schedule.granularity]()}`, week };
}
