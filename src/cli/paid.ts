import type { Command } from 'commander';
import { mostImportant, planMissing } from '../errors.ts';
import type { PaidOptions } from '../generate.ts';
import type { Episode } from '../model/episode.ts';
import { type StepView, viewSteps } from '../model/status.ts';
import { price } from '../spend/preview.ts';
import type { SpendAnswer, SpendReport } from '../spend/report.ts';
import type { SpendServices } from '../spend/services.ts';
import { amount, duration } from './options.ts';
import { price as priceText } from './render.ts';
import type { Answer } from './verbs.ts';

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

function reportText(report: SpendReport): string {
  const width = Math.max(4, ...report.steps.map(({ step }) => step.length));
  const { currency, settled, reserved, possible } = report.cost;
  const lines = report.steps.map(({ step, state, cost }) =>
    `  ${state.padEnd(9)}  ${step.padEnd(width)}  ${cost ? priceText(cost, currency) : ''}`.trimEnd(),
  );
  const sums = `${settled} settled${/[1-9]/.test(reserved) ? `, ${reserved} running` : ''}${/[1-9]/.test(possible) ? `, up to ${possible} possible` : ''} ${currency}`;
  const next = report.next.length > 0 ? ['next:', ...report.next.map((command) => `  ${command}`)] : [];
  return `${[`${report.episode_id}  ${report.status}  ${sums}`, ...lines, ...next].join('\n')}\n`;
}

/** `--dry-run`: each step's verdict and worst case, asked of the record as it stands. */
export async function previewAnswer(
  services: SpendServices,
  episode: Episode,
  mayStart: (view: StepView) => boolean,
): Promise<Answer> {
  if (!episode.plan) throw planMissing(episode.episode_id);
  const views = viewSteps(episode);
  const starting = views.filter((view) => view.step && mayStart(view));
  const preview = await price(
    services,
    starting.map((view) => view.step!),
  );
  const steps = views.map((view) => ({
    step: view.id,
    state: view.state,
    would: starting.includes(view) ? ('start' as const) : ('stay' as const),
    worst_case: preview.steps.find(({ step }) => step === view.id)?.worst_case ?? null,
  }));
  const document = {
    episode_id: episode.episode_id,
    status: episode.status,
    dry_run: true,
    steps,
    worst_case: { currency: services.config.currency, amount: preview.worst_case, unpriced: preview.unpriced },
  };
  const lines = steps.map(({ step, state, would, worst_case }) =>
    would === 'start'
      ? `  start  ${step}  up to ${worst_case?.amount ?? '?'} ${worst_case?.unit}`
      : `  stay   ${step}  ${state}`,
  );
  const unpriced = preview.unpriced.length > 0 ? `, and ${preview.unpriced.join(', ')} without a price` : '';
  const text = `${episode.episode_id}  would reserve up to ${preview.worst_case} ${services.config.currency}${unpriced}; nothing was touched\n${lines.join('\n')}\n`;
  return { document, text };
}
