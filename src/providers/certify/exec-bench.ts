import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { PROTOCOL, type Sheet } from '../../model/sheet.ts';
import type { Port } from '../../port.ts';
import type { ExecProviderOptions } from '../exec/exec-provider.ts';
import type { Provider } from '../provider.ts';
import { REQUEST_ID, type Started } from './exec-talk.ts';
import type { Tally } from './promised.ts';

export interface ExecTrial extends Pick<ExecProviderOptions, 'name' | 'command' | 'cwd' | 'identify' | 'interrupted'> {
  /** The variables that its configuration names. */
  variables: readonly string[];
  /** What it is asked to make; of the first kind in its sheet. */
  params: Record<string, unknown>;
  create: (options: ExecProviderOptions) => Provider;
  port: Pick<Port, 'now' | 'random' | 'sleep' | 'liveness'>;
  /** Ends a process group with SIGKILL. */
  kill: (group: number) => void;
  /** How long it may take to leave by itself, after its input ended or its answer. */
  graceMs?: number;
}

export interface ExecBench extends ExecTrial {
  started: Started;
  provider: Provider;
  sheet: Sheet;
  scratch: string;
  promise(id: string, says: string, holds: boolean | null, seen: string): void;
  /** Looks for the made-up credentials in what came out. */
  unseen(trial: string, said: unknown): void;
  gone: Tally;
}

export const request = (op: string, args: object): object => ({ protocol: PROTOCOL, id: REQUEST_ID, op, args });

export async function submissionOf({ sheet, params, scratch }: ExecBench, attempt: string) {
  const output_dir = await mkdtemp(join(scratch, 'out-'));
  const ref = `certify-${attempt}`;
  return { attempt_id: ref, client_ref: ref, kind: sheet.kinds[0]!, params, inputs: [], output_dir };
}
