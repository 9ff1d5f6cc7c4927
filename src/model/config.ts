import * as z from 'zod/mini';
import { decimal, name, showPath } from './scalars.ts';
import { isTimeZone } from './week.ts';

/*
 * `pipeline.json`: validated whole, unknown fields are errors. Fields that a default fills are filled here, so that the
 * rest of the program knows no default.
 */

/** Its shape; whether the platform knows the zone costs more to ask than the rest of a replayed `allocate` (`unknownZones`). */
const timeZone = z.string().check(z.regex(/^[A-Za-z][A-Za-z0-9_+/-]*$/, 'an IANA time zone like Asia/Tokyo'));

export const currency = z.string().check(z.regex(/^[A-Z]{3}$/, 'an ISO 4217 currency like USD'));

/** ISO 8601, whole days to seconds: `P1D`, `PT12H`, `PT30M`. */
const duration = z
  .string()
  .check(z.regex(/^P(?=\d|T\d)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?$/, 'an ISO 8601 duration like PT12H or P2D'));

/** Milliseconds of a duration as above. */
export function durationMs(value: string): number {
  const [, days, , hours, minutes, seconds] = /^P(?:(\d+)D)?(T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(value)!;
  const part = (digits: string | undefined, unitMs: number) => Number(digits ?? 0) * unitMs;
  return part(days, 86_400_000) + part(hours, 3_600_000) + part(minutes, 60_000) + part(seconds, 1_000);
}

const variables = z.array(z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable')));

const Schedule = z.lazy(() =>
  z.strictObject({
    /** Its shape; whether it names any instant costs more to ask (`parseCron`). */
    cron: z.string().check(z.regex(/^(@[a-z]+|\S+( +\S+){4})$/, 'five fields as in crontab(5), like "0 9 * * 5"')),
    time_zone: z.optional(timeZone),
    /** What makes two runs the same: the slot, or the day, ISO week or month it falls in. */
    granularity: z._default(z.enum(['slot', 'day', 'iso-week', 'month']), 'slot'),
    plan: z.optional(showPath),
    run: z._default(z.enum(['allocate', 'generate']), 'allocate'),
    late: z._default(z.enum(['hold', 'run']), 'hold'),
    late_after: z._default(duration, 'PT12H'),
  }),
);
export type Schedule = z.infer<typeof Schedule>;

const Provider = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('local') }),
    z.strictObject({
      type: z.literal('exec'),
      command: z.array(z.string()).check(z.minLength(1)),
      env: z._default(variables, []),
    }),
    z.strictObject({
      type: z.literal('http'),
      mapping: z.string().check(z.minLength(1)),
      env: z._default(variables, []),
      /** Addresses in the place of the mapping's, by its names: a region of the provider's, a proxy. */
      servers: z._default(z.record(name, z.string()), {}),
      allow_private: z._default(z.boolean(), false),
    }),
  ]),
);
export type ProviderConfig = z.infer<typeof Provider>;

const repeat = z._default(z.enum(['never', 'windowed']), 'never');

const Publisher = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('directory'), path: showPath, url: z.optional(z.string()), repeat }),
    z.strictObject({ type: z.literal('put'), url: z.string(), env: z._default(variables, []), repeat }),
    z.strictObject({ type: z.literal('youtube'), env: z._default(variables, []), repeat }),
    z.strictObject({
      type: z.literal('exec'),
      command: z.array(z.string()).check(z.minLength(1)),
      env: z._default(variables, []),
      repeat,
    }),
  ]),
);

const Caps = z.strictObject({
  per_episode: z.optional(z.record(name, decimal)),
  per_week: z.optional(z.record(name, decimal)),
});

const Budget = z.strictObject({
  per_episode: z.optional(decimal),
  per_week: z.optional(decimal),
  quantities: z.optional(Caps),
});

export const Config = z.strictObject({
  $schema: z.optional(z.string()),
  format: z.literal(1),
  show: z
    .string()
    .check(
      z.regex(/^[^\u0000-\u001f\u007f-\u009f]{1,200}$/, 'a name of 1 to 200 characters without control characters'),
    ),
  time_zone: timeZone,
  currency: currency,
  budget: z._default(Budget, {}),
  schedules: z._default(z.record(name, Schedule), {}),
  providers: z._default(z.record(name, Provider), {}),
  publishers: z._default(z.record(name, Publisher), {}),
  retention: z._default(
    z.strictObject({
      identities: z._default(z.nullable(duration), null),
      artifacts: z._default(z.nullable(duration), null),
    }),
    { identities: null, artifacts: null },
  ),
});
export type Config = z.infer<typeof Config>;

/** Zones that the platform's data does not know, each as a fault of `pipeline.json`. */
export const unknownZones = (config: Config): string[] =>
  [['time_zone', config.time_zone] as const, ...zonesOfSchedules(config)].flatMap(([where, zone]) =>
    zone === undefined || isTimeZone(zone) ? [] : [`${where}: "${zone}" is no time zone; write e.g. Asia/Tokyo`],
  );

const zonesOfSchedules = (config: Config) =>
  Object.entries(config.schedules).map(([name, { time_zone }]) => [`schedules.${name}.time_zone`, time_zone] as const);

/** Providers that need no entry in `pipeline.json`. */
const BUILT_IN = ['assembly', 'local'] as const;

export const providerNames = (config: Config): Set<string> => new Set([...BUILT_IN, ...Object.keys(config.providers)]);

/** What a provider of that name is, in this show; `null`: there is none. An assembly cannot be configured to be another. */
export function providerType({ providers }: Config, name: string): 'assembly' | ProviderConfig['type'] | null {
  if (name === 'assembly') return 'assembly';
  if (Object.hasOwn(providers, name)) return providers[name]!.type;
  return name === 'local' ? 'local' : null;
}

/** Providers that may charge: all but the built-in ones. */
export const mayCharge = (config: Config): string[] =>
  Object.entries(config.providers)
    .filter(([, provider]) => provider.type !== 'local')
    .map(([provider]) => provider);
