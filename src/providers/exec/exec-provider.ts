import type * as z from 'zod/mini';
import { EpisodeError, providerCannotStart, providerProtocol, providerUnreachable } from '../../errors.ts';
import { Cancellation, Check, Estimate, Lookup, RemoteStatus } from '../../model/protocol.ts';
import { PROTOCOL, Sheet } from '../../model/sheet.ts';
import type { ProcessIdentity } from '../../port.ts';
import type { Provider } from '../provider.ts';
import { type AdapterOptions, createAdapter, type Transcript } from './adapter.ts';
import { AnySheet, Balance, Fetched, FinalCost, misfit } from './answers.ts';
import type { Ending } from './conversation.ts';
import { describeEnding } from './ending.ts';
import { BadPath, filesInside } from './files.ts';
import { submit } from './submit.ts';

/** From the start of the process to its answer, in milliseconds. `submit` and `fetch` may have to move a whole film. */
const TIMEOUTS_MS = {
  describe: 30_000,
  check: 30_000,
  estimate: 30_000,
  submit: 900_000,
  status: 60_000,
  fetch: 1_800_000,
  cancel: 60_000,
  lookup: 120_000,
  cost: 60_000,
  balance: 30_000,
};
type Operation = keyof typeof TIMEOUTS_MS;

export interface ExecProviderOptions extends AdapterOptions {
  /** As in `pipeline.json`. */
  name: string;
  /** Who the process with this pid is; called as soon as it was started, and only for `submit`. */
  identify: (pid: number) => ProcessIdentity;
  /** Ends every operation but `submit`, which has its own signal: they are free and can be asked again. */
  interrupted?: AbortSignal;
  /** Milliseconds, for the operations that need others than the defaults. */
  timeoutsMs?: Partial<Record<Operation, number>>;
}

/** Failures to start that may be gone a moment later; any other is a wrong `command`. */
const PASSING = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ETXTBSY']);

/**
 * An executable adapter as a provider (PROVIDER.md, exec transport). Its sheet is asked for once and then kept, so that
 * all operations of one object go by the same promises. What the sheet does not offer is answered without starting it.
 * Beside the errors of `Provider`: `PROVIDER_CONFIGURATION` (78) when the command cannot be started.
 */
export function createExecProvider(options: ExecProviderOptions): Required<Provider> {
  const { name, command, cwd, identify } = options;
  const timeoutsMs = { ...TIMEOUTS_MS, ...options.timeoutsMs };
  const adapter = createAdapter(options);
  let sheet: Promise<Sheet> | undefined;

  const run = (op: Operation, args: Record<string, unknown>): Promise<Transcript> =>
    adapter.run({ op, args, timeoutMs: timeoutsMs[op], signal: options.interrupted });

  function failure(op: Operation, ending: Exclude<Ending, { how: 'answered' }>, notes: string[]): EpisodeError {
    if (ending.how === 'breach') return providerProtocol(name, op, describeEnding(ending));
    return ending.how === 'not-started' && !PASSING.has(ending.code)
      ? providerCannotStart(name, command, ending.message)
      : providerUnreachable(name, op, describeEnding(ending), { stderr: notes });
  }

  function take<S extends z.ZodMiniType>(op: Operation, { ending, notes }: Transcript, schema: S): z.output<S> {
    if (ending.how !== 'answered') throw failure(op, ending, notes);
    const answer = schema.safeParse(ending.result);
    if (!answer.success) throw providerProtocol(name, op, `it sent ${misfit(op, answer.error)}`);
    return answer.data;
  }

  const ask = async <S extends z.ZodMiniType>(op: Operation, args: Record<string, unknown>, schema: S) =>
    take(op, await run(op, args), schema);

  async function readSheet(): Promise<Sheet> {
    const transcript = await run('describe', {});
    const { protocol } = take('describe', transcript, AnySheet);
    if (protocol !== PROTOCOL) throw providerProtocol(name, 'describe', `it speaks "${adapter.presentable(protocol)}"`);
    return take('describe', transcript, Sheet);
  }

  function describe(): Promise<Sheet> {
    sheet ??= readSheet().catch((error: unknown) => {
      sheet = undefined;
      throw error;
    });
    return sheet;
  }

  const capabilities = async (): Promise<Sheet['capabilities']> => (await describe()).capabilities;

  return {
    name,
    describe,

    async submit(submission, events, signal) {
      let known: Sheet;
      try {
        known = await describe();
      } catch (error) {
        if (!(error instanceof EpisodeError)) throw error;
        const evidence = { code: error.code };
        return { outcome: 'released', reason: 'not_sent', message: error.message, billable: 'no', evidence };
      }
      const context = { adapter, sheet: known, cwd, identify, timeoutMs: timeoutsMs.submit };
      return submit(submission, events, signal, context);
    },

    status: ({ ref, checkpoint }) => ask('status', checkpoint === null ? { ref } : { ref, checkpoint }, RemoteStatus),

    async fetch({ ref }, outputDir) {
      const transcript = await run('fetch', { ref, output_dir: outputDir });
      const { ending } = transcript;
      if (ending.how === 'refused' && ending.code === 'expired') return 'expired';
      const { files } = take('fetch', transcript, Fetched);
      try {
        return await filesInside(files, outputDir, cwd);
      } catch (error) {
        if (!(error instanceof BadPath)) throw error;
        throw providerProtocol(name, 'fetch', adapter.presentable(error.message));
      }
    },

    async estimate(kind, params) {
      if (((await capabilities()).estimate ?? 'none') === 'none') {
        return { amount: null, unit: 'unknown', basis: 'unknown' };
      }
      return ask('estimate', { kind, params }, Estimate);
    },

    async lookup({ client_ref, claimed_at, fingerprint }) {
      if (!(await capabilities()).lookup?.supported) return { found: 'unsupported', refs: [], complete: false };
      return ask('lookup', { client_ref, claimed_at, fingerprint }, Lookup);
    },

    async cancel({ ref }) {
      if (((await capabilities()).cancel ?? 'none') === 'none') return { state: 'unsupported', definite: false };
      return ask('cancel', { ref }, Cancellation);
    },

    async cost({ ref }) {
      if (((await capabilities()).cost ?? 'none') === 'none') return { amount: null, unit: 'unknown' };
      return ask('cost', { ref }, FinalCost);
    },

    async balance() {
      return (await capabilities()).balance ? ask('balance', {}, Balance) : null;
    },

    async check() {
      const transcript = await run('check', {});
      const { ending } = transcript;
      // The sheet has no word for whether `check` exists.
      if (ending.how === 'refused' && ending.code === 'unsupported') return { auth: 'unknown' };
      return take('check', transcript, Check);
    },
  };
}
