import { usage } from '../../errors.ts';
import { reject } from '../../reject.ts';
import { episode, step, text } from '../options.ts';
import { paidAnswer } from '../paid.ts';
import { statement } from '../statement.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command
      .argument('<id>', 'the episode')
      .option('--step <step>', 'the step whose output is rejected')
      .option('--reason <text>', 'why; kept with the take')
      .option('--by <who>', 'who rejects; else the login name')
      .option('--dry-run', 'what would be rejected; touches nothing');
  },
  examples: ['episode reject 2026-W32-0 --step s3 --reason "six fingers"'],
  exits: [14, 64, 65, 66, 75, 77],
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const rejected = step(options);
    if (rejected === null) throw usage('--step is missing', '--step', 'episode reject --help');
    const dryRun = options.dryRun === true;
    const said = {
      step: rejected,
      reason: statement(options, 'reason'),
      by: text(options, 'by') ?? context.port.user,
      dryRun,
    };
    const config = await context.config();
    const store = dryRun ? context.reading() : context.writing();
    const answer = await paidAnswer(await reject({ store, port: context.port, config }, id, said));
    if (!dryRun) return answer;
    const foreseen = `${id}  would reject the output of ${rejected}; nothing was touched. It would then be:\n${answer.text}`;
    return { ...answer, document: { ...answer.document, dry_run: true }, text: foreseen, committed: false };
  },
};
