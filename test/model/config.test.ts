import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import en from 'zod/v4/locales/en.js';
import { Config, durationMs } from '../../src/model/config.ts';
import { describeIssues } from '../../src/model/issues.ts';

const least = { format: 1, show: 'brief', time_zone: 'Asia/Tokyo', currency: 'USD' };

const faultsOf = (more: object): string[] => {
  const result = Config.safeParse({ ...least, ...more }, { reportInput: true });
  return result.success ? [] : describeIssues(result.error, Config);
};

test('the least configuration has every default filled in', () => {
  expect(Config.parse({ ...least, schedules: { friday: { cron: '0 9 * * 5' } } })).toEqual({
    ...least,
    budget: {},
    schedules: {
      friday: { cron: '0 9 * * 5', granularity: 'slot', run: 'allocate', late: 'hold', late_after: 'PT12H' },
    },
    providers: {},
    publishers: {},
    retention: { identities: null, artifacts: null },
  });
});

test('the example of the design is taken as it stands', () => {
  expect(
    faultsOf({
      budget: {
        per_episode: '20.00',
        per_week: '60.00',
        quantities: { per_episode: { video_seconds: '300' } },
      },
      schedules: {
        friday: {
          cron: '0 9 * * 5',
          time_zone: 'Asia/Tokyo',
          granularity: 'slot',
          plan: 'plans/friday.json',
          run: 'allocate',
          late: 'hold',
          late_after: 'PT12H',
        },
      },
      providers: {
        local: { type: 'local' },
        fal: { type: 'http', mapping: 'fal', env: ['FAL_KEY'] },
        house: { type: 'exec', command: ['./render', '--fast'], env: ['HOUSE_KEY'] },
      },
      publishers: {
        site: { type: 'directory', path: 'public', url: 'https://brief.example/' },
        store: { type: 'put', url: 'https://media.example/show/' },
        tube: { type: 'youtube', repeat: 'never' },
      },
      retention: { identities: null, artifacts: null },
    }),
  ).toEqual([]);
});

describe('a configuration is refused', () => {
  test.each<[object, string[]]>([
    [{ budgt: {} }, ['Unrecognized key: "budgt" (is "budget" meant?)']],
    [{ budget: { per_epsiode: '1' } }, ['budget: Unrecognized key: "per_epsiode" (is "per_episode" meant?)']],
    [
      { providers: { house: { type: 'exec', comand: ['x'] } } },
      [
        'providers.house.command: Invalid input: expected array, received undefined',
        'providers.house: Unrecognized key: "comand" (is "command" meant?)',
      ],
    ],
    [{ budget: { per_episode: 20 } }, ['budget.per_episode: Invalid input: expected string, received number']],
    [{ budget: { per_episode: '20,00' } }, ['budget.per_episode: an exact decimal like "0.40"']],
    [{ currency: 'usd' }, ['currency: an ISO 4217 currency like USD']],
    [{ time_zone: '+09:00' }, ['time_zone: an IANA time zone like Asia/Tokyo']],
    [{ providers: { House: { type: 'local' } } }, ['providers.House: Invalid key in record']],
    [
      { schedules: { friday: { cron: '0 9 * * 5', late_after: '12h' } } },
      ['schedules.friday.late_after: an ISO 8601 duration like PT12H or P2D'],
    ],
    [
      { schedules: { friday: { cron: '0 9 * * 5', plan: '../plan.json' } } },
      ['schedules.friday.plan: a path inside the show: relative, without "." or ".."'],
    ],
    [
      { providers: { house: { type: 'exec', command: ['x'], env: ['A B'] } } },
      ['providers.house.env.0: the name of an environment variable'],
    ],
    [{ entirely_unlike: 1 }, ['Unrecognized key: "entirely_unlike"']],
  ])('%j', (more, faults) => {
    expect(faultsOf(more)).toEqual(faults);
  });

  test('whatever language somebody else in this process has set zod', () => {
    const before = z.config().localeError;
    try {
      z.config({ localeError: en().localeError });
      expect(faultsOf({ shwo: 'a', currencie: 'b' })).toEqual([
        'Unrecognized key: "shwo" (is "show" meant?)',
        'Unrecognized key: "currencie" (is "currency" meant?)',
      ]);
    } finally {
      z.config({ localeError: before });
    }
  });

  test('without what it must say', () => {
    const result = Config.safeParse({}, { reportInput: true });
    expect(describeIssues(result.error!, Config)).toEqual([
      'format: Invalid input: expected 1',
      'show: Invalid input: expected string, received undefined',
      'time_zone: Invalid input: expected string, received undefined',
      'currency: Invalid input: expected string, received undefined',
    ]);
  });
});

test.each([
  ['PT12H', 43_200_000],
  ['P2D', 172_800_000],
  ['P1DT1H1M1S', 90_061_000],
  ['PT0S', 0],
])('%s is %d ms', (duration, ms) => {
  expect(durationMs(duration)).toBe(ms);
});
