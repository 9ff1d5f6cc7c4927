import type { Command } from 'commander';
import { mostImportant } from '../errors.ts';
import type { PaidOptions } from '../generate.ts';
import type { SpendPlan } from '../spend/authority.ts';
import type { Foreseen } from '../spend/preview.ts';
import type { SpendAnswer, SpendReport } from '../spend/report.ts';
import type { SpendServices } from '../spend/spend-services.ts';
import { amount, duration } from './options.ts';
import type { Answer } from './verbs.ts';

type Cost = NonNullable<SpendReport['steps'][number]['cost']>;

/** What the paid verbs have in common on the command line. */

export const PAID_EXITS = [10, 11, 12, 13, 14, 64, 65, 66, 69, 75, 76, 77, 78];

export function definePaid(command: Command): Command {
  return command
    .option('--dry-run', 'what would be started and what it may cost; touches nothing')
    .option('--max-cost <amount>', 'reserve at most this much, in the currency of the show')
    .option('--wait <duration>', 'how long accepted tasks are followed, e.g. 30m', '30m');
}

export const paidOptions = (options: Record<string, unknown>): PaidOptions => ({
  maxCost: amount(options, 'maxCost'),
  waitMs: duration(options, 'wait', '30m'),
});

export async function paidAnswer({ report, failures }: SpendAnswer): Promise<Answer> {
  const error = mostImportant(failures);
  return {
    document: report,
    text: reportText(report),
    error,
    further: failures.filter((failure) => failure !== error),
    committed: true,
  };
}

export function reportText(report: SpendReport): string {
  const width = Math.max(4, ...report.steps.map(({ step }) => step.length));
  const states = Math.max(9, ...report.steps.map(({ written_off }) => (written_off ? 'written off'.length : 0)));
  const { currency, settled, reserved, possible } = report.cost;
  const lines = report.steps.map(({ step, state, written_off, cost }) =>
    `  ${(written_off ? 'written off' : state).padEnd(states)}  ${step.padEnd(width)}  ${cost ? costText(cost, currency) : ''}`.trimEnd(),
  );
  const sums = `${settled} settled${/[1-9]/.test(reserved) ? `, ${reserved} running` : ''}${/[1-9]/.test(possible) ? `, up to ${possible} possible` : ''} ${currency}`;
  const next = report.next.length > 0 ? ['next:', ...report.next.map((command) => `  ${command}`)] : [];
  return `${[`${report.episode_id}  ${report.status}  ${sums}`, ...lines, ...next].join('\n')}\n`;
}

const costText = ({ state, amount, unit }: Cost, currency: string): string =>
  state === 'released'
    ? ''
    : `${state === 'settled' ? '' : '<='}${amount ?? '?'}${unit === currency ? '' : ` ${unit}`}`;

/** `--dry-run`: what would be done about each step, and what it may cost at most. */
export async function previewAnswer(services: SpendServices, plan: SpendPlan): Promise<Answer> {
  const { preview } = await import('../spend/preview.ts');
  const document = await preview(services, plan);
  const { amount, currency, unpriced } = document.worst_case;
  const without = unpriced.length > 0 ? `, and ${unpriced.join(', ')} without a price` : '';
  const head = `${document.episode_id}  would reserve up to ${amount} ${currency}${without}; nothing was touched`;
  return { document, text: `${[head, ...document.steps.map(foreseenText)].join('\n')}\n` };
}

function foreseenText({ step, state, would, why, worst_case }: Foreseen): string {
  switch (would) {
    case 'start':
      return `  start   ${step}  ${worst_case?.basis === 'free' ? 'free' : `up to ${worst_case?.amount ?? '?'} ${worst_case?.unit}`}`;
    case 'refuse':
      return `  refuse  ${step}  ${why}`;
    case 'follow':
    case 'stay':
      return `  ${would.padEnd(6)}  ${step}  ${state}`;
  }
}
