import { usage } from '../errors.ts';
import { flag, required } from './options.ts';

/** What a person states for the record, and what a good one looks like. */
const EXAMPLE = {
  reason: 'six fingers',
  evidence: 'billing page, 09:44: not listed',
  keyIsStable: 'the queue keeps it across retries',
};

const SAYS_SOMETHING = /[\p{L}\p{N}]/u;

/**
 * A statement that somebody else can understand later. The `…` of our own hints, or a dash to get past the question, is
 * none: the record would keep it for ever. Throws `USAGE` (64).
 */
export function statement(options: Record<string, unknown>, option: keyof typeof EXAMPLE): string {
  const value = required(options, option);
  if (SAYS_SOMETHING.test(value)) return value;
  throw usage(
    `--${flag(option)} says nothing: there is no letter and no digit in it`,
    `--${flag(option)}`,
    `write what somebody else will understand a year later, e.g. --${flag(option)} "${EXAMPLE[option]}"`,
  );
}

/** A provider's reference as a person gives it; `REF` is what our own hints write in its place. Throws `USAGE` (64). */
export function reference(value: string): string {
  if (value !== 'REF' && SAYS_SOMETHING.test(value)) return value;
  throw usage(
    `--accepted ${value.slice(0, 80)} is no reference`,
    '--accepted',
    'give the one that the provider shows, e.g. --accepted task_91',
  );
}
