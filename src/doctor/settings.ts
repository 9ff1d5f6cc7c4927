import { EpisodeError } from '../errors.ts';
import { type Diagnosis, hint, type Patient } from './diagnosis.ts';
import type { Records } from './records.ts';

/** Settings that records were made by and that say something else now. Nothing on record is ever converted. */
export function changedSettings({ config }: Patient, { episodes }: Records): Diagnosis[] {
  if (config instanceof EpisodeError) return [];
  const { currency, time_zone } = config;
  const found: Diagnosis[] = [];
  const all = [...episodes.values()];
  const uncounted = all
    .flatMap(({ costs }) => costs)
    .filter((row) => row.state !== 'released' && row.unit !== currency && row.worst_case?.unit !== currency);
  const others = new Set(uncounted.map(({ unit }) => unit).filter((unit) => /^[A-Z]{3}$/.test(unit)));
  for (const other of others)
    found.push(hint('configuration', `charges in ${other} count in no budget in ${currency}`, 'episode cost'));
  const typed = all.filter(({ allocation }) => allocation.source === 'typed');
  const newest = typed.sort((a, b) => Date.parse(b.allocation.allocated_at) - Date.parse(a.allocation.allocated_at))[0];
  if (newest && newest.allocation.time_zone !== time_zone) {
    const { episode_id, allocation } = newest;
    const message = `weeks are counted in ${time_zone} now, and were in ${allocation.time_zone} up to ${episode_id}`;
    found.push(hint('configuration', message, `if that was not meant: "time_zone": "${allocation.time_zone}"`));
  }
  return found;
}
