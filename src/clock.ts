import { weekOfDate } from './model/week.ts';

/** Names that cannot be one of POSIX's own rules (`JST-9`), which the C library would follow. */
const PLAIN_NAME = /^[A-Z][A-Za-z_]+(\/[A-Z][A-Za-z_-]+)+$/;

/**
 * The ISO week of an instant (milliseconds since the epoch) in `zone`, as `weekOfInstant` has it, without a formatter:
 * building one loads the locale data, which is a seventh of a start of node. Throws RangeError for an unknown zone.
 */
export async function weekAt(instantMs: number, zone: string): Promise<string> {
  if (zone === 'UTC') return weekOfDate(new Date(instantMs).toISOString().slice(0, 10));
  const date = PLAIN_NAME.test(zone) ? localDate(instantMs, zone) : null;
  if (date !== null) return weekOfDate(date);
  const { weekOfInstant } = await import('./model/zoned.ts');
  return weekOfInstant(instantMs, zone);
}

/** The calendar date in `zone`; `null` where it is as far from UTC as a zone nobody knows, which reads as UTC. */
function localDate(instantMs: number, zone: string): string | null {
  const before = process.env.TZ;
  // Node tells V8 of the change; nothing else runs until it is taken back.
  process.env.TZ = zone;
  try {
    const date = new Date(instantMs);
    const offsetMinutes = -date.getTimezoneOffset();
    return offsetMinutes === 0 ? null : new Date(instantMs + offsetMinutes * 60_000).toISOString().slice(0, 10);
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}
