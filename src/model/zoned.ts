import { tz } from '@date-fns/tz';
import { format } from 'date-fns/format';
import { weekOfDate } from './week.ts';

/**
 * The ISO week of an instant (milliseconds since the epoch) as people in `zone` count it. Throws RangeError for an unknown
 * zone. Loading this costs more than the rest of a replayed `allocate`: see `weekAt` (clock.ts).
 */
export const weekOfInstant = (instantMs: number, zone: string): string =>
  weekOfDate(format(instantMs, 'yyyy-MM-dd', { in: tz(zone) }));
