import * as z from 'zod/mini';
import { usage, weekUnknown } from '../errors.ts';
import { durationMs } from '../model/config.ts';
import { decimal, episodeId, name } from '../model/scalars.ts';
import { faultOfWeek, isCalendarDate } from '../model/week.ts';

/** Arguments and option values, each parsed once, each refused with what it should look like. An empty one never means "all". */

/** Never an empty one: `program.ts` has refused those. */
export const text = (options: Record<string, unknown>, option: string): string | null =>
  (options[option] as string | undefined) ?? null;

export function required(options: Record<string, unknown>, option: string): string {
  const value = text(options, option);
  if (value === null) throw usage(`--${flag(option)} is missing`, `--${flag(option)}`);
  return value;
}

/** `keyIsStable` as it is typed, without the hyphens: `key-is-stable`. */
export const flag = (option: string): string =>
  option.replace(/[A-Z0-9]+/g, (part) => (/^\d/.test(part) ? part : `-${part.toLowerCase()}`));

/** A value as a message repeats it: what was pasted by mistake may be a whole file. */
const brief = (value: string): string =>
  value.length <= LONGEST ? value : `${value.slice(0, LONGEST)}… (${value.length} characters)`;
const LONGEST = 80;

export function episode(value: string | undefined): string {
  if (value !== undefined && z.safeParse(episodeId, value).success) return value;
  const said = brief(value ?? '');
  throw usage(`"${said}" is no episode ID`, said, 'an ID looks like 2026-W32-0', 'episode list --all');
}

export function step(options: Record<string, unknown>): string | null {
  const value = text(options, 'step');
  if (value === null || z.safeParse(name, value).success) return value;
  throw usage(
    `"${brief(value)}" cannot be the name of a step`,
    brief(value),
    'lower-case letters, digits, "-" and "_"',
  );
}

export function stepNames(options: Record<string, unknown>): string[] {
  const given = (options.step ?? []) as string[];
  return given.map((one) => step({ step: one })!);
}

export function week(options: Record<string, unknown>): string | null {
  const value = text(options, 'week');
  const fault = value === null ? null : faultOfWeek(value);
  if (fault !== null) throw weekUnknown(brief(value!), fault);
  return value;
}

/** `30m`, `90s`, `2h`, `1d` or ISO 8601 (`PT30M`), in milliseconds. */
export function duration(options: Record<string, unknown>, option: string, otherwise: string): number {
  const value = text(options, option) ?? otherwise;
  const short = /^(\d{1,6})([smhd])$/.exec(value);
  if (short)
    return Number(short[1]) * { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[short[2] as 's' | 'm' | 'h' | 'd'];
  if (/^P(?=\d|T\d)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?$/.test(value)) return durationMs(value);
  throw usage(`--${flag(option)} ${brief(value)} is no duration`, brief(value), 'write 90s, 30m, 2h, 1d or PT30M');
}

export function amount(options: Record<string, unknown>, option: string): string | null {
  const value = text(options, option);
  if (value === null || z.safeParse(decimal, value).success) return value;
  throw usage(`--${flag(option)} ${brief(value)} is no amount`, brief(value), 'write an exact decimal like 2.50');
}

const INSTANT = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** RFC 3339 with offset (seconds may be left out), in milliseconds. `Date.parse` would take 30 February for 2 March. */
export function instant(value: string, option: string, ...hints: string[]): number {
  const match = INSTANT.exec(value);
  if (match && isCalendarDate(match[1]!)) return Date.parse(value);
  throw usage(
    `${option} ${brief(value)} is no time with an offset`,
    brief(value),
    'write 2026-08-07T09:00:00+09:00',
    ...hints,
  );
}
