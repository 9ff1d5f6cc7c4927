import * as z from 'zod/mini';
import en from 'zod/v4/locales/en.js';

const toSentence = en().localeError;

/**
 * What a schema objects to, one sentence each with where it stands, e.g. `steps.0.id: …`; unions say what came nearest,
 * and a name that is not known comes with the nearest one that is.
 */
export function describeIssues(error: z.core.$ZodError, schema?: z.core.$ZodType): string[] {
  return error.issues.flatMap(oneByOne).map((issue) => describe(issue, [], schema));
}

/** What a schema says that has no words of its own, until somebody sets zod a language. */
const NO_WORDS = 'Invalid input';

/** Several unknown names are one issue, and only the first would get its nearest one. */
const oneByOne = (issue: z.core.$ZodIssue): z.core.$ZodIssue[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => ({ ...issue, keys: [key], message: NO_WORDS }))
    : [issue];

function describe(issue: z.core.$ZodIssue, above: PropertyKey[], schema?: z.core.$ZodType): string {
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const nearest = issue.errors.reduce((best, errors) => (errors.length < best.length ? errors : best));
    if (nearest[0]) return describe(nearest[0], path, schema);
  }
  const where = path.map(String).join('.');
  const said = issue.message === NO_WORDS ? sentence(issue) : issue.message;
  const meant = issue.code === 'unrecognized_keys' && schema ? nearestName(issue.keys[0]!, namesIn(schema)) : null;
  return `${where ? `${where}: ` : ''}${said}${meant ? ` (is "${meant}" meant?)` : ''}`;
}

/** What was there instead is known only from a parse with `reportInput`; else zod would say "received undefined". */
function sentence(issue: z.core.$ZodIssue): string {
  const said = toSentence(issue as z.core.$ZodRawIssue);
  const text = typeof said === 'string' ? said : (said?.message ?? 'invalid');
  return 'input' in issue ? text : text.replace(/, received .*$/, '');
}

/** Every field name of a schema, at any depth. */
function namesIn(schema: z.core.$ZodType): string[] {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('properties' in node) for (const name of Object.keys(node.properties as object)) names.add(name);
    for (const child of Object.values(node)) visit(child);
  };
  visit(z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }));
  return [...names];
}

const NEAR = 3;

/** The known name that `name` is probably a slip of; `null` when none is near. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const ranked = known.map((candidate) => ({ candidate, distance: editDistance(name, candidate) }));
  const best = ranked.sort((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.min(NEAR, name.length / 2) ? best.candidate : null;
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === b[j] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
