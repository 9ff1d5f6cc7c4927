import { basename } from 'node:path';
import * as z from 'zod/mini';
import { usage } from '../../errors.ts';
import { type InitAnswer, init } from '../../init.ts';
import { currency } from '../../model/config.ts';
import type { Ledger } from '../../model/ledger.ts';
import { isTimeZone } from '../../model/week.ts';
import type { Port } from '../../port.ts';
import { initialiseFileStore, whyNoNewLedger } from '../../store/file/commit.ts';
import { required, text } from '../options.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command
      .option('--time-zone <zone>', 'in which weeks are counted, e.g. Asia/Tokyo')
      .option('--show <name>', 'name of the show; else that of the directory')
      .option('--currency <code>', 'of budgets and sums', 'USD');
  },
  examples: [
    'episode init --time-zone Asia/Tokyo',
    'episode init --time-zone Europe/Berlin --show weekly-brief --currency EUR',
  ],
  exits: [64, 65, 73, 77],
  async run({ port, newRoot }, { options }) {
    const root = newRoot();
    const timeZone = required(options, 'timeZone');
    if (!isTimeZone(timeZone))
      throw usage(
        `--time-zone ${timeZone} is no IANA time zone`,
        timeZone,
        'write e.g. Asia/Tokyo, Europe/Berlin or UTC',
      );
    const code = required(options, 'currency');
    if (!z.safeParse(currency, code).success)
      throw usage(`--currency ${code} is no ISO 4217 code`, code, 'write e.g. USD, EUR or JPY');
    const show = text(options, 'show') ?? basename(root);
    const made = await init({ port, root, ledger: newFileLedger(port, root) }, { timeZone, show, currency: code });
    return {
      document: made,
      text: `${made.root}  ${made.show}, ${made.time_zone}\n`,
      notes: [...aboutPipeline(made, timeZone), 'next: episode allocate --key K --plan FILE'],
      committed: true,
    };
  },
};

function aboutPipeline(made: InitAnswer, timeZone: string): string[] {
  if (made.pipeline === 'created') return ['pipeline.json: add schedules, providers and a budget'];
  const other = made.time_zone === timeZone ? '' : `: weeks are counted in ${made.time_zone}, not in ${timeZone}`;
  return [`pipeline.json was there, and was kept${other}`];
}

const newFileLedger = (port: Port, root: string) => ({
  refusal: () => whyNoNewLedger(port, root),
  create: (ledger: Ledger) => initialiseFileStore(port, root, ledger),
});
