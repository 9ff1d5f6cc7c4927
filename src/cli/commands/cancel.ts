import { cancel } from '../../cancel.ts';
import { usage } from '../../errors.ts';
import { episode, step } from '../options.ts';
import { paidAnswer } from '../paid.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command.argument('<id>', 'the episode').option('--step <step>', 'the step whose task is to stop');
  },
  examples: ['episode cancel 2026-W32-0 --step s2'],
  exits: [11, 12, 14, 64, 65, 66, 69, 75, 76, 77, 78],
  endsItself: true,
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const canceled = step(options);
    if (canceled === null) throw usage('--step is missing', '--step', 'episode cancel --help');
    return paidAnswer(await cancel(await context.spending(), id, canceled));
  },
};
