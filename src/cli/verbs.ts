import type { Command } from 'commander';
import type { EpisodeError } from '../errors.ts';
import type { Context } from './context.ts';

/** What a verb answers: one document for `--json`, one text for people, and what went wrong on the way. */
export interface Answer {
  document: object;
  /** What goes to stdout without `--json`. */
  text: string;
  /** Talk on stderr, silenced by `--quiet`. */
  notes?: readonly string[];
  /** The most important failure: the exit code, and the `error` member under `--json`. */
  error?: EpisodeError | null;
  /** Further failures, said on stderr. */
  further?: readonly EpisodeError[];
  /** Whether something was recorded: then an answer that cannot be printed says so. */
  committed?: boolean;
}

export interface Verb {
  /** Arguments and options. */
  define(command: Command): void;
  examples: readonly string[];
  /** Exit codes besides 0 that this verb is known for. */
  exits: readonly number[];
  /** Ends by itself, soon and cleanly, when `context.interrupted` is aborted; any other verb dies at once. */
  endsItself?: boolean;
  run(context: Context, parameters: { args: string[]; options: Record<string, unknown> }): Promise<Answer>;
}

export type Group = 'Friday' | 'Trouble' | 'Setup';

/** Every verb with its line in the help; its module is loaded when it is called. */
export const VERBS: Record<string, { group: Group; summary: string; load: () => Promise<{ verb: Verb }> }> = {
  allocate: {
    group: 'Friday',
    summary: 'the episode of a key: the one it has, or a new one',
    load: () => import('./commands/allocate.ts'),
  },
  list: {
    group: 'Friday',
    summary: 'what needs you, what runs, what is done',
    load: () => import('./commands/list.ts'),
  },
  show: { group: 'Friday', summary: 'one episode, step by step', load: () => import('./commands/show.ts') },
  wait: { group: 'Friday', summary: 'wait until an episode is complete', load: () => import('./commands/wait.ts') },
  generate: {
    group: 'Friday',
    summary: 'first attempts of all that is ready',
    load: () => import('./commands/generate.ts'),
  },
  approve: { group: 'Friday', summary: 'approve an output, and go on', load: () => import('./commands/approve.ts') },
  reject: { group: 'Friday', summary: 'reject an output, with the reason', load: () => import('./commands/reject.ts') },
  retry: { group: 'Friday', summary: 'pay once more for one step', load: () => import('./commands/retry.ts') },
  reassemble: {
    group: 'Friday',
    summary: 'a new film from the current outputs',
    load: () => import('./commands/reassemble.ts'),
  },
  why: { group: 'Trouble', summary: 'where an episode comes from', load: () => import('./commands/why.ts') },
  reconcile: {
    group: 'Trouble',
    summary: 'ask the providers what became of it; free',
    load: () => import('./commands/reconcile.ts'),
  },
  settle: {
    group: 'Trouble',
    summary: 'record what you know of a held step',
    load: () => import('./commands/settle.ts'),
  },
  cancel: {
    group: 'Trouble',
    summary: 'ask a provider to stop a task; free',
    load: () => import('./commands/cancel.ts'),
  },
  cost: { group: 'Trouble', summary: 'what was, may be and will be charged', load: () => import('./commands/cost.ts') },
  doctor: {
    group: 'Trouble',
    summary: 'what is wrong here, and how to mend it',
    load: () => import('./commands/doctor.ts'),
  },
  close: {
    group: 'Trouble',
    summary: 'end an unwanted episode, deleting nothing',
    load: () => import('./commands/close.ts'),
  },
  init: { group: 'Setup', summary: 'make a show in this directory', load: () => import('./commands/init.ts') },
  plan: { group: 'Setup', summary: 'validate, price and give a plan', load: () => import('./commands/plan.ts') },
  provider: {
    group: 'Setup',
    summary: 'the providers, what they can do, and whether they know you; free',
    load: () => import('./commands/provider.ts'),
  },
  completion: {
    group: 'Setup',
    summary: 'tab completion for your shell',
    load: () => import('./commands/completion.ts'),
  },
};
