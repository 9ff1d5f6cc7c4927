import { EpisodeError, isErrno } from '../errors.ts';
import type { ProvidedFile, SubmitOutcome } from '../model/protocol.ts';
import { PROTOCOL } from '../model/sheet.ts';
import type { Wanted } from './params.ts';
import type { Provider, Submission, SubmitEvents, Task } from './provider.ts';

interface Pure {
  /** As configured. */
  name: string;
  /** What it calls itself in the sheet. */
  type: string;
  kinds: readonly string[];
  /** Why this can never be carried out, here or elsewhere; what `make` gets has none of that. */
  faults(wanted: Wanted): string[];
  /** Makes the files in `submission.output_dir`. Throws `Refused` for a submission that can never be carried out. */
  make(submission: Submission, progress: SubmitEvents['progress'], signal: AbortSignal): Promise<ProvidedFile[]>;
}

/** The submission is at fault, not the machine: the same one is refused again. */
export class Refused extends Error {}

/**
 * A provider that makes its files here and now: free, repeatable, done when `submit` answers. It never has a task to ask
 * about, so `status` and `fetch` throw `PROVIDER_PROTOCOL` (76).
 */
export function createPureProvider({ name, type, kinds, faults, make }: Pure): Provider {
  const noTask = async ({ ref }: Task): Promise<never> => {
    throw new EpisodeError('PROVIDER_PROTOCOL', `${name} works at once and has no task ${ref}`, { subject: name });
  };
  return {
    name,
    describe: async () => ({
      protocol: PROTOCOL,
      provider: type,
      version: '1',
      kinds: [...kinds],
      capabilities: { submit: 'sync', cancel: 'none', estimate: 'none', cost: 'none', progress: 'percent', pure: true },
    }),
    async submit(submission, events, signal) {
      try {
        const against = faults(submission);
        if (against.length > 0) throw new Refused(against.join('; '));
        return { outcome: 'completed', files: await make(submission, (fraction) => events.progress(fraction), signal) };
      } catch (error) {
        return released(error, signal);
      }
    },
    status: noTask,
    fetch: noTask,
  };
}

/** Whatever went wrong, nothing was bought. Only a bug is thrown on. */
function released(error: unknown, signal: AbortSignal): SubmitOutcome {
  const nothingBought = { outcome: 'released', billable: 'no' } as const;
  if (signal.aborted) return { ...nothingBought, reason: 'aborted', message: 'the render was stopped' };
  const reason = reasonOf(error);
  if (reason === null || !(error instanceof Error)) throw error;
  const hints = error instanceof EpisodeError ? error.hints : [];
  return { ...nothingBought, reason, message: [error.message, ...hints].join('\n') };
}

function reasonOf(error: unknown): string | null {
  if (error instanceof Refused) return 'invalid_input';
  if (isErrno(error, 'ENOSPC', 'EDQUOT')) return 'disk_full';
  if (error instanceof EpisodeError) return error.code === 'FFMPEG_MISSING' ? 'ffmpeg_missing' : 'render_failed';
  return isErrno(error) ? 'render_failed' : null;
}
