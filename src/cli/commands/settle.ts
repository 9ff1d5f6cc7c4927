import { usage } from '../../errors.ts';
import { type SettleForm, settle } from '../../settle.ts';
import { episode, step, text } from '../options.ts';
import { paidAnswer } from '../paid.ts';
import { reference, statement } from '../statement.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command
      .argument('<id>', 'the episode')
      .option('--step <step>', 'the held step')
      .option(
        '--accepted <ref>',
        'it is at the provider, under this reference; also another one, if the first was wrong',
      )
      .option('--not-accepted', 'it surely is not there; the step is ready again')
      .option('--write-off', 'it cannot be known; its cost stays possible, and retry may pay again')
      .option('--evidence <text>', 'how you know; recorded')
      .option('--by <who>', 'who says so; else the login name');
  },
  examples: [
    'episode settle 2026-W32-0 --step s2 --accepted task_91 --evidence "Requests, 09:44, harbour at dawn"',
    'episode settle 2026-W32-0 --step s2 --not-accepted --evidence "billing page shows nothing since 09:00"',
    'episode settle 2026-W32-0 --step s2 --write-off --evidence "support does not answer"',
  ],
  exits: [14, 64, 65, 66, 75, 77],
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const settled = step(options);
    if (settled === null) throw usage('--step is missing', '--step', 'episode settle --help');
    const said = {
      ...formOf(options),
      evidence: statement(options, 'evidence'),
      by: text(options, 'by') ?? context.port.user,
    };
    const config = await context.config();
    return paidAnswer(await settle({ store: context.writing(), port: context.port, config }, id, settled, said));
  },
};

function formOf(options: Record<string, unknown>): SettleForm {
  const ref = text(options, 'accepted');
  const forms: SettleForm[] = [
    ...(ref === null ? [] : [{ form: 'accepted' as const, ref: reference(ref) }]),
    ...(options.notAccepted === true ? [{ form: 'not_accepted' as const }] : []),
    ...(options.writeOff === true ? [{ form: 'write_off' as const }] : []),
  ];
  if (forms.length === 1) return forms[0]!;
  throw usage('say exactly one of --accepted REF, --not-accepted, --write-off', 'settle', 'episode settle --help');
}
