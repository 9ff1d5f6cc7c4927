import { resolve } from 'node:path';
import { loadPlan } from '../../config.ts';
import { mergePlan, type PlanAnswer, priceOnly } from '../../plan.ts';
import { readEpisode } from '../../record.ts';
import { episode, required } from '../options.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command
      .argument('[id]', 'the episode that gets the plan; without, it is validated and priced')
      .option('--file <file>', 'the plan')
      .option('--dry-run', 'what would change; touches nothing');
  },
  examples: ['episode plan --file plans/friday.json', 'episode plan 2026-W32-0 --file plans/friday.json'],
  exits: [14, 64, 65, 66, 75, 77, 78],
  async run(context, { args, options }) {
    const id = args[0] === undefined ? null : episode(args[0]);
    const file = required(options, 'file');
    const dryRun = options.dryRun === true;
    const services = await context.spending(id === null || dryRun ? 'read' : 'write');
    // That there is no such episode comes before anything that is wrong with the plan.
    if (id !== null) await services.store.view((view) => readEpisode(view, id));
    const plan = await loadPlan(context.port.disk, resolve(context.cwd, file), file, services.config);
    const answer = id === null ? await priceOnly(services, plan) : await mergePlan(services, id, plan, { dryRun });
    const notes = dryRun ? ['nothing was touched'] : answer.verdict === 'replay' ? [`${id} has this plan already`] : [];
    return {
      document: answer,
      text: planText(answer, services.config.currency),
      notes,
      committed: id !== null && !dryRun,
    };
  },
};

function planText(answer: PlanAnswer, currency: string): string {
  const lines = answer.steps.map(
    ({ step, provider, kind, worst_case: { amount, unit, basis } }) =>
      `  ${step}  ${provider}  ${kind}  ${basis === 'free' ? 'free' : `up to ${amount ?? '?'} ${unit}`}`,
  );
  const unpriced = answer.unpriced.length > 0 ? `, and ${answer.unpriced.join(', ')} without a price` : '';
  const changes = (['added', 'changed', 'left_out', 'stale'] as const).flatMap((kind) =>
    answer.episode_id === null || answer[kind].length === 0
      ? []
      : [`  ${kind.replace('_', ' ')}: ${answer[kind].join(', ')}`],
  );
  const head = `${answer.episode_id ?? 'plan'}  ${answer.plan_sha256.slice(0, 12)}  ${answer.steps.length} steps, up to ${answer.worst_case} ${currency}${unpriced}`;
  return `${[head, ...lines, ...changes].join('\n')}\n`;
}
