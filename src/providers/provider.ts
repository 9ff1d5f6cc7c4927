import type {
  Cancellation,
  Check,
  Estimate,
  Lookup,
  Price,
  ProvidedFile,
  RemoteStatus,
  SubmitOutcome,
} from '../model/protocol.ts';
import type { Sheet } from '../model/sheet.ts';
import type { ProcessIdentity } from '../port.ts';

/** What a task cost; `final`: its provider will not say anything else later. */
export type Charge = Price & { final?: boolean | undefined };

/** One request that may cost money, complete: an adapter adds nothing that changes what is bought. */
export interface Submission {
  attempt_id: string;
  /** Derived from (ledger, episode, step, attempt number): a re-send after a roll-back carries the same one. */
  client_ref: string;
  kind: string;
  params: Record<string, unknown>;
  /** `path` is absolute; the bytes at it had `sha256` when the attempt was claimed. */
  inputs: { name: string; path: string; sha256: string }[];
  /** Existing, empty, absolute: where a provider that answers with the result itself puts its files. */
  output_dir: string;
  checkpoint: Record<string, unknown> | null;
}

/** What a provider accepted: its reference, what it said beside it, and what was asked for under it. */
export interface Task {
  ref: string;
  checkpoint: Record<string, unknown> | null;
  attempt_id: string;
  client_ref: string;
  kind: string;
  params: Record<string, unknown>;
  /** RFC 3339; it was sent soon after. */
  claimed_at: string;
}

/** A submission whose answer was lost. */
export interface Lost extends Omit<Task, 'ref' | 'checkpoint'> {
  fingerprint: string;
}

/** Each promise resolves once the event is durable in the ledger; an adapter goes on only then. */
export interface SubmitEvents {
  /** An adapter process runs, and has been told nothing yet. */
  started(process: ProcessIdentity): Promise<void>;
  checkpoint(data: Record<string, unknown>): Promise<void>;
  /** The next thing may cost money. */
  sending(): Promise<void>;
  /** `kept`: what else is needed to ask about it, e.g. addresses; replaces the checkpoint. */
  accepted(ref: string, kept?: Record<string, unknown>): Promise<void>;
  /** 0 to 1; never durable. */
  progress(fraction: number): void;
}

/**
 * Whatever makes an output for a step, paid or not. One `submit` makes at most one request that can cost money:
 * no retry, no redirect, no sleep-and-send-again. `submit` answers every failure as an outcome and never throws for one;
 * what it does throw is treated as `unknown`.
 * The other operations are free and repeatable, and throw `PROVIDER_UNREACHABLE` (69) or `PROVIDER_PROTOCOL` (76).
 */
export interface Provider {
  readonly name: string;
  describe(): Promise<Sheet>;
  estimate?(kind: string, params: Record<string, unknown>): Promise<Estimate>;
  submit(submission: Submission, events: SubmitEvents, signal: AbortSignal): Promise<SubmitOutcome>;
  status(task: Task): Promise<RemoteStatus>;
  /** Puts the result into `outputDir` (existing, absolute); paths in the answer are absolute and lie in it. */
  fetch(task: Task, outputDir: string): Promise<ProvidedFile[] | 'expired'>;
  lookup?(lost: Lost): Promise<Lookup>;
  cancel?(task: Task): Promise<Cancellation>;
  cost?(task: Task): Promise<Charge>;
  /** `null` where the provider cannot say. */
  balance?(): Promise<{ amount: string; unit: string } | null>;
  check?(): Promise<Check>;
}
