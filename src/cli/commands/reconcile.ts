import { reconcile } from '../../reconcile.ts';
import { episode, step } from '../options.ts';
import { paidAnswer } from '../paid.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command.argument('<id>', 'the episode').option('--step <step>', 'only this step');
  },
  examples: ['episode reconcile 2026-W32-0', 'episode reconcile 2026-W32-0 --step s2'],
  exits: [11, 12, 14, 64, 65, 66, 69, 75, 76, 77, 78],
  endsItself: true,
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const only = step(options);
    return paidAnswer(await reconcile(await context.spending(), id, { step: only }));
  },
};
