import * as z from 'zod/mini';

/** The small values every record is made of, each with the rule it follows. */

/** An exact decimal, e.g. `"0.40"`; never a float, never negative. */
export const decimal = z
  .string()
  .check(z.regex(/^(0|[1-9][0-9]{0,14})(\.[0-9]{1,12})?$/, 'an exact decimal like "0.40"'));

export const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/, 'a SHA-256 in lower-case hex'));

/** RFC 3339 with offset. */
export const timestamp = z
  .string()
  .check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/, 'an RFC 3339 time with offset'));

/** Names of steps, providers, publishers, schedules: they become file names and arguments, so nothing else is allowed. */
export const name = z
  .string()
  .check(
    z.regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'lower-case letters, digits, "-" and "_", at most 64, not starting with "-"'),
  );

export const weekId = z.string().check(z.regex(/^\d{4}-W\d\d$/, 'an ISO week like 2026-W32'));

export const episodeId = z.string().check(z.regex(/^\d{4}-W\d\d-(0|[1-9]\d{0,8})$/, 'an episode ID like 2026-W32-0'));

/** A path inside the show: relative, `/` between segments, no `.`/`..` segment, no NUL or control character. */
export const showPath = z.string().check(
  z.minLength(1),
  z.maxLength(4096),
  z.refine(
    (path) =>
      !/[\u0000-\u001f\u007f\\]/.test(path) &&
      path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..'),
    'a path inside the show: relative, without "." or ".."',
  ),
);
