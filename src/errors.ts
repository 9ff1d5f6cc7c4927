/**
 * Everything that can stop a command, in one place: a code that scripts branch on, an exit code, and a message that
 * says what, on which thing, and what to type next. Answers (verdicts, findings) are returned, never thrown.
 */
export const EXIT = {
  BUG: 70,
  // the command line
  USAGE: 64,
  NOT_INITIALISED: 78,
  NOT_A_SHOW: 78,
  ALREADY_INITIALISED: 73,
  NO_HARD_LINKS: 73,
  CONFIGURATION: 78,
  NOT_OWNER: 77,
  CLOCK_BEHIND: 75,
  COMMITTED_NOT_PRINTED: 74,
  // the ledger
  LOCK_BUSY: 75,
  LEDGER_BUSY: 75,
  LOCK_LOST: 75,
  RECORD_DAMAGED: 65,
  FORMAT_NEWER: 65,
  LEDGER_DAMAGED: 65,
  LEDGER_INCOMPLETE: 65,
  CANNOT_WRITE: 73,
  IO_ERROR: 74,
  NOT_PERMITTED: 77,
  // identity
  WEEK_UNKNOWN: 64,
  UNSTABLE_KEY: 64,
  KEY_IN_OTHER_WEEK: 10,
  KEY_INPUT_MISMATCH: 10,
  KEY_ON_SEVERAL_EPISODES: 65,
  SLOT_UNKNOWN: 64,
  EPISODE_NOT_FOUND: 66,
  KEY_NOT_FOUND: 66,
  FILE_NOT_FOUND: 66,
  EPISODE_CLOSED: 14,
  // plans and steps
  PLAN_INVALID: 64,
  PLAN_MISSING: 14,
  PLAN_IN_USE: 75,
  STEP_NOT_FOUND: 64,
  STEP_NOT_READY: 14,
  ATTEMPT_IN_FLIGHT: 75,
  STILL_RUNNING: 75,
  WAIT_TIMEOUT: 75,
  OUTCOME_UNKNOWN: 11,
  STEP_FAILED: 12,
  CANCEL_UNSUPPORTED: 12,
  RESEND_REFUSED: 12,
  ARTIFACT_CHANGED: 10,
  // money
  BUDGET_EXCEEDED: 13,
  UNPRICED: 13,
  FUNDS_REFUSED: 13,
  BUDGET_MISSING: 78,
  CREDENTIAL_MISSING: 78,
  CREDENTIAL_EXPOSED: 78,
  CREDENTIAL_REFUSED: 78,
  STATE_NOT_SAVED: 11,
  // media
  FFMPEG_MISSING: 78,
  TOOL_FAILED: 74,
  MEDIA_NOT_WHOLE: 76,
  // providers
  PROVIDER_UNREACHABLE: 69,
  PROVIDER_PROTOCOL: 76,
  PROVIDER_CONFIGURATION: 78,
} as const satisfies Record<string, number>;

export type Code = keyof typeof EXIT;

interface ErrorParts {
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

/** Of several things that went wrong with steps, the first of these is the exit code. */
const PRECEDENCE = [65, 11, 10, 13, 12, 76, 14, 69, 75];

/** What is not about one step (a missing credential, a full disk): nothing more is started. */
export const endsAtOnce = (error: EpisodeError): boolean => !PRECEDENCE.includes(error.exit);

/** What the command as a whole is told; damage and held unknowns come before everything. */
export function mostImportant(errors: readonly EpisodeError[]): EpisodeError | null {
  const rank = (error: EpisodeError): number => (endsAtOnce(error) ? 1.5 : PRECEDENCE.indexOf(error.exit));
  return [...errors].sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

export const isErrno = (error: unknown, ...codes: string[]): error is Error & { code: string } =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  (codes.length === 0 || codes.includes(error.code));

// The ledger ---------------------------------------------------------------------------------------------------------

/** `holder` as in `state/lock.json`; `null` when it cannot be read. */
export const lockBusy = (
  holder: { pid: number; host: string; command: string; ageSeconds: number } | null,
  waitedMs: number,
): EpisodeError =>
  new EpisodeError(
    'LOCK_BUSY',
    `the ledger is busy: waited ${Math.round(waitedMs / 1000)} s for ${
      holder
        ? `pid ${holder.pid} on ${holder.host} ("${holder.command}", for ${holder.ageSeconds} s)`
        : 'another command that does not say which it is'
    }`,
    { subject: 'state/lock', hints: ['the same command later is safe'], details: { holder } },
  );

export const ledgerBusy = (): EpisodeError =>
  new EpisodeError('LEDGER_BUSY', 'the ledger changes faster than it can be read', {
    subject: 'state/commits',
    hints: ['the same command later is safe'],
  });

export const lockLost = (): EpisodeError =>
  new EpisodeError('LOCK_LOST', 'the lock was taken over by another command; nothing was written', {
    subject: 'state/lock',
    hints: ['the same command later is safe'],
  });

/** What to do about one file, as it can be typed. */
export const restoring = (file: string): string => `put the file back from a backup: cp -p BACKUP/${file} ${file}`;

export const restoringWeek = (weekId: string): string =>
  `put the week back from a backup, overwriting nothing: cp -Rpn BACKUP/state/${weekId} state/`;

const restoringState =
  'put state/ and history/ back from one backup: mv state history ELSEWHERE && cp -Rp BACKUP/state BACKUP/history .';

/** A file that cannot be trusted. It is left as it is. */
export const recordDamaged = (file: string, fault: string, cause?: unknown): EpisodeError =>
  new EpisodeError('RECORD_DAMAGED', `${file} is damaged: ${fault}`, {
    subject: file,
    hints: [`nothing was changed; ${restoring(file)}`, 'episode doctor  # names every damaged record'],
    cause,
  });

export const formatNewer = (file: string, format: unknown): EpisodeError =>
  new EpisodeError(
    'FORMAT_NEWER',
    `${file} has format ${String(format)}, newer than this program (format 1) can read`,
    {
      subject: file,
      hints: ['use the newer episode that wrote it; it never reads back into this one'],
    },
  );

export const ledgerDamaged = (file: string, fault: string, hint = restoringState): EpisodeError =>
  new EpisodeError('LEDGER_DAMAGED', `the ledger is damaged at ${file}: ${fault}`, {
    subject: file,
    hints: [`nothing was changed; ${hint}`, 'episode doctor  # names every damaged record'],
  });

/** `hints`: what mends it, where that is more than putting `file` back. */
export const ledgerIncomplete = (file: string, fault: string, ...hints: string[]): EpisodeError =>
  new EpisodeError('LEDGER_INCOMPLETE', `the ledger is incomplete: ${fault}; nothing was created`, {
    subject: file,
    hints: [
      ...(hints.length > 0 ? hints : [restoring(file)]),
      'episode doctor  # names all that is missing or does not fit',
    ],
  });

/** Something of a show of which the ledger knows nothing: the ledger is another one's or an older one, or it is stray. */
export const strayFound = (path: string, fault: string): EpisodeError =>
  ledgerIncomplete(
    path,
    `${path} ${fault}`,
    restoringState.replace('one backup', `the backup that belongs to ${path}`),
    `or, if ${path} is not of this show: mv ${path} ELSEWHERE`,
  );

const READABLE: Record<string, string> = {
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EXDEV: 'state/ reaches over two file systems',
  EFBIG: 'the file would be larger than this process may write (ulimit -f)',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open on this machine',
  EMLINK: 'too many links',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'links lead in a circle',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EIO: 'input/output error',
};

/** Node does not know every errno by name: EDQUOT arrives as "Unknown system error -122". */
const errnoOf = (error: unknown): string =>
  error instanceof Error && 'code' in error
    ? String(error.code).replace('Unknown system error -122', 'EDQUOT')
    : 'unknown error';

/**
 * A failed system call as an error of ours. `recorded: 'no'`, the old state is intact; `'maybe'`, the commit may have
 * happened; `'yes'`, it did.
 */
export function diskError(cause: unknown, file: string, recorded: 'no' | 'maybe' | 'yes' = 'no'): EpisodeError {
  const errno = errnoOf(cause);
  const what = `${READABLE[errno] ?? errno} (${file})`;
  if (recorded === 'yes') {
    const hints = ['free the disk or mend it, then run the same command again: it prints what was recorded'];
    const message = `${what}; it is recorded, and the next command finishes it`;
    return new EpisodeError('IO_ERROR', message, { subject: file, hints, cause });
  }
  if (recorded === 'maybe') {
    const hints = ['free the disk or mend it, then run the same command again: it is safe'];
    return new EpisodeError('IO_ERROR', `${what}; it may have been recorded`, { subject: file, hints, cause });
  }
  const permitted = errno !== 'EACCES' && errno !== 'EPERM';
  const cannotCreate = ['ENOSPC', 'EDQUOT', 'EROFS', 'EXDEV', 'EMFILE', 'ENFILE', 'EMLINK', 'EEXIST', 'ENOTDIR'];
  const code = !permitted ? 'NOT_PERMITTED' : cannotCreate.includes(errno) ? 'CANNOT_WRITE' : 'IO_ERROR';
  return new EpisodeError(code, `${what}; nothing was changed`, {
    subject: file,
    hints: [permitted ? 'mend the disk, then run the same command again: it is safe' : 'run it as the owner of state/'],
    cause,
  });
}

/** Already ours, or a failed call of the system about `file`, or a bug that is passed on as it is. */
export function asEpisodeError(error: unknown, file: string, recorded: 'no' | 'maybe' | 'yes' = 'no'): unknown {
  if (!(error instanceof EpisodeError)) return isErrno(error) ? diskError(error, file, recorded) : error;
  return recorded === 'no' ? error : afterTheLink(error, recorded);
}

/** From the commit on, no failure may say that nothing happened: neither its own words nor the hints that go with them. */
export function afterTheLink(error: EpisodeError, recorded: 'maybe' | 'yes'): EpisodeError {
  if (/it (may have been|is) recorded/.test(error.message)) return error;
  const said = error.message.replace('; nothing was changed', '').replace('; nothing was written', '');
  const [ending, hint] =
    recorded === 'maybe'
      ? ['it may have been recorded', 'run the same command again: it is safe']
      : ['it is recorded, and the next command finishes it', 'episode doctor  # says what has to be mended first'];
  return new EpisodeError(error.exit === 75 ? error.code : 'IO_ERROR', `${said}; ${ending}`, {
    ...(error.subject !== null && { subject: error.subject }),
    hints: [hint],
    cause: error,
  });
}

// Providers ----------------------------------------------------------------------------------------------------------

/** Nothing came back, or a refusal to answer; `why` is the second half of a sentence. Only for what is free to repeat. */
export const providerUnreachable = (
  provider: string,
  op: string,
  why: string,
  details: Record<string, unknown> = {},
): EpisodeError =>
  new EpisodeError('PROVIDER_UNREACHABLE', `${provider} gave no answer to "${op}": ${why}`, {
    subject: provider,
    hints: ['the same command later is safe'],
    details: { op, ...details },
  });

/** On a free request. A submission that is refused so is an outcome. */
export const credentialRefused = (provider: string, op: string, why: string): EpisodeError =>
  new EpisodeError('CREDENTIAL_REFUSED', `${provider} does not accept the credential at "${op}": ${why}`, {
    subject: provider,
    hints: [`episode provider check ${provider}  # once the key is right; nothing that was sent is lost`],
    details: { op, why },
  });

export const providerProtocol = (provider: string, op: string, why: string): EpisodeError =>
  new EpisodeError('PROVIDER_PROTOCOL', `${provider} broke episode-provider/1 at "${op}": ${why}`, {
    subject: provider,
    hints: [`mend the adapter behind ${provider}: what it must answer is said in docs/providers.md`],
    details: { op },
  });

export const providerCannotStart = (provider: string, command: readonly string[], why: string): EpisodeError =>
  new EpisodeError('PROVIDER_CONFIGURATION', `${provider} cannot be started: ${why}`, {
    subject: provider,
    hints: [`name an executable file in pipeline.json: providers.${provider}.command is ${JSON.stringify(command)}`],
    details: { command },
  });

/** `program` as pipeline.json names it. */
export const commandMissing = (provider: string, program: string): EpisodeError =>
  new EpisodeError('PROVIDER_CONFIGURATION', `${provider} cannot be started: ${program} is no executable file`, {
    subject: provider,
    hints: [
      program.includes('/')
        ? `chmod +x ${program}, if it is there; its path counts from the directory of pipeline.json`
        : `install it, or give providers.${provider}.command a path: PATH has no ${program}`,
    ],
    details: { program },
  });

/** `known`: the names of those that there are. */
export const providerNotConfigured = (name: string, known: Iterable<string>): EpisodeError =>
  new EpisodeError('PROVIDER_CONFIGURATION', `pipeline.json has no provider ${name.slice(0, 80)}`, {
    subject: name,
    hints: [`there is ${[...known].sort().join(', ')}`, 'episode provider list'],
  });

/** `mapping` as pipeline.json names it. */
export const mappingInvalid = (provider: string, mapping: string, faults: string[]): EpisodeError =>
  new EpisodeError(
    'PROVIDER_CONFIGURATION',
    `the mapping ${mapping} of ${provider} cannot be used: ${faults.join('; ')}`,
    {
      subject: mapping,
      hints: [
        'docs/mappings.md says what a mapping file holds',
        `episode provider describe ${provider}  # once it is mended`,
      ],
      details: { provider, faults },
    },
  );

// Identity -----------------------------------------------------------------------------------------------------------

export const keyInOtherWeek = (key: string, episodeId: string, recorded: string, asked: string): EpisodeError =>
  new EpisodeError(
    'KEY_IN_OTHER_WEEK',
    `key "${key}" belongs to ${episodeId} in ${recorded}, and ${asked} was asked for`,
    {
      subject: key,
      hints: [
        `episode show ${episodeId}  # it is the same release: leave the week out, or give ${recorded}`,
        'use another key if a second release is meant',
      ],
      details: { episode_id: episodeId, recorded, asked },
    },
  );

/** `without`: those of `differing` that it was made without. */
export const keyInputMismatch = (
  key: string,
  episodeId: string,
  differing: string[],
  without: ReadonlySet<string>,
): EpisodeError => {
  const how = differing.map((input) => (without.has(input) ? `without a ${input}` : `with another ${input}`));
  return new EpisodeError('KEY_INPUT_MISMATCH', `key "${key}" made ${episodeId} ${how.join(' and ')}`, {
    subject: key,
    hints: [
      ...(without.has('plan') ? [`episode plan ${episodeId} --file FILE  # gives it one`] : []),
      `episode show ${episodeId}  # leave out what differs to get this episode`,
      'use another key if a second release is meant',
    ],
    details: { episode_id: episodeId, differing },
  });
};

export const keyOnSeveralEpisodes = (key: string, week: string, episodeIds: string[]): EpisodeError =>
  new EpisodeError('KEY_ON_SEVERAL_EPISODES', `key "${key}" is recorded for ${episodeIds.join(' and ')} in ${week}`, {
    subject: key,
    hints: [`nothing was created; ${restoringState}`, ...episodeIds.map((id) => `episode show ${id}`)],
    details: { episode_ids: episodeIds },
  });

export const clockBehind = (now: string, head: string): EpisodeError =>
  new EpisodeError('CLOCK_BEHIND', `the clock says ${now}, and the ledger already holds something of ${head}`, {
    subject: 'clock',
    hints: [
      'set the clock (timedatectl), then the same command is safe',
      'or say which week is meant: --week YYYY-Www',
    ],
  });

export const episodeNotFound = (episodeId: string): EpisodeError =>
  new EpisodeError('EPISODE_NOT_FOUND', `there is no episode ${episodeId}`, {
    subject: episodeId,
    hints: ['episode list --all', 'episode allocate --key K  # makes one'],
  });

export const episodeClosed = (episodeId: string, closed: { by: string; at: string; reason: string }): EpisodeError =>
  new EpisodeError('EPISODE_CLOSED', `${episodeId} was closed by ${closed.by} at ${closed.at}: ${closed.reason}`, {
    subject: episodeId,
    hints: [`episode show ${episodeId}`, 'episode allocate --key K  # makes another one'],
  });

// Plans and steps ----------------------------------------------------------------------------------------------------

export const planMissing = (episodeId: string): EpisodeError =>
  new EpisodeError('PLAN_MISSING', `${episodeId} has no plan yet`, {
    subject: episodeId,
    hints: [`episode plan ${episodeId} --file FILE`],
  });

export const planInvalid = (file: string, faults: string[]): EpisodeError =>
  new EpisodeError('PLAN_INVALID', `${file} is not a plan that can be carried out: ${faults.join('; ')}`, {
    subject: file,
    hints: [
      `mend ${file} as it says`,
      `episode plan --file ${file}  # then: checks and prices it, and changes nothing`,
    ],
    details: { faults },
  });

export const planInUse = (episodeId: string, step: string, state: string): EpisodeError =>
  new EpisodeError('PLAN_IN_USE', `step ${step} of ${episodeId} is ${state}, and the new plan changes or removes it`, {
    subject: `${episodeId}/${step}`,
    hints: [`episode show ${episodeId}`, `episode reconcile ${episodeId} --step ${step}`],
  });

export const stepNotFound = (episodeId: string, step: string, steps: string[]): EpisodeError =>
  new EpisodeError('STEP_NOT_FOUND', `${episodeId} has no step ${step}`, {
    subject: `${episodeId}/${step}`,
    hints: [`its steps are ${steps.join(', ')}`, `episode show ${episodeId}`],
  });

/** `why` is a sentence about the step: "it needs s1 first". */
export const stepNotReady = (episodeId: string, step: string, why: string, ...hints: string[]): EpisodeError =>
  new EpisodeError('STEP_NOT_READY', `step ${step} of ${episodeId}: ${why}`, {
    subject: `${episodeId}/${step}`,
    hints: hints.length > 0 ? hints : [`episode show ${episodeId}`],
  });

export const attemptInFlight = (episodeId: string, step: string, attemptId: string, who: string): EpisodeError =>
  new EpisodeError(
    'ATTEMPT_IN_FLIGHT',
    `step ${step} of ${episodeId} is being sent by ${who}; this command sent nothing`,
    {
      subject: `${episodeId}/${step}`,
      hints: [`episode wait ${episodeId}`],
      details: { attempt_id: attemptId },
    },
  );

/** This command stood still for so long that another one took it for dead, and may have acted on that. */
export const claimGivenUp = (episodeId: string, step: string, attemptId: string): EpisodeError =>
  new EpisodeError(
    'ATTEMPT_IN_FLIGHT',
    `step ${step} of ${episodeId}: this command was taken for dead before it could send; nothing was sent`,
    {
      subject: `${episodeId}/${step}`,
      hints: [`episode show ${episodeId}`],
      details: { attempt_id: attemptId },
    },
  );

export const stillRunning = (episodeId: string, step: string, provider: string, ref: string): EpisodeError =>
  new EpisodeError('STILL_RUNNING', `step ${step} of ${episodeId} is still running at ${provider}, ref ${ref}`, {
    subject: `${episodeId}/${step}`,
    hints: [`episode generate ${episodeId}  # goes on waiting, and pays nothing again`],
    details: { ref },
  });

export const outcomeUnknown = (
  episodeId: string,
  step: string,
  provider: string,
  reason: string,
  ways: readonly Way[],
): EpisodeError =>
  new EpisodeError(
    'OUTCOME_UNKNOWN',
    `step ${step} of ${episodeId}: ${provider} may have accepted and charged it, and no answer says so (${reason}); it is held`,
    {
      subject: `${episodeId}/${step}`,
      hints: wayLines(ways),
    },
  );

/**
 * Accepted once, and no longer there by the provider's own word (`remote`): `not_found` or `expired`. `settledBy` gave
 * the reference, if a person did; then it may be a wrong one, and all that was open before is open again.
 */
export const taskLost = (
  episodeId: string,
  step: string,
  provider: string,
  { ref, remote, settledBy }: { ref: string; remote: string; settledBy: string | null },
  ways: readonly Way[],
): EpisodeError =>
  new EpisodeError(
    'OUTCOME_UNKNOWN',
    settledBy === null
      ? `step ${step} of ${episodeId}: ${provider} accepted it as ${ref} and calls that ${remote} now; it is held`
      : `step ${step} of ${episodeId}: ${settledBy} settled it as ${ref}, and ${provider} calls that ${remote}; it is held`,
    {
      subject: `${episodeId}/${step}`,
      hints: wayLines(ways),
      details: { ref, remote },
    },
  );

/** A command that can be typed as it stands, and what it says. */
export interface Way {
  does: 'ask' | 'accepted' | 'output' | 'not_accepted' | 'write_off' | 'resend';
  command: string;
  means: string;
}

export const wayLines = (ways: readonly Way[]): string[] => ways.map(({ command, means }) => `${command}  # ${means}`);

const settleCommand = (episodeId: string, step: string, form: string, evidence = '"…"'): string =>
  `episode settle ${episodeId} --step ${step} ${form} --evidence ${evidence}`;

const reconcileCommand = (episodeId: string, step: string): string => `episode reconcile ${episodeId} --step ${step}`;

/** What is known of an attempt whose hold somebody must end. */
interface Held {
  provider: string;
  /** What the provider called it, if it said so without saying that it accepted it. */
  ref: string | null;
  /** Whether its result can only come from a person: the provider gives it with the answer or never. */
  isSync: boolean;
  mayResend: boolean;
  /** What may have been charged, "0.40 USD". */
  atRisk: string | null;
}

/** What ends the hold of a step of which nobody knows whether it was accepted. */
export function waysOut(episodeId: string, step: string, held: Held): Way[] {
  const { provider, isSync, mayResend, atRisk } = held;
  const accepted = `--accepted ${held.ref === null ? 'REF' : shellWord(held.ref)}`;
  const ways: (Way | false)[] = [
    { does: 'ask', command: reconcileCommand(episodeId, step), means: `asks ${provider}; free` },
    mayResend && {
      does: 'resend',
      command: settleCommand(episodeId, step, '--resend'),
      means: `asks ${provider}, then sends the same once more, which it promises to count once`,
    },
    { does: 'accepted', command: settleCommand(episodeId, step, accepted), means: `found at ${provider}` },
    isSync && {
      does: 'output',
      command: settleCommand(episodeId, step, `${accepted} --output FILE`),
      means: 'the same, and FILE is its result',
    },
    {
      does: 'not_accepted',
      command: settleCommand(episodeId, step, '--not-accepted'),
      means: `surely not there; then: episode generate ${episodeId}`,
    },
    {
      does: 'write_off',
      command: settleCommand(episodeId, step, '--write-off'),
      means: `cannot be known, ${atRisk ?? 'its cost'} stays; then: episode retry …`,
    },
  ];
  return ways.filter((way) => way !== false);
}

/** What brings the result of an accepted task home, or gives it up. */
export const waysHome = (episodeId: string, step: string, ref: string, atRisk: string | null = null): Way[] => [
  { does: 'ask', command: reconcileCommand(episodeId, step), means: 'asks for it again; free' },
  {
    does: 'output',
    command: settleCommand(episodeId, step, `--accepted ${shellWord(ref)} --output FILE`),
    means: 'FILE is its result',
  },
  {
    does: 'write_off',
    command: settleCommand(episodeId, step, '--write-off'),
    means: `cannot be had any more, ${atRisk ?? 'its cost'} stays; then: episode retry …`,
  },
];

/** Asked to stop, and nothing says yet that it did. */
export const cancelRequested = (
  episodeId: string,
  step: string,
  provider: string,
  { ref, state }: { ref: string; state: string },
): EpisodeError =>
  new EpisodeError(
    'STILL_RUNNING',
    `step ${step} of ${episodeId}: ${provider} was asked to cancel ${ref} and answers "${state}"; until it says more it runs, and may be charged`,
    {
      subject: `${episodeId}/${step}`,
      hints: [`${reconcileCommand(episodeId, step)}  # tells what became of it; free`],
      details: { ref, state },
    },
  );

/** By what the provider said of itself at the claim, or says now. */
export const cancelUnsupported = (episodeId: string, step: string, provider: string, ref: string): EpisodeError =>
  new EpisodeError(
    'CANCEL_UNSUPPORTED',
    `step ${step} of ${episodeId}: ${provider} has no way to cancel ${ref}; nothing was asked or changed`,
    {
      subject: `${episodeId}/${step}`,
      hints: [
        `cancel ${ref} in the console of ${provider}, if it has one; then: ${reconcileCommand(episodeId, step)}`,
        `${settleCommand(episodeId, step, '--write-off')}  # gives it up; its cost stays`,
      ],
      details: { ref },
    },
  );

/** `why` is a sentence about what would have been sent again; the step is held as before. */
export const resendRefused = (episodeId: string, step: string, why: string, ways: readonly Way[]): EpisodeError =>
  new EpisodeError('RESEND_REFUSED', `step ${step} of ${episodeId} is not sent again: ${why}; it is held as before`, {
    subject: `${episodeId}/${step}`,
    hints: wayLines(ways),
  });

export const retryCommand = (episodeId: string, step: string): string =>
  `episode retry ${episodeId} --step ${step} --reason "…"`;

/** `free`: what was at fault in a step that costs nothing: the `request`, which its plan makes, or the `render` of it. */
export const stepFailed = (
  episodeId: string,
  step: string,
  provider: string,
  why: string,
  free: 'request' | 'render' | null = null,
): EpisodeError =>
  new EpisodeError('STEP_FAILED', `step ${step} of ${episodeId} failed at ${provider}: ${why}`, {
    subject: `${episodeId}/${step}`,
    hints: [
      ...(free === 'request' ? [`episode plan ${episodeId} --file FILE  # with ${step} mended in FILE`] : []),
      onceMore(episodeId, step, free !== null),
    ],
  });

const onceMore = (episodeId: string, step: string, free: boolean): string =>
  `${retryCommand(episodeId, step)}  # ${free ? 'makes it once more; free' : 'pays once more'}`;

/** Definite, and by a person: `why` is "it was rejected by mika: six fingers". */
export const stepGivenUp = (episodeId: string, step: string, why: string, free: boolean): EpisodeError =>
  stepNotReady(episodeId, step, why, onceMore(episodeId, step, free));

/** Replayed, and nothing came of that take: `fate` is what became of it, "failed at fal: nsfw". */
export const reasonUsed = (
  episodeId: string,
  step: string,
  {
    reason,
    take,
    fate,
    code,
    free,
  }: { reason: string; take: number; fate: string; code: 'STEP_FAILED' | 'STEP_NOT_READY'; free: boolean },
): EpisodeError =>
  new EpisodeError(
    code,
    `step ${step} of ${episodeId}: the reason "${reason}" was used already, for take ${take}, which ${fate}; another take needs a new reason`,
    {
      subject: `${episodeId}/${step}`,
      hints: [`${retryCommand(episodeId, step)}  # with a new reason; ${free ? 'free' : 'pays once more'}`],
    },
  );

export const artifactChanged = (path: string, recorded: string, found: string): EpisodeError =>
  new EpisodeError('ARTIFACT_CHANGED', `${path} is not what was recorded (${recorded.slice(0, 12)}…): ${found}`, {
    subject: path,
    hints: ['put the recorded file back; it is neither approved nor used as it is'],
  });

/** Approved by a hash that is of another take, or of nothing here. The files are what was recorded. */
export const outputIsOther = (
  episodeId: string,
  step: string,
  is: { take: number; recorded: string; given: string; seen: number | null; approve: string },
): EpisodeError =>
  new EpisodeError(
    'ARTIFACT_CHANGED',
    `the output of step ${step} of ${episodeId} is take ${is.take}, ${is.recorded.slice(0, 12)}; you gave ${is.given}${is.seen === null ? '' : `, which is take ${is.seen}`}`,
    {
      subject: `${episodeId}/${step}`,
      hints: [`episode show ${episodeId}  # where it lies`, `${is.approve}  # once you have seen it`],
    },
  );

// Money --------------------------------------------------------------------------------------------------------------

/** `bound`: what is exceeded, `--max-cost` or a setting of pipeline.json; `counted`: the command that shows what counts. */
export const budgetExceeded = (
  what: string,
  { bound, counted }: { bound: string; counted: string },
  details: Record<string, unknown>,
): EpisodeError =>
  new EpisodeError('BUDGET_EXCEEDED', `${what}; nothing was sent`, {
    subject: 'budget',
    hints:
      bound === '--max-cost'
        ? ['give a larger --max-cost, or leave it out']
        : [`raise ${bound} in pipeline.json`, `${counted}  # shows what counts`],
    details: { ...details, bound },
  });

/** `bound`: what cannot be kept, `--max-cost` alone where a quantity bounds the budget. */
export const unpriced = (episodeId: string, step: string, why: string, bound: '--max-cost' | 'budget'): EpisodeError =>
  new EpisodeError('UNPRICED', `step ${step} of ${episodeId}: ${why}; nothing was sent`, {
    subject: `${episodeId}/${step}`,
    details: { step, bound },
    hints: [
      ...(bound === '--max-cost' ? ['leave --max-cost out: the quantity that the step takes is capped'] : []),
      'give the step an upper bound in the plan: "estimate": { "amount": "0.50", "unit": "USD" }',
      'or cap a quantity: "budget": { "quantities": { "per_episode": { … } } } in pipeline.json and "quantity" in the step',
    ],
  });

export const budgetMissing = (provider: string): EpisodeError =>
  new EpisodeError('BUDGET_MISSING', `${provider} can cost money, and pipeline.json sets no budget; nothing was sent`, {
    subject: 'pipeline.json',
    hints: [
      'add to pipeline.json: "budget": { "per_episode": "20.00" }',
      'or give --max-cost AMOUNT for this one command',
    ],
  });

export const insufficientFunds = (episodeId: string, step: string, provider: string): EpisodeError =>
  new EpisodeError('FUNDS_REFUSED', `${provider} says there are no funds; step ${step} of ${episodeId} stays ready`, {
    subject: `${episodeId}/${step}`,
    hints: [`top up at ${provider}, then: episode generate ${episodeId}`],
  });

/** The one thing that must not be lost: what a paid call answered, when the ledger cannot take it. */
export const stateNotSaved = (
  episodeId: string,
  step: string,
  answered: {
    outcome: 'accepted' | 'completed' | 'released' | 'unknown';
    ref: string | null;
    /** What it was sent under: stands for a reference where the provider gives none. */
    clientRef: string;
    reason: string | null;
    /** Absolute paths of the result, which came with the answer. */
    files: readonly string[];
  },
  cause: unknown,
): EpisodeError => {
  const { outcome, ref, clientRef, reason, files } = answered;
  const settle = (form: string, evidence: string): string => settleCommand(episodeId, step, form, quoted(evidence));
  const output = files.map((file) => ` --output ${quoted(file)}`).join('');
  const known = ref ?? (files.length > 0 ? clientRef : null);
  const command =
    known !== null
      ? settle(`--accepted ${quoted(known)}${output}`, 'the answer, which was not saved')
      : outcome === 'released'
        ? settle('--not-accepted', `the answer, which was not saved: ${reason ?? 'released'}`)
        : reconcileCommand(episodeId, step);
  return new EpisodeError(
    'STATE_NOT_SAVED',
    `step ${step} of ${episodeId} was sent, and the answer (${outcome}${ref === null ? '' : `, ref ${ref}`}) could not be saved: ${(cause as Error).message}`,
    {
      subject: `${episodeId}/${step}`,
      hints: ['free the disk or mend it, then:', command],
      details: { outcome, ref, reason, client_ref: clientRef, ...(files.length > 0 && { files }) },
      cause,
    },
  );
};

/** For a POSIX shell, as one word. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** The same without quotes where none are needed. */
const shellWord = (word: string): string => (/^[\w@%+=:,./][\w@%+=:,./-]*$/.test(word) ? word : quoted(word));

// The command line ---------------------------------------------------------------------------------------------------

export const usage = (message: string, subject: string, ...hints: string[]): EpisodeError =>
  new EpisodeError('USAGE', message, { subject, hints });

/** A show of which `pipeline.json` alone is gone: `init` would have to make a second ledger, and makes none. */
export const pipelineLost = (directory: string, code: 'NOT_A_SHOW' | 'ALREADY_INITIALISED'): EpisodeError =>
  new EpisodeError(code, `${directory} has a ledger in state/ and no pipeline.json`, {
    subject: directory,
    hints: [
      `put the file back from a backup: cp -p BACKUP/pipeline.json ${directory}/pipeline.json`,
      'or write it anew, with the time zone in which weeks were counted: { "format": 1, "show": "NAME", "time_zone": "ZONE", "currency": "USD" }',
    ],
  });

export const configuration = (faults: string[], cause?: unknown): EpisodeError =>
  new EpisodeError('CONFIGURATION', `pipeline.json: ${faults.join('; ')}`, {
    subject: 'pipeline.json',
    hints: ['the schema beside it (pipeline.schema.json) tells editors what is allowed'],
    details: { faults },
    cause,
  });

export const unstableKey = (key: string, why: string): EpisodeError =>
  new EpisodeError('UNSTABLE_KEY', `key "${key}" would not be the same on a retry: ${why}; nothing was created`, {
    subject: key,
    hints: [
      'use what stays the same for one release, e.g. --key "scheduled-run:2026-08-07", or --schedule NAME',
      'if it really is kept across retries: --key-is-stable "why"',
    ],
  });

/** People see no difference between this key and `twin`, and a ledger would make an episode for each. */
export const keyHasTwin = (key: string, { twin, fault }: { twin: string; fault: string }): EpisodeError =>
  usage(
    `key "${key}" ${fault}, and the same key without that would make another episode; nothing was created`,
    key,
    `episode allocate --key ${twin === '' ? '"scheduled-run:2026-08-07"' : quoted(twin)}`,
  );

/** A file that the user named and that cannot be read; what is no failed call of the system is passed on as it is. */
export function inputUnreadable(name: string, cause: unknown): unknown {
  if (!isErrno(cause)) return cause;
  const why = READABLE[cause.code] ?? cause.code;
  if (['EACCES', 'EPERM'].includes(cause.code)) {
    const hints = [`ls -l ${name}  # shows who may`];
    return new EpisodeError('NOT_PERMITTED', `${name} cannot be read: ${why}`, { subject: name, hints, cause });
  }
  if (!['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'].includes(cause.code)) return diskError(cause, name);
  return new EpisodeError('FILE_NOT_FOUND', `there is no file ${name} (${why})`, {
    subject: name,
    hints: ['a path counts from the directory in which the command is started'],
    cause,
  });
}

/** Named in pipeline.json: not looked for where the command is started. */
export const scheduleFileMissing = (path: string): EpisodeError =>
  new EpisodeError('FILE_NOT_FOUND', `there is no file ${path}, which a schedule of pipeline.json names as its plan`, {
    subject: path,
    hints: ['its path counts from the directory of pipeline.json'],
  });

export const weekUnknown = (week: string, why: string): EpisodeError =>
  new EpisodeError('WEEK_UNKNOWN', `there is no week "${week}": ${why}`, {
    subject: week,
    hints: ['give a week that exists, or leave --week out'],
  });

export const notOwner = (owner: string, command: string): EpisodeError =>
  new EpisodeError(
    'NOT_OWNER',
    `state/ belongs to ${owner}, and another user would leave files that ${owner} cannot change`,
    {
      subject: 'state/',
      hints: [`sudo -u ${owner} ${command}`],
    },
  );
