import { usage } from '../../errors.ts';
import { type Why, whyEpisode, whyKey } from '../../why.ts';
import { episode, text } from '../options.ts';
import { when } from '../times.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command.argument('[id]', 'the episode').option('--key <key>', 'or an allocation key');
  },
  examples: ['episode why 2026-W32-0', 'episode why --key "scheduled-run:2026-08-07"'],
  exits: [64, 65, 66, 78],
  async run(context, { args, options }) {
    const key = text(options, 'key');
    if ((key === null) === (args[0] === undefined))
      throw usage('give either an episode ID or --key', 'why', 'episode why --help');
    const { time_zone } = await context.config();
    const store = context.reading();
    const why = key === null ? await whyEpisode(store, episode(args[0])) : await whyKey(store, key);
    return { document: why, text: whyText(why, time_zone) };
  },
};

function whyText(why: Why, zone: string): string {
  const { allocation } = why;
  const rows: [string, string | null][] = [
    [
      'key',
      `${why.allocation_key} (${allocation.source}${allocation.schedule ? `, schedule ${allocation.schedule}` : ''})`,
    ],
    [
      'week',
      `${why.week_id}, ${allocation.slot ? `of the slot ${allocation.slot}` : 'asked for, or the week of its making'}, in ${allocation.time_zone}`,
    ],
    ['made', `${when(allocation.allocated_at, zone)} by ${allocation.allocated_by}`],
    ['plan', allocation.plan_sha256 && `given by hand, ${allocation.plan_sha256.slice(0, 12)}`],
    ['issued', allocation.issued_at],
    ['key kept', allocation.key_is_stable && `because ${allocation.key_is_stable}`],
    ['again of', why.again_of],
  ];
  const facts = rows.flatMap(([name, value]) => (value === null ? [] : [`  ${name.padEnd(8)}  ${value}`]));
  const events = why.events.map(
    (event) => `  ${when(event.at, zone)}  ${[event.event, ...stepsOf(event)].join(' ')}, ${event.by}${saidOf(event)}`,
  );
  return `${[`${why.episode_id}  ${why.status}`, ...facts, 'since then:', ...events].join('\n')}\n`;
}

type Event = Why['events'][number];

const stepsOf = ({ step, steps }: Event): string[] =>
  typeof step === 'string' ? [step] : ((steps as string[] | undefined) ?? []);

/** What a person gave as the reason, or as how he knows. */
function saidOf({ reason, evidence }: Event): string {
  const said = reason ?? evidence;
  return typeof said === 'string' ? `: ${said}` : '';
}
