import { usage } from '../errors.ts';
import type { GlobalOptions } from './context.ts';
import { instant, text } from './options.ts';

/** The options that every verb takes. Throws `USAGE` (64). */
export function readGlobalOptions(given: Record<string, unknown>, env: NodeJS.ProcessEnv): GlobalOptions {
  if (given.now !== undefined && env.EPISODE_TEST !== '1')
    throw usage("unknown option '--now'", '--now', 'episode --help');
  const now = text(given, 'now');
  return {
    root: text(given, 'root'),
    json: given.json === true,
    quiet: given.quiet === true,
    now: now === null ? null : instant(now, '--now'),
  };
}
