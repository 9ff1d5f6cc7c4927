import { tz } from '@date-fns/tz';
import { Cron } from 'croner';
import { format } from 'date-fns/format';
import { EpisodeError } from '../errors.ts';
import type { Schedule } from '../model/config.ts';
import { weekOfInstant } from '../model/week.ts';

const GRACE_MS = 5 * 60_000;

export interface DerivedSlot {
  /** The scheduled instant, milliseconds since the epoch. */
  atMs: number;
  /** RFC 3339 in UTC. */
  slot: string;
  key: string;
  week: string;
}

/**
 * The slot that a run started at `nowMs` belongs to: the last occurrence not later than now plus a grace of five minutes
 * or a quarter of the period, because daemons fire a little early after a clock step. `null`: there has been none yet.
 * Throws `CONFIGURATION` (78) for an expression that names no instant (`@reboot`, `H`).
 */
export function currentSlot(name: string, schedule: Schedule, zone: string, nowMs: number): DerivedSlot | null {
  const cron = parse(name, schedule.cron, zone);
  const [next, after] = cron.nextRuns(2, new Date(nowMs)).map((date) => date.getTime());
  const period = next !== undefined && after !== undefined ? after - next : 4 * GRACE_MS;
  const grace = Math.min(GRACE_MS, period / 4);
  // `previousRuns` is strictly before its reference.
  const [last] = cron.previousRuns(1, new Date(nowMs + grace + 1));
  return last ? slotAt(name, schedule, zone, last.getTime()) : null;
}

/** The slot of an instant or a date (`YYYY-MM-DD`) given by hand. Throws `SLOT_UNKNOWN` (64) when the schedule has none there. */
export function slotGiven(name: string, schedule: Schedule, zone: string, given: string): DerivedSlot {
  const cron = parse(name, schedule.cron, zone);
  const isDate = /^\d{4}-\d\d-\d\d$/.test(given);
  const from = isDate ? tz(zone)(`${given}T00:00:00`).getTime() : Date.parse(given);
  const found = cron.nextRun(new Date(from - 1))?.getTime();
  const matches =
    found !== undefined && (isDate ? format(found, 'yyyy-MM-dd', { in: tz(zone) }) === given : found === from);
  if (matches) return slotAt(name, schedule, zone, found);
  const before = cron.previousRuns(1, new Date(from))[0]?.toISOString();
  const after = found === undefined ? undefined : new Date(found).toISOString();
  throw new EpisodeError('SLOT_UNKNOWN', `schedule ${name} has no slot at ${given}`, {
    subject: given,
    hints: [`the nearest are ${[before, after].filter(Boolean).join(' and ')}`],
  });
}

function parse(name: string, expression: string, zone: string): Cron {
  try {
    return new Cron(expression, { timezone: zone, paused: true });
  } catch (cause) {
    throw new EpisodeError(
      'CONFIGURATION',
      `schedules.${name}.cron in pipeline.json: "${expression}" is no schedule with instants`,
      {
        subject: 'pipeline.json',
        hints: ['five fields as in crontab(5), e.g. "0 9 * * 5" for Fridays at nine'],
        cause,
      },
    );
  }
}

function slotAt(name: string, schedule: Schedule, zone: string, atMs: number): DerivedSlot {
  const week = weekOfInstant(atMs, zone);
  const slot = new Date(atMs).toISOString().replace('.000Z', 'Z');
  const by = {
    slot: () => slot.replace(':00Z', 'Z'),
    day: () => format(atMs, 'yyyy-MM-dd', { in: tz(zone) }),
    'iso-week': () => week,
    month: () => format(atMs, 'yyyy-MM', { in: tz(zone) }),
  };
  return { atMs, slot, key: `${name}@${by[schedule.granularity]()}`, week };
}
