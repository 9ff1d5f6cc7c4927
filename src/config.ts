import * as z from 'zod/mini';
import { type Code, configuration, EpisodeError, inputUnreadable, isErrno, planInvalid } from './errors.ts';
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
  const result = z.safeParse(Config, value, { reportInput: true });
  if (!result.success) throw configuration(describeIssues(result.error, Config), result.error);
  return result.data;
}

/**
 * A plan file as it is written. `path` is absolute, `name` what messages call it. Throws `PLAN_INVALID` (64) when it is no
 * plan at all, `FILE_NOT_FOUND` (66); whether it can be carried out is `refusalOfPlan`'s to say.
 */
export async function readPlan(disk: Disk, path: string, name: string): Promise<Plan> {
  const value = await readInput(disk, path, name, (message) => planInvalid(name, [message]), 'FORMAT_NEWER');
  const result = z.safeParse(Plan, value, { reportInput: true });
  if (!result.success) throw planInvalid(name, describeIssues(result.error, Plan));
  return result.data;
}

/** `PLAN_INVALID` (64) with every fault that this show sees in a plan; `null` when it can be carried out. */
export async function refusalOfPlan(plan: Plan, name: string, config: Config): Promise<EpisodeError | null> {
  const { faultsOfBuiltIn } = await import('./providers/built-in.ts');
  const faults = [...faultsOfPlan(plan, providerNames(config)), ...faultsOfBuiltIn(plan, config)];
  return faults.length > 0 ? planInvalid(name, faults) : null;
}

/** A plan file that this show can carry out, or what `readPlan` and `refusalOfPlan` say. */
export async function loadPlan(disk: Disk, path: string, name: string, config: Config): Promise<Plan> {
  const plan = await readPlan(disk, path, name);
  const refusal = await refusalOfPlan(plan, name, config);
  if (refusal) throw refusal;
  return plan;
}

async function readInput(
  disk: Disk,
  path: string,
  name: string,
  fault: (message: string) => EpisodeError,
  ...faulty: Code[]
): Promise<object> {
  let bytes: Buffer;
  try {
    bytes = await disk.readFile(path);
  } catch (error) {
    if (isErrno(error, 'EISDIR')) throw fault('it is a directory');
    throw inputUnreadable(name, error);
  }
  try {
    return await readRecord(bytes, name);
  } catch (error) {
    if (!(error instanceof EpisodeError) || !['RECORD_DAMAGED', ...faulty].includes(error.code)) throw error;
    throw fault(error.message.replace(`${name} is damaged: `, '').replace(`${name} has`, 'it has'));
  }
}
