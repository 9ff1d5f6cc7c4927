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

/** Variables whose value is kept when the same run is started again: what equals one of them is exempt. */
const STABLE = ['GITHUB_RUN_ID', 'CI_PIPELINE_ID', 'BUILDKITE_BUILD_ID', 'NOMAD_JOB_ID', 'AIRFLOW_CTX_DAG_RUN_ID'];

/** Shorter values turn up in keys by chance. */
const TELLING_LENGTH = 8;
const NEAR_NOW_MS = { number: 10 * 60_000, time: 2 * 60_000 };

/** Why this key would not be the same on a retry, as half a sentence; `null` when nothing speaks against it. */
export function whyUnstable(key: string, env: NodeJS.ProcessEnv, nowMs: number): string | null {
  if (STABLE.some((name) => env[name] === key)) return null;
  return whyPlaceholder(key) ?? whyTrap(key, env) ?? whyNow(key, nowMs) ?? whyRandom(key);
}

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

function whyNow(key: string, nowMs: number): string | null {
  if (/^\d{9,19}$/.test(key)) {
    for (const unitsPerMs of [0.001, 1, 1e3, 1e6]) {
      if (Math.abs(Number(key) / unitsPerMs - nowMs) < NEAR_NOW_MS.number)
        return 'it is the time of now, which differs on a retry';
    }
  }
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:(\d\d(?:\.\d+)?)(?:Z|[+-]\d\d:?\d\d)$/.exec(key);
  // A scheduler's own time for 09:00:00, used at 09:00:03, has no seconds and is stable.
  if (time && Number(time[1]) !== 0 && Math.abs(Date.parse(key) - nowMs) < NEAR_NOW_MS.time) {
    return 'it is the time of now, which differs on a retry';
  }
  return null;
}

function whyRandom(key: string): string | null {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(key))
    return 'it is a UUID, and nothing says that a retry has the same';
  if (/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(key)) return 'it is a ULID, and nothing says that a retry has the same';
  if (/^[0-9a-f]{32}$/i.test(key)) return 'it is 32 hex digits, and nothing says that a retry has the same';
  return null;
}
