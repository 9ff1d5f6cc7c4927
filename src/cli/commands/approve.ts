import { approve, planApproval } from '../../approve.ts';
import { usage } from '../../errors.ts';
import { episode, stepNames, text } from '../options.ts';
import { definePaid, PAID_EXITS, paidAnswer, paidOptions, previewAnswer } from '../paid.ts';
import { when } from '../times.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    definePaid(
      command
        .argument('<id>', 'the episode')
        .option('--step <step...>', 'the steps whose output is approved; not needed when one waits')
        .option('--sha256 <hash>', 'what you saw: the hash of the output, or its first 8 characters or more')
        .option('--by <who>', 'who approves; else the login name'),
    );
  },
  examples: [
    'episode approve 2026-W32-0',
    'episode approve 2026-W32-0 --step s1 --sha256 4be1a09c77d2',
    'episode approve 2026-W32-0 --step s1 --by mika',
  ],
  exits: PAID_EXITS,
  endsItself: true,
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const sha256 = text(options, 'sha256');
    if (sha256 !== null && !/^[0-9a-f]{8,64}$/.test(sha256)) {
      throw usage(`--sha256 ${sha256} is no hash`, '--sha256', '8 to 64 hex digits, as episode show prints them');
    }
    const by = text(options, 'by') ?? context.port.user;
    const wanted = { ...paidOptions(options), steps: stepNames(options), sha256, by };
    const services = await context.spending();
    if (options.dryRun) return previewAnswer(services, await planApproval(services, id, wanted));
    const { before, ...answer } = await approve(services, id, wanted);
    const { time_zone } = services.config;
    const notes = before
      .filter((approval) => approval.by !== by)
      .map((approval) => `${approval.step}: approved by ${approval.by} ${when(approval.at, time_zone)}, which stays`);
    return { ...(await paidAnswer(answer)), notes };
  },
};
