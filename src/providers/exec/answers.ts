import * as z from 'zod/mini';
import { describeIssues } from '../../model/issues.ts';
import { Price, ProvidedFile } from '../../model/protocol.ts';
import { decimal } from '../../model/scalars.ts';

/** What may come back of a `describe`, before its version was looked at. */
export const AnySheet = z.looseObject({ protocol: z.string() });

export const Fetched = z.looseObject({ files: z.array(ProvidedFile).check(z.minLength(1)) });

export const FinalCost = z.extend(Price, { final: z.optional(z.boolean()) });

export const Balance = z.looseObject({ amount: decimal, unit: z.string() });

const MAX_ISSUES = 3;

/** Why an answer does not fit, as the second half of a sentence. */
export const misfit = (op: string, error: z.core.$ZodError): string =>
  `an answer to "${op}" that does not fit (${describeIssues(error).slice(0, MAX_ISSUES).join('; ')})`;
