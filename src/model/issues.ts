import type * as z from 'zod/mini';
import en from 'zod/v4/locales/en.js';

const toSentence = en().localeError;

/** What a schema objects to, one sentence each with where it stands, e.g. `steps.0.id: …`; unions say what came nearest. */
export const describeIssues = (error: z.core.$ZodError): string[] => error.issues.map((issue) => describe(issue, []));

function describe(issue: z.core.$ZodIssue, above: PropertyKey[]): string {
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const nearest = issue.errors.reduce((best, errors) => (errors.length < best.length ? errors : best));
    if (nearest[0]) return describe(nearest[0], path);
  }
  const where = path.map(String).join('.');
  const said = issue.message === 'Invalid input' ? sentence(issue) : issue.message;
  return where ? `${where}: ${said}` : said;
}

function sentence(issue: z.core.$ZodIssue): string {
  const said = toSentence(issue as z.core.$ZodRawIssue);
  return typeof said === 'string' ? said : (said?.message ?? 'invalid');
}
