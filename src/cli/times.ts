import { tz } from '@date-fns/tz';
import { format } from 'date-fns/format';

/** Times as people in the show's zone say them. */

/** `Fri 2026-08-07 09:00 Asia/Tokyo`; English has no letters of its own for most zones. */
export const when = (timestamp: string, zone: string): string =>
  `${format(Date.parse(timestamp), 'EEE yyyy-MM-dd HH:mm', { in: tz(zone) })} ${zone}`;

/** `Fri 09:44`. */
export const minute = (timestamp: string, zone: string): string =>
  format(Date.parse(timestamp), 'EEE HH:mm', { in: tz(zone) });

/** `Fri 09:44:10`. */
export const clock = (timestamp: string, zone: string): string =>
  format(Date.parse(timestamp), 'EEE HH:mm:ss', { in: tz(zone) });
