/**
 * Everything that can stop a command, in one place: a code that scripts branch on, an exit code, and a message that
 * says what, on which thing, and what to type next. Answers (verdicts, findings) are returned, never thrown.
 */
export const EXIT = {
  BUG: 70,
  // the command line
  USAGE: 64,
  // media
  FFMPEG_MISSING: 78,
  MEDIA_NOT_WHOLE: 76,
  // providers
  PROVIDER_UNREACHABLE: 69,
  PROVIDER_PROTOCOL: 76,
  PROVIDER_CONFIGURATION: 78,
} as const satisfies Record<string, number>;

export type Code = keyof typeof EXIT;

export interface ErrorParts {
  /** The thing it is about: an episode ID, a file, a key. */
  subject?: string;
  /** Ready commands or the fix, most useful first. */
  hints?: string[];
  details?: Record<string, unknown>;
  cause?: unknown;
}

export class EpisodeError extends Error {
  readonly code: Code;
  readonly subject: string | null;
  readonly hints: readonly string[];
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: Code, message: string, parts: ErrorParts = {}) {
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.name = 'EpisodeError';
    this.code = code;
    this.subject = parts.subject ?? null;
    this.hints = parts.hints ?? [];
    this.details = parts.details ?? {};
  }

  get exit(): number {
    return EXIT[this.code];
  }
}

export const isErrno = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  (codes.length === 0 || codes.includes(error.code));
