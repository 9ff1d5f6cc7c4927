import { mostImportant, usage } from '../../errors.ts';
import { reconcile, reconcileAll } from '../../reconcile.ts';
import { episode, step } from '../options.ts';
import { paidAnswer, reportText } from '../paid.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command
      .argument('[id]', 'the episode; else every episode with something open')
      .option('--step <step>', 'only this step');
  },
  examples: ['episode reconcile 2026-W32-0', 'episode reconcile 2026-W32-0 --step s2', 'episode reconcile'],
  exits: [11, 12, 14, 64, 65, 66, 69, 75, 76, 77, 78],
  endsItself: true,
  async run(context, { args, options }) {
    const id = args[0] === undefined ? null : episode(args[0]);
    const only = step(options);
    if (id !== null) return paidAnswer(await reconcile(await context.spending(), id, { step: only }));
    if (only !== null) throw usage('--step needs the episode that it is of', '--step', 'episode reconcile --help');
    const { answers, failures } = await reconcileAll(await context.spending());
    const reports = answers.map(({ report }) => report);
    const error = mostImportant(failures);
    return {
      document: { episodes: reports },
      text: reports.length + failures.length === 0 ? 'nothing is open\n' : reports.map(reportText).join(''),
      error,
      further: failures.filter((failure) => failure !== error),
      committed: true,
    };
  },
};
