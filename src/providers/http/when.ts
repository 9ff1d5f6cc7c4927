import * as z from 'zod/mini';

/** RFC 6901, and `*` for every element or member. `""` is the whole document. */
export const pointer = z.string().check(z.regex(/^(\/([^~/]|~[01])*)*$/, 'a JSON pointer like "/task/id"'));

const status = z.union([
  z.int().check(z.minimum(200), z.maximum(499)),
  z.string().check(z.regex(/^[234]xx$/, 'a status from 200 to 499, or "2xx", "4xx"')),
]);

/** A condition that is met by everything would take any answer for a refusal, and pay again. */
function saysWhat({ status, at, header, equals, matches }: Record<string, unknown>): boolean {
  if (at !== undefined || header !== undefined) return at === undefined || header === undefined;
  return equals === undefined && (status !== undefined || matches !== undefined);
}

const WHAT = 'a condition says what it looks at: "status", "at" or "header" (not both), or "matches" of the whole text';

/** An answer, or an item of one, that looks so: every condition that is given holds. */
export const When = z
  .strictObject({
    status: z.optional(z.array(status)),
    /** Of what `equals` or `matches` is about; alone: something is there that is not null. */
    at: z.optional(pointer),
    header: z.optional(z.string()),
    equals: z.optional(z.array(z.union([z.string(), z.number(), z.boolean(), z.null()]))),
    /** A regular expression (ECMAScript, without regard to case), looked for in the text. */
    matches: z.optional(z.string()),
  })
  .check(z.refine(saysWhat, WHAT));
export type When = z.infer<typeof When>;
