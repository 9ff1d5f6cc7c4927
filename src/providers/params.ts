import * as z from 'zod/mini';
import { describeIssues } from '../model/issues.ts';
import { Refused } from './pure.ts';

/** Even, since yuv420p halves both sides. */
export const pixels = z.int().check(z.gte(16), z.lte(7680), z.multipleOf(2, 'must be an even number of pixels'));

export const framesPerSecond = z.number().check(z.gte(1), z.lte(120));

/** The parameters as `schema` knows them. Throws `Refused` naming each that is unknown or out of range. */
export function parseParams<Schema extends z.ZodMiniType>(
  schema: Schema,
  params: Record<string, unknown>,
): z.output<Schema> {
  const parsed = z.safeParse(schema, params);
  if (parsed.success) return parsed.data;
  throw new Refused(`params: ${describeIssues(parsed.error).join('; ')}`);
}
