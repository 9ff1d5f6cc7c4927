import { usage } from '../../errors.ts';
import { planRetry, retry } from '../../retry.ts';
import { episode, step } from '../options.ts';
import { definePaid, PAID_EXITS, paidAnswer, paidOptions, previewAnswer } from '../paid.ts';
import { statement } from '../statement.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    definePaid(
      command
        .argument('<id>', 'the episode')
        .option('--step <step>', 'the step that is paid once more')
        .option('--reason <text>', 'why; the same reason again is the same request'),
    );
  },
  examples: ['episode retry 2026-W32-0 --step s3 --reason "six fingers"'],
  exits: PAID_EXITS,
  endsItself: true,
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const retried = step(options);
    if (retried === null) throw usage('--step is missing', '--step', 'episode retry --help');
    const wanted = { ...paidOptions(options), step: retried, reason: statement(options, 'reason') };
    const services = await context.spending();
    if (options.dryRun) return previewAnswer(services, await planRetry(services, id, wanted));
    return paidAnswer(await retry(services, id, wanted));
  },
};
