import { generate, planGenerate } from '../../generate.ts';
import { episode, step } from '../options.ts';
import { definePaid, PAID_EXITS, paidAnswer, paidOptions, previewAnswer } from '../paid.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    definePaid(command.argument('<id>', 'the episode').option('--step <step>', 'only this step'));
  },
  examples: [
    'episode generate 2026-W32-0',
    'episode generate 2026-W32-0 --dry-run',
    'episode generate 2026-W32-0 --step s2 --max-cost 0.50',
  ],
  exits: PAID_EXITS,
  endsItself: true,
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const wanted = { ...paidOptions(options), step: step(options) };
    const services = await context.spending();
    if (options.dryRun) return previewAnswer(services, await planGenerate(services, id, wanted));
    return paidAnswer(await generate(services, id, wanted));
  },
};
