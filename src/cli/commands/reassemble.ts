import { planReassembly, reassemble } from '../../reassemble.ts';
import { episode } from '../options.ts';
import { definePaid, PAID_EXITS, paidAnswer, paidOptions, previewAnswer } from '../paid.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    definePaid(command.argument('<id>', 'the episode'));
  },
  examples: ['episode reassemble 2026-W32-0'],
  exits: PAID_EXITS,
  endsItself: true,
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const paid = paidOptions(options);
    const services = await context.spending();
    if (options.dryRun) return previewAnswer(services, await planReassembly(services, id, paid));
    return paidAnswer(await reassemble(services, id, paid));
  },
};
