import { usage } from '../../errors.ts';
import { wait } from '../../wait.ts';
import { duration, episode } from '../options.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command
      .argument('<id>', 'the episode')
      .option('--for <goal>', 'complete, or approval: until something waits for a person', 'complete')
      .option('--timeout <duration>', 'give up after this, e.g. 10m', '30m');
  },
  examples: ['episode wait 2026-W32-0', 'episode wait 2026-W32-0 --for approval --timeout 10m'],
  exits: [11, 12, 14, 64, 66, 75],
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const goal = options.for;
    if (goal !== 'complete' && goal !== 'approval')
      throw usage(`--for ${String(goal)} is neither complete nor approval`, '--for');
    const services = { store: context.reading(), port: context.port, note: (line: string) => context.talk.note(line) };
    const shown = await wait(services, id, { for: goal, timeoutMs: duration(options, 'timeout', '30m') });
    return { document: shown, text: `${id}  ${shown.status}\n` };
  },
};
