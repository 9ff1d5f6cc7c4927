import { holdsNow } from './now.ts';

/**
 * Keys that change when the scheduler starts the same run again would make a second episode for one release. They are
 * refused by what they are made of (measured on cron, systemd and others), never by taste: a UUID is refused because
 * nothing says that it is kept.
 */

/** Variables that are new at every start, or frozen at the first one. */
const TRAPS: Record<string, string> = {
  INVOCATION_ID: 'systemd makes a new one at every start, restarts included',
  TRIGGER_TIMER_REALTIME_USEC:
    'systemd freezes it at the first run, so every later run would look like a retry of the first',
  TRIGGER_TIMER_MONOTONIC_USEC:
    'systemd freezes it at the first run, so every later run would look like a retry of the first',
  TRIGGER_UNIT: 'it is the same for every run of the timer',
  JOURNAL_STREAM: 'it changes at every start',
  SYSTEMD_EXEC_PID: 'it changes at every start',
  HOSTNAME: 'it names the machine or pod, not the run',
  NOMAD_ALLOC_ID: 'it is new for every rescheduled run',
  GITHUB_RUN_ATTEMPT: 'it grows with every re-run',
  CI_JOB_ID: 'it is new for every retried job',
  BUILDKITE_JOB_ID: 'it is new for every retried job',
  BUILDKITE_RETRY_COUNT: 'it grows with every retry',
  CIRCLE_WORKFLOW_ID: 'it is new for every re-run',
  CLOUD_RUN_EXECUTION: 'it is new for every execution',
  CLOUD_RUN_TASK_ATTEMPT: 'it grows with every retry',
  AIRFLOW_CTX_TRY_NUMBER: 'it grows with every retry',
};

/** Variables whose value is kept when the same run is started again: it is exempt, whatever it looks like. */
const STABLE = [
  ...['GITHUB_RUN_ID', 'GITHUB_RUN_NUMBER', 'CI_PIPELINE_ID', 'CI_PIPELINE_IID', 'BUILDKITE_BUILD_ID'],
  ...['BUILDKITE_BUILD_NUMBER', 'NOMAD_JOB_ID', 'AIRFLOW_CTX_DAG_RUN_ID'],
];

/** Shorter values turn up in keys by chance. */
const TELLING_LENGTH = 8;

/**
 * Why this key would not be the same on a retry, as half a sentence; `null` when nothing speaks against it.
 * `ancestors`: IDs of this process and of those that started it, asked for only by a key that may hold one.
 */
export function whyUnstable(
  key: string,
  env: NodeJS.ProcessEnv,
  nowMs: number,
  ancestors: () => readonly number[],
): string | null {
  if (STABLE.some((name) => env[name] === key)) return null;
  const rest = withoutStable(key, env);
  return (
    whyPlaceholder(key) ??
    whyTrap(key, env) ??
    whyNow(rest, nowMs) ??
    whyProcess(rest, env, ancestors) ??
    whyRandom(rest)
  );
}

/** `nomad:brief/periodic-1786060800` holds a time that is near now, and is kept. */
const withoutStable = (key: string, env: NodeJS.ProcessEnv): string =>
  STABLE.reduce(
    (rest, name) => ((env[name]?.length ?? 0) < TELLING_LENGTH ? rest : rest.replaceAll(env[name]!, '')),
    key,
  );

/** What was to be put in before the key came here, by whom, and was not; the first that fits says it. */
const PLACEHOLDERS: [RegExp, string][] = [
  [/^(null|undefined|none|nil)$/i, 'it is the word for nothing'],
  [/\$[A-Za-z_({$@]/, 'it holds a variable that the shell did not replace'],
  [/`[^`]+`/, 'it holds a command that the shell did not run'],
  [/%[a-zA-Z]|^%%/, 'it holds a specifier that systemd or date did not replace'],
  [/<aws\.scheduler\./, 'it holds a placeholder that EventBridge did not replace'],
  // Of templates, of documentation (`<run-id>`, `YYYY-MM-DD`), of Python.
  [
    /\{\{|\}\}|\{%|\{[A-Za-z_][\w.]*\}|<[A-Za-z][\w .:-]*>|%\([A-Za-z_]+\)|(?<![A-Za-z])YYYY(?=$|[^A-Za-z]|MM|W)/i,
    'it holds a placeholder that nobody filled in',
  ],
];

const whyPlaceholder = (key: string): string | null => PLACEHOLDERS.find(([shape]) => shape.test(key))?.[1] ?? null;

function whyTrap(key: string, env: NodeJS.ProcessEnv): string | null {
  for (const [name, why] of Object.entries(TRAPS)) {
    const value = env[name];
    if (!value || (key !== value && (value.length < TELLING_LENGTH || !key.includes(value)))) continue;
    return `it holds $${name}: ${why}`;
  }
  return null;
}

const whyNow = (key: string, nowMs: number): string | null =>
  holdsNow(key, nowMs) ? 'it holds the time of now, which differs on a retry' : null;

/**
 * Fewer digits are the rule in containers, where the run numbers of a CI are as small. A year stands in half of all keys;
 * who gets such a process ID gets through.
 */
const PROCESS_ID = /(?<![\d.])(?!0|19\d\d(?!\d)|20\d\d(?!\d))\d{4,7}(?![\d.])/g;

/** `run-$$`: the number of a CI's run looks the same, and is the ID of one of a handful of processes once in thousands. */
function whyProcess(key: string, env: NodeJS.ProcessEnv, ancestors: () => readonly number[]): string | null {
  const numbers = (key.match(PROCESS_ID) ?? []).filter((digits) => !STABLE.some((name) => env[name] === digits));
  if (numbers.length === 0) return null;
  const pid = ancestors().find((ancestor) => numbers.includes(String(ancestor)));
  return pid === undefined
    ? null
    : `it holds ${pid}, the process ID of what started this ($$), which differs on a retry`;
}

const RANDOM: Record<string, RegExp> = {
  'a UUID': /(?<![\da-z])[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}(?![\da-z])/i,
  'a ULID': /(?<![\da-z])[0-7][\dA-HJKMNP-TV-Z]{25}(?![\da-z])/i,
  '32 hex digits': /(?<![\da-z])[\da-f]{32}(?![\da-z])/i,
};

/** Also behind a name: `run:$(uuidgen)`. */
function whyRandom(key: string): string | null {
  const what = Object.keys(RANDOM).find((name) => RANDOM[name]!.test(key));
  return what === undefined ? null : `it holds ${what}, and nothing says that a retry has the same`;
}

/** White space, and what takes no room and shows nothing; marks that end a flag or join letters are none of that. */
const EDGE = '[\\s\\u00ad\\u061c\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2069\\ufeff]+';
const EDGES = new RegExp(`^${EDGE}|${EDGE}$`, 'g');

/** The key that people would take this one for, and how they differ; `null` for a key that is only itself. */
export function twinOf(key: string): { twin: string; fault: string } | null {
  const bare = key.replace(EDGES, '');
  const twin = bare.normalize('NFC');
  if (bare !== key) return { twin, fault: 'begins or ends with white space or an invisible character' };
  if (twin !== key) return { twin, fault: 'holds letters in more than one character (it is not in Unicode NFC)' };
  return null;
}
