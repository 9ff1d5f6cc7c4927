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

async function text({ rows, totals }: Costs, currency: string): Promise<string> {
  if (rows.length === 0) return 'nothing was, may be or will be charged\n';
  const lines = rows.map((row) => [
    row.at,
    row.episode_id,
    row.step,
    row.provider,
    row.state,
    row.amount ?? '?',
    row.unit,
    row.basis,
  ]);
  const units = [...new Set([currency, ...totals.map((total) => total.unit)])];
  const sums = units.map((unit) => money(totals, unit));
  return `${await table([['at', 'episode', 'step', 'provider', 'state', 'amount', 'unit', 'basis'], ...lines])}\n${sums.join('\n')}\n`;
}

/** RFC 4180; a cell that a spreadsheet would run as a formula is quoted with an apostrophe. */
function csv({ rows }: Costs): string {
  const cell = (value: string): string => {
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = rows.map((row) =>
    [
      ...[
        row.at,
        row.episode_id,
        row.step,
        row.attempt_id,
        row.provider,
        row.state,
        row.amount ?? '',
        row.unit,
        row.basis,
      ],
      Object.entries(row.quantities)
        .map(([name, quantity]) => `${name}=${quantity}`)
        .join(' '),
    ]
      .map(cell)
      .join(','),
  );
  return `${['at,episode_id,step,attempt_id,provider,state,amount,unit,basis,quantities', ...lines].join('\r\n')}\r\n`;
}
