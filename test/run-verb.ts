import { type Context, createContext } from '../src/cli/context.ts';
import { faultyDisk, readFault } from '../src/cli/faults.ts';
import { createTalk } from '../src/cli/talk.ts';
import { VERBS } from '../src/cli/verbs.ts';
import { EpisodeError } from '../src/errors.ts';
import type { Port } from '../src/port.ts';

export interface VerbRan {
  /** What the program would exit with. */
  exit: number;
  error: EpisodeError | null;
  /** Every error that is said, the most important first. */
  errors: EpisodeError[];
  document: Record<string, unknown>;
  text: string;
}

export interface VerbParameters {
  args?: string[];
  options?: Record<string, unknown>;
  /** What its disk does wrong, as in `EPISODE_FAULT`; `say` is told when it does. */
  fault?: { specification: string; say: () => void };
}

/** A verb as the program runs it, in this process: for matrices of a hundred cases, where 0.1 s a start is too much. */
export async function runVerb(
  root: string,
  name: string,
  { args = [], options = {}, fault }: VerbParameters = {},
): Promise<VerbRan> {
  const { verb } = await VERBS[name]!.load();
  const context: Context = createContext({
    options: { root, json: false, quiet: true, now: Date.parse('2026-08-07T00:00:00Z') },
    // No process is started to look for ffmpeg.
    env: { PATH: '/nonexistent', HOME: '/nonexistent', EPISODE_FFMPEG: '/nonexistent' },
    cwd: root,
    verb: name,
    commandLine: `episode ${name}`,
    talk: createTalk({ write: () => {} }, true, () => 0),
    signals: { interrupted: new AbortController().signal },
    ...(fault && {
      wrapPort: (port: Port): Port =>
        Object.create(port, { disk: { value: faultyDisk(port.disk, readFault(fault.specification), fault.say) } }),
    }),
  });
  try {
    const { document, text, error = null, further = [] } = await verb.run(context, { args, options });
    const errors = [...(error ? [error] : []), ...further];
    return { exit: error?.exit ?? 0, error, errors, document: document as Record<string, unknown>, text };
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    return { exit: error.exit, error, errors: [error], document: {}, text: '' };
  }
}
