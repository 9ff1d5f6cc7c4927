import { close } from '../../close.ts';
import { episode, text } from '../options.ts';
import { statement } from '../statement.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command
      .argument('<id>', 'the episode')
      .option('--reason <text>', 'why; recorded. It cannot be opened again')
      .option('--by <who>', 'who closes it; else the login name');
  },
  examples: ['episode close 2026-W32-1 --reason "made twice by mistake"'],
  exits: [11, 64, 65, 66, 75, 77],
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const said = { reason: statement(options, 'reason'), by: text(options, 'by') ?? context.port.user };
    const { episode_id, status, closed } = await close({ store: context.writing(), port: context.port }, id, said);
    return {
      document: { episode_id, status, closed },
      text: `${id}  closed for good: ${closed!.reason}\n  nothing was deleted; its key stays its key, and another episode takes another key\n`,
      committed: true,
    };
  },
};
