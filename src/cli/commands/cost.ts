import { type Costs, cost } from '../../cost.ts';
import { usage } from '../../errors.ts';
import { episode, week } from '../options.ts';
import { money, table } from '../render.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command
      .argument('[id]', 'the episode; else the week, else the whole show')
      .option('--week <week>', 'ISO week, e.g. 2026-W32')
      .option('--csv', 'one line a charge, to compare with an invoice');
  },
  examples: ['episode cost 2026-W32-0', 'episode cost --week 2026-W32 --csv'],
  exits: [64, 65, 66, 78],
  async run(context, { args, options }) {
    const asked = week(options);
    if (args[0] !== undefined && asked !== null)
      throw usage('give either an episode ID or --week', 'cost', 'episode cost --help');
    const { currency } = await context.config();
    const scope =
      args[0] !== undefined ? { episodeId: episode(args[0]) } : asked !== null ? { week: asked } : ('show' as const);
    const costs = await cost(context.reading(), scope);
    return { document: costs, text: options.csv ? csv(costs) : await text(costs, currency) };
  },
};

type Row = Costs['rows'][number];

async function text({ rows, totals }: Costs, currency: string): Promise<string> {
  if (rows.length === 0) return 'nothing was, may be or will be charged\n';
  const columns: [string, (row: Row) => string][] = [
    ['at', (row) => row.at],
    ['episode', (row) => row.episode_id],
    ['step', (row) => row.step],
    ['take', (row) => `${row.take ?? ''}`],
    ['provider', (row) => row.provider],
    ['reference', (row) => row.ref ?? ''],
    ['state', (row) => row.state],
    ['amount', (row) => amountOf(row) ?? '?'],
    ['unit', (row) => row.unit],
    ['basis', (row) => row.basis],
    ['quantities', quantities],
  ];
  const filled = columns.filter(([name, of]) => name !== 'quantities' || rows.some((row) => of(row) !== ''));
  const lines = [filled.map(([name]) => name), ...rows.map((row) => filled.map(([, of]) => of(row)))];
  const units = [...new Set([currency, ...totals.map((total) => total.unit)])];
  return `${await table(lines)}\n${units.map((unit) => money(totals, unit)).join('\n')}\n`;
}

/** What was, may be or will be charged: of what was released, nothing. */
const amountOf = ({ state, amount }: Row): string | null => (state === 'released' ? '0' : amount);

const quantities = ({ state, quantities }: Row): string =>
  Object.entries(state === 'released' ? {} : quantities)
    .map(([name, quantity]) => `${name}=${quantity}`)
    .join(' ');

const CSV: [string, (row: Row) => string][] = [
  ['sent_at', (row) => row.sent_at ?? ''],
  ['at', (row) => row.at],
  ['episode_id', (row) => row.episode_id],
  ['step', (row) => row.step],
  ['take', (row) => `${row.take ?? ''}`],
  ['attempt_id', (row) => row.attempt_id],
  ['provider', (row) => row.provider],
  ['reference', (row) => row.ref ?? ''],
  ['state', (row) => row.state],
  // Nobody's price is no 0.
  ['amount', (row) => amountOf(row) ?? ''],
  ['unit', (row) => row.unit],
  ['basis', (row) => row.basis],
  ['quantities', quantities],
];

/** RFC 4180, amounts to the last digit as they are on record. */
const csv = ({ rows }: Costs): string =>
  [CSV.map(([name]) => name), ...rows.map((row) => CSV.map(([, of]) => cell(of(row))))]
    .map((line) => `${line.join(',')}\r\n`)
    .join('');

/** What a spreadsheet would run as a formula, full-width signs and leading space included (OWASP, CSV injection). */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/** With an apostrophe before it a formula is text; in quotes it stays one cell also where `;` or a tab divides cells. */
function cell(value: string): string {
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
