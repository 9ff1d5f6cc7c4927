import type { Ending } from './conversation.ts';

/** An ending without an answer, as the second half of a sentence about the adapter: `it exited with code 3 before …`. */
export function describeEnding(ending: Exclude<Ending, { how: 'answered' }>): string {
  switch (ending.how) {
    case 'refused':
      return `it answered the error ${JSON.stringify(ending.code)}${ending.message && `: ${ending.message}`}`;
    case 'breach':
      return `it sent ${ending.what}${ending.line ? `: ${ending.line}` : ''}`;
    case 'died':
      return ending.exit.signal === null
        ? `it exited with code ${ending.exit.code} before it answered`
        : `it was ended by ${ending.exit.signal} before it answered`;
    case 'timeout':
      return `it did not answer within ${ending.timeoutMs / 1000} s`;
    case 'aborted':
      return 'it was stopped before it answered';
    case 'not-started':
      return `it could not be started: ${ending.message}`;
  }
}
