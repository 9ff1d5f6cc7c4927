import { mostImportant, usage } from '../../errors.ts';
import { type Attention, type Listed, type Listing, list } from '../../list.ts';
import { EpisodeStatus } from '../../model/episode.ts';
import type { Context } from '../context.ts';
import { text, week } from '../options.ts';
import { charged, span, table } from '../render.ts';
import { minute, type Reader } from '../times.ts';
import type { Verb } from '../verbs.ts';

/** Finished episodes that are shown without being asked for. */
const RECENT = 5;

export const verb: Verb = {
  define(command) {
    command
      .option('--week <week>', 'only this ISO week')
      .option(
        '--status <status>',
        `only these: ${EpisodeStatus.def.entries ? Object.keys(EpisodeStatus.def.entries).join(', ') : ''}`,
      )
      .option('--all', 'also all that is done');
  },
  examples: ['episode list', 'episode list --week 2026-W32', 'episode list --status held --json'],
  exits: [64, 65, 78],
  async run(context, { options }) {
    const status = statusOf(text(options, 'status'));
    const asked = week(options);
    const listing = await list({ store: context.reading(), port: context.port }, { week: asked, status });
    const isFiltered = asked !== null || status !== null;
    const everything = options.all === true || isFiltered;
    const { damage, ...document } = listing;
    const error = mostImportant(damage);
    return {
      document,
      text: await listText(context, listing, { everything, isFiltered }),
      error,
      further: damage.filter((other) => other !== error),
    };
  },
};

function statusOf(value: string | null): EpisodeStatus | null {
  if (value === null) return null;
  const known = Object.keys(EpisodeStatus.def.entries);
  if (known.includes(value)) return value as EpisodeStatus;
  throw usage(`--status ${value} is none`, '--status', `there is ${known.join(', ')}`);
}

async function listText(
  context: Context,
  { episodes, attention, damage }: Listing,
  { everything, isFiltered }: { everything: boolean; isFiltered: boolean },
): Promise<string> {
  if (episodes.length + attention.length + damage.length === 0)
    return isFiltered
      ? 'no such episodes; episode list --all shows what there is\n'
      : 'no episodes; episode allocate --key K makes one\n';
  const { currency, time_zone } = await context.config();
  const reader = { zone: time_zone, now: context.port.now() };
  const needing = new Set(attention.map((one) => one.episode_id));
  const unfinished = episodes.filter(
    (one) => !needing.has(one.episode_id) && !['complete', 'closed'].includes(one.status),
  );
  const running = unfinished.filter((one) => one.running.length > 0);
  const open = unfinished.filter((one) => one.running.length === 0);
  const done = episodes.filter((one) => ['complete', 'closed'].includes(one.status));
  const shown = everything ? done : done.slice(0, RECENT);
  const rows = [
    ...section(
      'NEEDS YOU',
      attention.map((one) => attentionCells(one, reader)),
    ),
    ...section(
      'RUNNING',
      running.map((one) => [one.episode_id, one.status, runningText(one), one.title ?? '']),
    ),
    ...section(
      'OPEN',
      open.map((one) => [one.episode_id, one.status, openText(one), one.next[0] ?? '']),
    ),
    ...section(
      'DONE',
      shown.map((one) => doneCells(one, currency)),
    ),
  ];
  const older = done.length - shown.length;
  return `${await table(rows)}${older > 0 ? `     (${older} older: --all)` : ''}\n`;
}

/** `2 of 5 steps; Harbour at dawn`. */
const openText = ({ steps_done, steps, title }: Listed): string =>
  [steps === 0 ? 'no plan yet' : `${steps_done} of ${steps} steps`, ...(title === null ? [] : [title])].join('; ');

/** `2 of 5; s3 at fal 40 %`. */
const runningText = ({ steps_done, steps, running }: Listed): string =>
  [
    `${steps_done} of ${steps}`,
    ...running.map(
      ({ step, provider, progress }) =>
        `${step} at ${provider}${progress === null ? '' : ` ${Math.floor(progress * 100)} %`}`,
    ),
  ].join('; ');

const section = (name: string, rows: string[][]): string[][] =>
  rows.map((row, index) => [index === 0 ? name : '', ...row]);

function attentionCells(one: Attention, reader: Reader): string[] {
  const risk = one.at_risk ? `, ${one.at_risk.amount ?? 'an unknown amount'} ${one.at_risk.unit} at risk` : '';
  const since =
    one.since === null
      ? ''
      : one.what === 'held'
        ? ` ${span(reader.now - Date.parse(one.since))}`
        : ` since ${minute(one.since, reader)}`;
  return [one.episode_id, one.what, `${one.message}${since}${risk}`, one.command];
}

const doneCells = (one: Listed, currency: string): string[] => [
  one.episode_id,
  one.stale.length === 0 || one.status === 'closed' ? one.status : `${one.status}, ${one.stale.join(' and ')} stale`,
  charged(one.cost, currency),
  one.title ?? '',
];
