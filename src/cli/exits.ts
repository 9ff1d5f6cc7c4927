import { type Code, EXIT } from '../errors.ts';

/** What each exit code means to a scheduler or a script. */
const MEANING: Record<number, string> = {
  0: 'done, replayed, or waiting at a gate as planned',
  10: 'conflict: a person decides',
  11: 'unknown outcome, held',
  12: 'refused or failed definitely',
  13: 'budget or funds refused, nothing sent',
  14: 'not ready: approval, plan or a needed step is missing',
  64: 'usage, or an unstable key',
  65: 'the ledger is damaged or incomplete',
  66: 'no such episode, key or file',
  69: 'provider unreachable or throttled, nothing accepted',
  70: 'a bug in episode',
  73: 'cannot create',
  74: 'the disk or the output failed',
  75: 'busy: lock, in flight, still running',
  76: 'a provider broke its protocol',
  77: 'permission',
  78: 'configuration',
};

/** The next command for each error code; messages give the same with the names filled in. */
const NEXT: Record<Code, string> = {
  BUG: 'run it again; report it with what it printed',
  USAGE: 'episode VERB --help',
  NOT_INITIALISED: 'episode init --time-zone ZONE',
  NOT_A_SHOW: 'episode init --time-zone ZONE, or --root DIR',
  ALREADY_INITIALISED: 'episode list',
  NO_HARD_LINKS: 'episode doctor',
  CONFIGURATION: 'mend pipeline.json',
  NOT_OWNER: 'sudo -u OWNER episode …',
  CLOCK_BEHIND: 'set the clock, or give --week',
  COMMITTED_NOT_PRINTED: 'the same command again',
  LOCK_BUSY: 'the same command later',
  LEDGER_BUSY: 'the same command later',
  LOCK_LOST: 'the same command again',
  RECORD_DAMAGED: 'episode doctor',
  FORMAT_NEWER: 'a newer episode',
  LEDGER_DAMAGED: 'episode doctor',
  LEDGER_INCOMPLETE: 'episode doctor',
  CANNOT_WRITE: 'free the disk, then the same command',
  IO_ERROR: 'mend the disk, then the same command',
  NOT_PERMITTED: 'run it as the owner of state/',
  WEEK_UNKNOWN: 'give a week that exists',
  UNSTABLE_KEY: 'episode allocate --schedule NAME, or another key',
  KEY_IN_OTHER_WEEK: 'episode show ID',
  KEY_INPUT_MISMATCH: 'episode show ID',
  KEY_ON_SEVERAL_EPISODES: 'put state/ back from a backup',
  SLOT_UNKNOWN: 'give a slot of the schedule',
  EPISODE_NOT_FOUND: 'episode list --all',
  KEY_NOT_FOUND: 'episode list --all',
  FILE_NOT_FOUND: 'give a file that exists',
  EPISODE_CLOSED: 'episode allocate with another key',
  PLAN_INVALID: 'episode plan --file FILE',
  PLAN_MISSING: 'episode plan ID --file FILE',
  PLAN_IN_USE: 'episode reconcile ID --step S',
  STEP_NOT_FOUND: 'episode show ID',
  STEP_NOT_READY: 'episode show ID',
  ATTEMPT_IN_FLIGHT: 'episode wait ID',
  STILL_RUNNING: 'episode generate ID',
  WAIT_TIMEOUT: 'episode wait ID',
  OUTCOME_UNKNOWN: 'episode reconcile ID, then episode settle',
  STEP_FAILED: 'episode retry ID --step S --reason R',
  CANCEL_UNSUPPORTED: 'cancel it in the console of the provider, or episode settle',
  RESEND_REFUSED: 'episode reconcile ID, then another form of episode settle',
  ARTIFACT_CHANGED: 'put the recorded file back',
  BUDGET_EXCEEDED: 'raise the budget in pipeline.json, or --max-cost; see: episode cost ID',
  UNPRICED: 'give the step an estimate',
  FUNDS_REFUSED: 'top up, then episode generate ID',
  BUDGET_MISSING: 'add "budget" to pipeline.json, or --max-cost',
  CREDENTIAL_MISSING: 'export the variable, or store the file',
  CREDENTIAL_EXPOSED: 'chmod 600 the file',
  CREDENTIAL_REFUSED: 'episode provider check NAME, once the key is right',
  STATE_NOT_SAVED: 'the episode settle line it printed',
  TOOL_FAILED: 'the same command again',
  FFMPEG_MISSING: 'apt-get install ffmpeg',
  MEDIA_NOT_WHOLE: 'episode reconcile ID',
  PROVIDER_UNREACHABLE: 'the same command later',
  PROVIDER_PROTOCOL: 'mend the adapter',
  PROVIDER_CONFIGURATION: 'mend pipeline.json',
};

/** What the exit codes of a verb mean, one line each, as its help shows them. */
export function exitLines(exits: readonly number[]): string[] {
  const others = OF_ANY_VERB.filter((exit) => !exits.includes(exit));
  return [
    ...[0, ...exits].map((exit) => `${String(exit).padStart(4)}  ${MEANING[exit]}`),
    ...(others.length > 0 ? [`  and those of every verb: ${others.join(' ')}`] : []),
    '',
    'episode help exits          every error code, its exit code and the next command',
  ];
}

/** The command line, the records, the disk, a bug: whatever the verb. */
const OF_ANY_VERB: readonly number[] = [64, 65, 70, 73, 74, 75, 77, 78];

const codesByExit = (): Code[] => (Object.keys(EXIT) as Code[]).sort((a, b) => EXIT[a] - EXIT[b] || (a < b ? -1 : 1));

export const exitsDocument = () => ({
  exits: Object.entries(MEANING).map(([exit, meaning]) => ({ exit: Number(exit), meaning })),
  codes: codesByExit().map((code) => ({ code, exit: EXIT[code], next: NEXT[code] })),
});

export function exitsText(): string {
  const codes = codesByExit();
  const width = Math.max(...codes.map((code) => code.length));
  return [
    'Exit codes. 69 and 75: the same command later is safe; anything else but 0 needs a person.',
    '',
    ...Object.entries(MEANING).map(([exit, meaning]) => `${exit.padStart(4)}  ${meaning}`),
    '',
    'Error codes, and the next command:',
    '',
    ...codes.map((code) => `${String(EXIT[code]).padStart(4)}  ${code.padEnd(width)}  ${NEXT[code]}`),
    '',
  ].join('\n');
}
