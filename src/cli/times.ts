import { tz } from '@date-fns/tz';
import { format } from 'date-fns/format';

/** Times as people in the show's zone say them. */

/** `Fri 2026-08-07 09:00 Asia/Tokyo`; English has no letters of its own for most zones. */
export const when = (timestamp: string, zone: string): string =>
  `${format(Date.parse(timestamp), 'EEE yyyy-MM-dd HH:mm', { in: tz(zone) })} ${zone}`;

/** Where and when somebody reads a time. */
export interface Reader {
  zone: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** `Fri 09:44`; `Fri 2026-08-07 09:44` when that Friday is not the last one. */
export const minute = (timestamp: string, reader: Reader): string => near(timestamp, 'HH:mm', reader);

/** `Fri 09:44:10`, or with its date. */
export const clock = (timestamp: string, reader: Reader): string => near(timestamp, 'HH:mm:ss', reader);

const SIX_DAYS_MS = 6 * 86_400_000;

function near(timestamp: string, time: string, { zone, now }: Reader): string {
  const at = Date.parse(timestamp);
  const day = Math.abs(now - at) < SIX_DAYS_MS ? 'EEE' : 'EEE yyyy-MM-dd';
  return format(at, `${day} ${time}`, { in: tz(zone) });
}
