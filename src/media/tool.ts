import type { Exit } from '../child/child.ts';
import { startGuarded } from '../child/guarded.ts';
import { lines } from '../child/lines.ts';

/** Longer than any line of ffmpeg's, which cuts its own at 1 KiB. */
const MAX_LINE_BYTES = 8 * 1024;

export interface ToolOptions {
  /** Where it runs: relative names in `command` are relative to it, so that no user's path needs quoting. */
  cwd: string;
  /** `PATH` to find it on, when not this program's own. */
  path?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Lines of stdout and stderr as they come. */
  onOutput?: ((line: string) => void) | undefined;
  onDiagnostic?: ((line: string) => void) | undefined;
}

/**
 * Runs a tool without a shell and with an allow-listed environment, and resolves with how it ended, which may be badly.
 * Throws the signal's reason once aborted, after the whole process group was killed, and `NotStarted` where the system
 * refuses to run it. It ends with this program, also when that is killed.
 */
export async function runTool(command: readonly string[], options: ToolOptions): Promise<Exit> {
  const { cwd, path, signal, onOutput, onDiagnostic } = options;
  signal?.throwIfAborted();
  const child = await startGuarded(command, cwd, path === undefined ? {} : { PATH: path });
  signal?.addEventListener('abort', child.kill);
  if (signal?.aborted) child.kill();
  try {
    await Promise.all([eachLine(child.stdout, onOutput), eachLine(child.stderr, onDiagnostic)]);
    const exit = await child.exited;
    signal?.throwIfAborted();
    return exit;
  } finally {
    child.kill();
    signal?.removeEventListener('abort', child.kill);
  }
}

async function eachLine(stream: AsyncIterable<Buffer>, on: (line: string) => void = () => {}): Promise<void> {
  for await (const { bytes } of lines(stream, MAX_LINE_BYTES)) on(bytes.toString());
}
