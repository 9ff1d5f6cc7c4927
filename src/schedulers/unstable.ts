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
const STABLE = ['GITHUB_RUN_ID', 'CI_PIPELINE_ID', 'BUILDKITE_BUILD_ID', 'NOMAD_JOB_ID', 'AIRFLOW_CTX_DAG_RUN_ID'];

/** Shorter values turn up in keys by chance. */
const TELLING_LENGTH = 8;
const NEAR_NOW_MS = { number: 10 * 60_000, time: 2 * 60_000 };

/** Why this key would not be the same on a retry, as half a sentence; `null` when nothing speaks against it. */
export function whyUnstable(key: string, env: NodeJS.ProcessEnv, nowMs: number): string | null {
  if (STABLE.some((name) => env[name] === key)) return null;
  return whyPlaceholder(key) ?? whyTrap(key, env) ?? whyNow(withoutStable(key, env), nowMs) ?? whyRandom(key);
}

/** `nomad:brief/periodic-1786060800` holds a time that is near now, and is kept. */
const withoutStable = (key: string, env: NodeJS.ProcessEnv): string =>
  STABLE.reduce(
    (rest, name) => ((env[name]?.length ?? 0) < TELLING_LENGTH ? rest : rest.replaceAll(env[name]!, '')),
    key,
  );

function whyPlaceholder(key: string): string | null {
  if (/^(null|undefined|none|nil)$/i.test(key)) return 'it is the word for nothing';
  if (/\$\{?[A-Za-z_]|\$\(/.test(key)) return 'it holds a variable that the shell did not replace';
  if (/%[a-zA-Z]|^%%/.test(key)) return 'it holds a specifier that systemd or date did not replace';
  if (key.includes('<aws.scheduler.')) return 'it holds a placeholder that EventBridge did not replace';
  return null;
}

function whyTrap(key: string, env: NodeJS.ProcessEnv): string | null {
  for (const [name, why] of Object.entries(TRAPS)) {
    const value = env[name];
    if (!value || (key !== value && (value.length < TELLING_LENGTH || !key.includes(value)))) continue;
    return `it holds $${name}: ${why}`;
  }
  return null;
}

/** Also inside a key: `nightly-$(date +%s)` is how most keys of this kind are made. */
function whyNow(key: string, nowMs: number): string | null {
  const near = [...numbersIn(key)].some((ms) => Math.abs(ms - nowMs) < NEAR_NOW_MS.number);
  return near || [...timesIn(key)].some((ms) => Math.abs(ms - nowMs) < NEAR_NOW_MS.time)
    ? 'it holds the time of now, which differs on a retry'
    : null;
}

/** Integers read as seconds, milliseconds, microseconds and nanoseconds since the epoch. */
function* numbersIn(key: string): Generator<number> {
  for (const [digits] of key.matchAll(/(?<!\d)\d{9,19}(?!\d)/g)) {
    for (const unitsPerMs of [0.001, 1, 1e3, 1e6]) {
      const ms = Number(digits) / unitsPerMs;
      // Whole minutes beside a name are a scheduler's own (`brief-1786060800`); alone they say nothing.
      if (digits === key || ms % 60_000 !== 0) yield ms;
    }
  }
}

/** Times with seconds: a scheduler's own 09:00:00, used at 09:00:03, has none and is stable. */
function* timesIn(key: string): Generator<number> {
  const times = /(\d{4})-?(\d\d)-?(\d\d)T(\d\d):?(\d\d):?(\d\d)((?:\.\d+)?)(Z|[+-]\d\d:?\d\d)/g;
  for (const [, year, month, day, hour, minute, second, fraction, offset] of key.matchAll(times)) {
    if (Number(`${second}${fraction}`) === 0) continue;
    const zone = offset === 'Z' ? 'Z' : `${offset!.slice(0, 3)}:${offset!.slice(-2)}`;
    yield Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}${zone}`);
  }
}

function whyRandom(key: string): string | null {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(key))
    return 'it is a UUID, and nothing says that a retry has the same';
  if (/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(key)) return 'it is a ULID, and nothing says that a retry has the same';
  if (/^[0-9a-f]{32}$/i.test(key)) return 'it is 32 hex digits, and nothing says that a retry has the same';
  return null;
}
