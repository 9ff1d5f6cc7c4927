import * as z from 'zod/mini';
import { readIfThere } from './durable.ts';
import { asEpisodeError, configuration, EpisodeError, planInvalid } from './errors.ts';
import { readRecord } from './json/record.ts';
import { Config, providerNames, unknownZones } from './model/config.ts';
import { describeIssues } from './model/issues.ts';
import { faultsOfPlan, Plan } from './model/plan.ts';
import type { Disk } from './port.ts';

/** A configuration whose zones were looked up in the platform's data. Throws `CONFIGURATION` (78). */
export function checkZones(config: Config): Config {
  const faults = unknownZones(config);
  if (faults.length > 0) throw configuration(faults);
  return config;
}

/** `pipeline.json` of the show, validated whole but for `checkZones`. Throws `CONFIGURATION` (78), `FORMAT_NEWER` (65). */
export async function loadConfig(disk: Disk, root: string): Promise<Config> {
  const value = await readInput(disk, `${root}/pipeline.json`, 'pipeline.json', (message) => configuration([message]));
  const result = z.safeParse(Config, value);
  if (!result.success) throw configuration(describeIssues(result.error, Config), result.error);
  return result.data;
}

/**
 * A plan file, validated whole against the show's providers. `path` is absolute, `name` what messages call it.
 * Throws `PLAN_INVALID` (64) with every fault, `FILE_NOT_FOUND` (66).
 */
export async function loadPlan(disk: Disk, path: string, name: string, config: Config): Promise<Plan> {
  const value = await readInput(disk, path, name, (message) => planInvalid(name, [message]));
  const result = z.safeParse(Plan, value);
  if (!result.success) throw planInvalid(name, describeIssues(result.error, Plan));
  const faults = faultsOfPlan(result.data, providerNames(config));
  if (faults.length > 0) throw planInvalid(name, faults);
  return result.data;
}

async function readInput(
  disk: Disk,
  path: string,
  name: string,
  fault: (message: string) => EpisodeError,
): Promise<object> {
  try {
    const bytes = await readIfThere(disk, path);
    if (!bytes) throw new EpisodeError('FILE_NOT_FOUND', `there is no file ${name}`, { subject: name });
    return await readRecord(bytes, name);
  } catch (error) {
    if (error instanceof EpisodeError && error.code === 'RECORD_DAMAGED')
      throw fault(error.message.replace(`${name} is damaged: `, ''));
    throw asEpisodeError(error, name);
  }
}
