import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Diagnosis, doctor } from '../../doctor.ts';
import { type Code, EpisodeError, isErrno } from '../../errors.ts';
import type { Config } from '../../model/config.ts';
import type { Context } from '../context.ts';
import { table } from '../render.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define() {},
  examples: ['episode doctor', 'episode doctor --json'],
  exits: [65, 73, 75, 77, 78],
  async run(context) {
    const { findFfmpeg } = await import('../../media/find-ffmpeg.ts');
    const diagnoses = await doctor({
      store: context.reading(),
      port: context.port,
      root: context.root(),
      config: await configOrError(context),
      credentials: context.credentialSources(),
      uid: process.geteuid?.() ?? null,
      findFfmpeg: () => findFfmpeg(context.env),
      isOnPath: (program) => isOnPath(program, context.env.PATH ?? ''),
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

function isOnPath(program: string, path: string): boolean {
  return path.split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return directory !== '';
    } catch (error) {
      if (isErrno(error)) return false;
      throw error;
    }
  });
}

const CODE: Record<number, Code> = {
  65: 'LEDGER_DAMAGED',
  73: 'CANNOT_WRITE',
  75: 'CLOCK_BEHIND',
  77: 'NOT_PERMITTED',
};

/** Damage first; each line of the table carries its own fix. */
function worst(diagnoses: Diagnosis[]): EpisodeError | null {
  const ill = diagnoses.filter(({ state }) => state === 'wrong');
  const first = ill.find(({ exit }) => exit === 65) ?? ill[0];
  if (!first) return null;
  const code = CODE[first.exit!] ?? 'CONFIGURATION';
  return new EpisodeError(code, first.message, { subject: first.check, hints: first.fix ? [first.fix] : [] });
}

const WORD = { ok: 'ok', hint: 'hint', wrong: 'WRONG' };

async function doctorText(diagnoses: Diagnosis[]): Promise<string> {
  const rows = diagnoses.map(({ check, state, message, fix }) => [WORD[state], check, message, fix && `-> ${fix}`]);
  return `${await table(rows)}\n`;
}
