import { SubmitOutcome } from '../../model/protocol.ts';
import type { Sheet } from '../../model/sheet.ts';
import type { ProcessIdentity } from '../../port.ts';
import type { Submission, SubmitEvents } from '../provider.ts';
import type { Adapter, Transcript } from './adapter.ts';
import { misfit } from './answers.ts';
import { BadPath, filesInside } from './files.ts';
import { MAX_LINE_BYTES } from './messages.ts';
import { judge, type SubmitEnding } from './outcome.ts';

interface SubmitContext {
  adapter: Adapter;
  sheet: Sheet;
  /** The show's root. */
  cwd: string;
  timeoutMs: number;
  identify: (pid: number) => ProcessIdentity;
}

/** `protocol`, `id` and `op` stand beside the arguments in the request line. */
const ENVELOPE_BYTES = 256;

async function believe(
  { ending }: Transcript,
  submission: Submission,
  { adapter, cwd }: SubmitContext,
): Promise<SubmitEnding> {
  if (ending.how !== 'answered') return ending;
  const answer = SubmitOutcome.safeParse(ending.result);
  if (!answer.success) return { how: 'breach', what: misfit('submit', answer.error) };
  const outcome = answer.data;
  if (outcome.outcome !== 'completed') return { how: 'answered', outcome };
  try {
    const files = await filesInside(outcome.files, submission.output_dir, cwd);
    return { how: 'answered', outcome: { ...outcome, files } };
  } catch (error) {
    if (!(error instanceof BadPath)) throw error;
    return { how: 'bad-files', what: adapter.presentable(error.message) };
  }
}

/**
 * One submission in one adapter process. `events` are awaited in order, each before its acknowledgement; one that
 * rejects ends the adapter unacknowledged and is thrown, and so is an error of `identify`. Everything else is an outcome.
 */
export async function submit(
  submission: Submission,
  events: SubmitEvents,
  signal: AbortSignal,
  context: SubmitContext,
): Promise<SubmitOutcome> {
  const { checkpoint, ...rest } = submission;
  const args = checkpoint === null ? rest : { ...rest, checkpoint };
  if (Buffer.byteLength(JSON.stringify(args)) + ENVELOPE_BYTES > MAX_LINE_BYTES) {
    const message = `the request is larger than the ${MAX_LINE_BYTES} bytes that a line may have`;
    return { outcome: 'released', reason: 'invalid_input', message, billable: 'no' };
  }
  let acceptedRef: string | undefined;
  const transcript = await context.adapter.run({
    op: 'submit',
    args,
    timeoutMs: context.timeoutMs,
    signal,
    started: (pid) => events.started(context.identify(pid)),
    handlers: {
      checkpoint: (data) => events.checkpoint(data),
      sending: () => events.sending(),
      accepted: (ref) => {
        acceptedRef = ref;
        return events.accepted(ref);
      },
      progress: (fraction) => events.progress(fraction),
    },
  });
  return judge(await believe(transcript, submission, context), {
    announcesSending: context.sheet.capabilities.announces_sending === true,
    sendingAcknowledged: transcript.acknowledged.has('sending'),
    acceptedRef,
    notes: transcript.notes,
  });
}
