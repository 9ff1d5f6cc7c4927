import type { Attempt, Episode } from '../../src/model/episode.ts';
import type { Plan, Step } from '../../src/model/plan.ts';

/** Records of episodes for tests of what follows from them: each says only what it is about. */

const AT = '2026-08-07T00:00:00.000Z';
const SHA = (digit: string): string => digit.repeat(64);

export const step = (id: string, more: Partial<Step> = {}): Step => ({ id, provider: 'house', kind: 'text', ...more });

const unsent: Attempt = {
  attempt_id: 'att-1',
  number: 1,
  verb: 'generate',
  reason: null,
  provider: 'house',
  kind: 'text',
  params: {},
  inputs: [],
  fingerprint: SHA('0'),
  client_ref: 'ep-1',
  sheet: {
    protocol: 'episode-provider/1',
    provider: 'scripted',
    version: '1',
    kinds: ['text'],
    capabilities: { submit: 'async', announces_sending: true },
  },
  claim: {
    at: AT,
    by: 'mika',
    token: 'token-1',
    owner: { host: 'studio', boot: 'b', pid: 7, started: '1' },
    lease_until: '2026-08-07T00:20:00.000Z',
    adapter: null,
  },
  checkpoint: null,
  sending_at: null,
  ref: null,
  outcome: null,
  remote: null,
  files: null,
  finished_at: null,
  settlement: null,
  rejection: null,
};

const outcome = (kind: 'accepted' | 'completed' | 'released' | 'unknown', reason: string | null = null) => ({
  outcome: { outcome: kind, at: AT, reason },
});
const remote = (state: NonNullable<Attempt['remote']>['state']) => ({
  ref: 'task_1',
  ...outcome('accepted'),
  remote: { state, progress: null, reason: null, at: AT },
});
const settlement = (form: 'accepted' | 'not_accepted' | 'write_off') => ({
  settlement: { form, at: AT, by: 'mika', evidence: 'looked', ref: form === 'accepted' ? 'task_1' : null },
});
const made = (digit: string) => ({
  ...outcome('completed'),
  files: [{ path: `episodes/x/s/${digit}.txt`, sha256: SHA(digit), bytes: 3, mime: null, role: null }],
  // Before a second attempt would begin.
  finished_at: '2026-08-06T00:01:30.000Z',
});
const rejection = { rejection: { at: AT, by: 'mika', reason: 'six fingers' } };

/** One attempt for each way it can stand. */
export const attempts = {
  claimed: {},
  sending: { sending_at: AT },
  announcedAccepted: { sending_at: AT, ref: 'task_1' },
  accepted: { ref: 'task_1', ...outcome('accepted') },
  queued: remote('queued'),
  running: remote('running'),
  done: remote('done'),
  lost: remote('not_found'),
  expired: remote('expired'),
  failedThere: remote('error'),
  canceled: remote('canceled'),
  notSent: outcome('released', 'not_sent'),
  throttled: outcome('released', 'throttled'),
  noFunds: outcome('released', 'insufficient_funds'),
  crashed: outcome('released', 'crashed'),
  refused: outcome('released', 'invalid_input'),
  notWhole: outcome('completed', 'not_whole'),
  unknown: { sending_at: AT, ...outcome('unknown', 'reset') },
  settledAccepted: { ref: 'task_1', ...outcome('accepted', 'settled'), ...settlement('accepted') },
  settledNotAccepted: { ...outcome('unknown', 'reset'), ...settlement('not_accepted') },
  writtenOff: { ...outcome('unknown', 'reset'), ...settlement('write_off') },
  made: made('a'),
  madeOtherwise: made('b'),
  rejected: { ...made('a'), ...rejection },
} satisfies Record<string, Partial<Attempt>>;

export type Standing = keyof typeof attempts;

export interface Given {
  steps: Step[] | null;
  /** Attempts of each step, oldest first. */
  attempts?: Record<string, (Standing | Partial<Attempt>)[]>;
  /** Steps whose newest take is approved. */
  approved?: string[];
  closed?: boolean;
}

/** Attempts carry what their step's plan says now, so that nothing is stale unless a test makes it so. */
export function episode({ steps, attempts: given = {}, approved = [], closed = false }: Given): Episode {
  const plan: Plan | null = steps && { format: 1, steps };
  const records = Object.entries(given).map(([id, list]) => ({
    id,
    state: '',
    attempts: list.map((one, index): Attempt => {
      const { provider = 'house', kind = 'text', params = {} } = steps?.find((candidate) => candidate.id === id) ?? {};
      const number = index + 1;
      const about = { attempt_id: `att-${id}-${number}`, number, provider, kind, params };
      const claim = { ...unsent.claim, at: `2026-08-06T00:0${number}:00.000Z` };
      return structuredClone({ ...unsent, ...about, claim, ...(typeof one === 'string' ? attempts[one] : one) });
    }),
  }));
  return {
    format: 1,
    revision: 1,
    episode_id: '2026-W32-0',
    week_id: '2026-W32',
    sequence: 0,
    allocation_key: 'k',
    allocation: {
      source: 'typed',
      schedule: null,
      slot: null,
      time_zone: 'UTC',
      plan_sha256: null,
      inputs_sha256: SHA('0'),
      issued_at: null,
      key_is_stable: null,
      allocated_at: AT,
      allocated_by: 'mika',
    },
    again_of: null,
    plan,
    plan_sha256: plan && SHA('1'),
    status: 'allocated',
    steps: records,
    costs: [],
    artifacts: [],
    approvals: approved.map((id) => {
      const take = records.find((record) => record.id === id)!.attempts.findLast((attempt) => attempt.files)!;
      const files = take.files!.map(({ path, sha256 }) => ({ path, sha256 }));
      return { step: id, attempt_id: take.attempt_id, files, by: 'mika', at: AT };
    }),
    publications: [],
    migration: null,
    completed_at: null,
    closed: closed ? { at: AT, by: 'mika', reason: 'made twice' } : null,
    events: [],
  };
}
