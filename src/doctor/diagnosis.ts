import type { CredentialSources } from '../credentials.ts';
import type { Code, EpisodeError } from '../errors.ts';
import type { Config } from '../model/config.ts';
import type { Port } from '../port.ts';
import type { Store } from '../store/store.ts';

export interface Diagnosis {
  check: string;
  state: 'ok' | 'hint' | 'wrong';
  message: string;
  /** What to type or change; empty when nothing is to be done. */
  fix: string;
  /** Of the error that this is, which gives the exit code; `null` when nothing is wrong. */
  code: Code | null;
}

export interface Patient {
  store: Store;
  port: Port;
  root: string;
  /** Of `pipeline.json`; its error when it cannot be read. */
  config: Config | EpisodeError;
  credentials: CredentialSources;
  /** `null`: a system without user IDs. */
  uid: number | null;
  findFfmpeg(): Promise<{ path: string; version: string }>;
  /** How long after its last sign of life a lock is nobody's, milliseconds. */
  lockStaleMs: number;
  /** Whether this program is on PATH. */
  isOnPath(program: string): boolean;
  /** statfs(2) of a path. */
  fileSystem(path: string): Promise<{ type: number; bavail: number; bsize: number }>;
  /** Throws `CONFIGURATION` (78) for a schedule that names no instants. */
  checkSchedule(name: string, config: Config): void;
  /** Throws `PROVIDER_CONFIGURATION` (78) for a provider whose mapping or executable is not there or cannot be used. */
  checkProvider(name: string, config: Config): Promise<void>;
}

export const ok = (check: string, message: string): Diagnosis => ({ check, state: 'ok', message, fix: '', code: null });

export const hint = (check: string, message: string, fix: string): Diagnosis => ({
  check,
  state: 'hint',
  message,
  fix,
  code: null,
});

export const wrong = (check: string, code: Code, message: string, fix: string): Diagnosis => ({
  check,
  state: 'wrong',
  message,
  fix,
  code,
});

/** The error that stops a command, as a finding: of a command that was stopped nothing is said. */
export const fromError = (check: string, { code, message, hints }: EpisodeError): Diagnosis =>
  wrong(
    check,
    code,
    message.replace(/; nothing was (created|changed)$/, ''),
    (hints[0] ?? '').replace(/^nothing was (created|changed); /, ''),
  );
