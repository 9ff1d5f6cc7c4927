import * as z from 'zod/mini';
import { describeIssues } from '../model/issues.ts';

/** What a built-in provider is asked for: by a step of a plan, or by a submission. */
export interface Wanted {
  kind: string;
  params: Record<string, unknown>;
  /** `kind`: of the step that makes it, where that is known. */
  inputs: readonly { name: string; kind?: string | undefined }[];
}

/** Even, since yuv420p halves both sides. */
export const pixels = z.int().check(z.gte(16), z.lte(7680), z.multipleOf(2, 'must be an even number of pixels'));

export const framesPerSecond = z.number().check(z.gte(1), z.lte(120));

/** What `schema` objects to in parameters, one sentence each, with the nearest name for each that is not known. */
export function faultsOfParams(schema: z.ZodMiniType, params: Record<string, unknown>): string[] {
  const { error } = z.safeParse(schema, params, { reportInput: true });
  return error ? describeIssues(error, schema).map((fault) => `params: ${fault}`) : [];
}
