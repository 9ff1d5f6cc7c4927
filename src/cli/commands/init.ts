import { basename, resolve } from 'node:path';
import * as z from 'zod/mini';
import { usage } from '../../errors.ts';
import { init } from '../../init.ts';
import { currency } from '../../model/config.ts';
import { isTimeZone } from '../../model/week.ts';
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
  exits: [64, 65, 73, 74, 77, 78],
  async run(context, { options }) {
    const root = resolve(context.cwd, context.options.root ?? context.env.EPISODE_ROOT ?? '.');
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
    const made = await init(context.port, root, {
      timeZone,
      show: text(options, 'show') ?? basename(root),
      currency: code,
    });
    const notes = [
      made.pipeline === 'kept'
        ? 'pipeline.json was there, and was kept'
        : 'pipeline.json: add schedules, providers and a budget',
      'next: episode allocate --key K --plan FILE',
    ];
    return { document: made, text: `${made.root}  ${made.show}, ${made.time_zone}\n`, notes, committed: true };
  },
};
