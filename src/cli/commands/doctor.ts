import { accessSync, constants, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import type { Diagnosis } from '../../doctor/diagnosis.ts';
import { doctor } from '../../doctor.ts';
import { commandMissing, EpisodeError, isErrno, mostImportant } from '../../errors.ts';
import type { Config } from '../../model/config.ts';
import { LOCK_STALE_MS } from '../../store/file/lock.ts';
import type { Context } from '../context.ts';
import { table } from '../render.ts';
import { readMapping } from '../spending.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define() {},
  examples: ['episode doctor', 'episode doctor --json'],
  exits: [65, 73, 75, 77, 78],
  async run(context) {
    const { findFfmpeg } = await import('../../media/find-ffmpeg.ts');
    const { parseCron } = await import('../../schedulers/slot.ts');
    const diagnoses = await doctor({
      store: context.reading(),
      port: context.port,
      root: context.root(),
      config: await configOrError(context),
      credentials: context.credentialSources(),
      uid: process.geteuid?.() ?? null,
      findFfmpeg: () => findFfmpeg(context.env),
      isOnPath: (program) => isOnPath(program, context.env.PATH ?? ''),
      lockStaleMs: LOCK_STALE_MS,
      fileSystem: (path) => statfs(path),
      checkSchedule(name, { schedules, time_zone }) {
        const schedule = schedules[name]!;
        parseCron({ name, schedule, zone: schedule.time_zone ?? time_zone });
      },
      checkProvider: (name, config) => checkProvider(context, name, config),
    });
    return { document: { diagnoses }, text: await doctorText(diagnoses), error: worst(diagnoses) };
  },
};

async function configOrError(context: Context): Promise<Config | EpisodeError> {
  try {
    return await context.config();
  } catch (error) {
    if (error instanceof EpisodeError) return error;
    throw error;
  }
}

/** What a paid verb finds out when it would use the provider. */
async function checkProvider(context: Context, name: string, { providers }: Config): Promise<void> {
  const configured = providers[name]!;
  if (configured.type === 'http') await readMapping(context, name, configured);
  if (configured.type !== 'exec') return;
  const [program = ''] = configured.command;
  const isThere = program.includes('/')
    ? isExecutable(resolve(context.root(), program))
    : isOnPath(program, context.env.PATH ?? '');
  if (!isThere) throw commandMissing(name, program);
}

const isOnPath = (program: string, path: string): boolean =>
  path.split(delimiter).some((directory) => directory !== '' && isExecutable(join(directory, program)));

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch (error) {
    if (isErrno(error)) return false;
    throw error;
  }
}

/** The exit code is that of the worst; each line of the table carries its own fix. */
const worst = (diagnoses: Diagnosis[]): EpisodeError | null =>
  mostImportant(
    diagnoses.flatMap(({ code, check, message, fix }) =>
      code === null ? [] : [new EpisodeError(code, message, { subject: check, hints: fix === '' ? [] : [fix] })],
    ),
  );

const WORD = { ok: 'ok', hint: 'hint', wrong: 'WRONG' };

async function doctorText(diagnoses: Diagnosis[]): Promise<string> {
  const rows = diagnoses.map(({ check, state, message, fix }) => [WORD[state], check, message, fix && `-> ${fix}`]);
  return `${await table(rows)}\n`;
}
