import { EpisodeError } from '../errors.ts';
import { type FoundFfmpeg, findFfmpeg } from './find-ffmpeg.ts';
import { runTool, type ToolOptions } from './tool.ts';

/** How a run ended that nobody killed: `errors` are the messages that ffmpeg itself calls errors, first ones first. */
interface FfmpegEnd {
  code: number;
  errors: string[];
}

export interface Ffmpeg {
  /** The one that runs. Throws `FFMPEG_MISSING` (78). */
  locate(): Promise<FoundFfmpeg>;
  /** Whether it was built with this filter: `drawtext` needs libraries that some distributions leave out. */
  has(filter: string): Promise<boolean>;
  /**
   * Runs it with `args`. Throws `FFMPEG_MISSING` (78), `TOOL_FAILED` (74) when something killed it, the signal's
   * reason when that is aborted. Exit 0 does not mean that its output is whole: ffmpeg ends a film at a bad input or
   * a full disk and calls it done, hence `verifyMedia`.
   */
  run(args: readonly string[], options: Omit<ToolOptions, 'path'>): Promise<FfmpegEnd>;
}

/** Every message carries its level, so that file names and metadata cannot pass for errors. */
const ALWAYS = ['-nostdin', '-hide_banner', '-nostats', '-loglevel', 'level+info'];

const ERROR_LINE = /\[(?:error|fatal|panic)\] (.*)/;
const MAX_ERRORS = 20;

/** An ffmpeg that is looked for on first use, as what renders nothing needs none. `env` gives `PATH` and `EPISODE_FFMPEG`. */
export function createFfmpeg(env: Readonly<Record<string, string | undefined>>): Ffmpeg {
  const locate = remembered(() => findFfmpeg(env));

  const run: Ffmpeg['run'] = async (args, options) => {
    const { path } = await locate();
    const errors: string[] = [];
    const { code, signal } = await runTool([path, ...ALWAYS, ...args], {
      ...options,
      path: env.PATH,
      onDiagnostic(line) {
        const error = ERROR_LINE.exec(line)?.[1]?.trim();
        if (error && errors.length < MAX_ERRORS) errors.push(error);
        options.onDiagnostic?.(line);
      },
    });
    if (code === null) throw new EpisodeError('TOOL_FAILED', `ffmpeg was killed by ${signal}`, { subject: path });
    return { code, errors };
  };

  /** Of lines like ` T.C drawtext          V->V       Draw text …`. */
  const filters = remembered(async () => {
    const names = new Set<string>();
    await run(['-filters'], { cwd: '/', onOutput: (line) => names.add(line.trim().split(/\s+/)[1] ?? '') });
    return names;
  });

  return { locate, run, has: async (filter) => (await filters()).has(filter) };
}

/** Asks once and keeps the answer, but never a failure: a worker that lives on sees what is installed meanwhile. */
function remembered<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask().catch((error: unknown) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
}
