import { findCredential } from './credentials.ts';
import { type Diagnosis, fromError, ok, type Patient, wrong } from './doctor/diagnosis.ts';
import { clock, disk, ffmpeg, lock, owner } from './doctor/machine.ts';
import { records } from './doctor/records.ts';
import { EpisodeError } from './errors.ts';

/** What is wrong with a show and its machine, each with the fix. Changes no record. */
export async function doctor(patient: Patient): Promise<Diagnosis[]> {
  const checks = [configuration, records, owner, clock, lock, disk, ffmpeg, credentials];
  const found: Diagnosis[] = [];
  for (const check of checks) found.push(...(await orItsError(check, patient)));
  return found;
}

/** What cannot even be looked at is a finding too, and hides no other. */
async function orItsError(check: (patient: Patient) => Promise<Diagnosis[]>, patient: Patient): Promise<Diagnosis[]> {
  try {
    return await check(patient);
  } catch (error) {
    if (error instanceof EpisodeError) return [fromError(check.name, error)];
    throw error;
  }
}

async function configuration({ config, checkSchedule, checkProvider }: Patient): Promise<Diagnosis[]> {
  if (config instanceof EpisodeError) return [fromError('configuration', config)];
  const found = [ok('configuration', `pipeline.json: ${config.show}, weeks counted in ${config.time_zone}`)];
  const parts = [
    ...Object.keys(config.schedules).map((name) => async () => checkSchedule(name, config)),
    ...Object.keys(config.providers).map((name) => () => checkProvider(name, config)),
  ];
  for (const check of parts) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof EpisodeError)) throw error;
      found.push(fromError('configuration', error));
    }
  }
  return found;
}

async function credentials({ config, credentials: sources }: Patient): Promise<Diagnosis[]> {
  if (config instanceof EpisodeError) return [];
  const configured = [...Object.entries(config.providers), ...Object.entries(config.publishers)];
  return configured.flatMap(([who, part]) =>
    ('env' in part ? part.env : []).map((name): Diagnosis => {
      try {
        const found = findCredential(name, sources);
        if (found) return ok('credentials', `${who}: ${name} from ${found.where}`);
        return wrong('credentials', 'CREDENTIAL_MISSING', `${who}: ${name} is found nowhere`, `export ${name}=…`);
      } catch (error) {
        if (!(error instanceof EpisodeError)) throw error;
        return fromError('credentials', error);
      }
    }),
  );
}
