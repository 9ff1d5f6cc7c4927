import { usage } from '../../errors.ts';
import { readEpisode } from '../../record.ts';
import { settle, settleByResend, settleWithOutput } from '../../settle.ts';
import type { SpendAnswer } from '../../spend/report.ts';
import type { SettleForm } from '../../spend/settleable.ts';
import type { Context } from '../context.ts';
import { episode, step, text } from '../options.ts';
import { ownFile } from '../own-file.ts';
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
      .option(
        '--output <file>',
        'with --accepted: its result, which is copied; repeat it for several',
        (file: string, files: string[] = []) => [...files, file],
      )
      .option('--not-accepted', 'it surely is not there; the step is ready again')
      .option('--write-off', 'it cannot be known; its cost stays possible, and retry may pay again')
      .option('--resend', 'look it up, then send the very same again, where the provider promises to count that once')
      .option('--take <number>', 'which take of the step; else its newest, or the one that can have been accepted')
      .option('--evidence <text>', 'how you know; recorded')
      .option('--by <who>', 'who says so; else the login name');
  },
  examples: [
    'episode settle 2026-W32-0 --step s2 --accepted task_91 --evidence "Requests, 09:44, harbour at dawn"',
    'episode settle 2026-W32-0 --step s2 --accepted task_91 --output ~/harbour.mp4 --evidence "downloaded from History"',
    'episode settle 2026-W32-0 --step s2 --not-accepted --evidence "billing page shows nothing since 09:00"',
    'episode settle 2026-W32-0 --step s2 --write-off --evidence "support does not answer"',
    'episode settle 2026-W32-0 --step s2 --resend --evidence "not in Requests, 10:02"',
  ],
  exits: [10, 11, 12, 14, 64, 65, 66, 69, 75, 76, 77, 78],
  endsItself: true,
  async run(context, { args, options }) {
    const id = episode(args[0]);
    const settled = step(options);
    if (settled === null) throw usage('--step is missing', '--step', 'episode settle --help');
    const form = formOf(options);
    const said = { evidence: statement(options, 'evidence'), by: text(options, 'by') ?? context.port.user };
    return paidAnswer(await record(context, id, settled, form, { ...said, take: takeOf(options, form) }));
  },
};

type Form = SettleForm | { form: 'output'; ref: string; files: string[] } | { form: 'resend' };

function formOf(options: Record<string, unknown>): Form {
  const ref = text(options, 'accepted');
  const files = (options.output ?? []) as string[];
  const forms: Form[] = [
    ...(ref === null ? [] : [acceptedAs(reference(ref), files)]),
    ...(options.notAccepted === true ? [{ form: 'not_accepted' as const }] : []),
    ...(options.writeOff === true ? [{ form: 'write_off' as const }] : []),
    ...(options.resend === true ? [{ form: 'resend' as const }] : []),
  ];
  if (forms.length !== 1) {
    throw usage(
      'say exactly one of --accepted REF, --not-accepted, --write-off, --resend',
      'settle',
      'episode settle --help',
    );
  }
  if (files.length > 0 && forms[0]!.form !== 'output')
    throw usage('--output goes with --accepted REF only', '--output', 'episode settle --help');
  return forms[0]!;
}

function takeOf(options: Record<string, unknown>, { form }: Form): number | null {
  const take = text(options, 'take');
  if (take === null) return null;
  if (!/^[1-9]\d{0,5}$/.test(take)) throw usage(`"${take}" is no number of a take`, '--take', 'episode settle --help');
  if (form === 'output' || form === 'resend')
    throw usage(`--take does not go with --${form}`, '--take', 'episode settle --help');
  return Number(take);
}

const acceptedAs = (ref: string, files: string[]): Form =>
  files.length > 0 ? { form: 'output', ref, files } : { form: 'accepted', ref };

async function record(
  context: Context,
  id: string,
  settled: string,
  form: Form,
  said: { by: string; evidence: string; take: number | null },
): Promise<SpendAnswer> {
  switch (form.form) {
    case 'output': {
      const services = await context.spending();
      // That there is no such episode comes before anything that is wrong with the file.
      await services.store.view((view) => readEpisode(view, id));
      const output = form.files.map((file) => ownFile(file, context.cwd));
      return settleWithOutput(services, id, settled, { ...said, ref: form.ref, output });
    }
    case 'resend':
      return settleByResend(await context.spending(), id, settled, said);
    default: {
      const services = { store: context.writing(), port: context.port, config: await context.config() };
      return settle(services, id, settled, { ...form, ...said });
    }
  }
}
