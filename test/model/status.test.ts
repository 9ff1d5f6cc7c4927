import { describe, expect, test } from 'vitest';
import { attemptState, isOpen } from '../../src/model/attempt.ts';
import { Episode } from '../../src/model/episode.ts';
import { ASSEMBLY, type Step } from '../../src/model/plan.ts';
import { deliverables, deriveStatus, viewSteps, withDerived } from '../../src/model/status.ts';
import { attempts, episode, type Given, type Standing, step } from './episodes.ts';

const viewOf = (given: Given, id = 's1') => viewSteps(episode(given)).find((view) => view.id === id)!;
const statesOf = (given: Given) => Object.fromEntries(viewSteps(episode(given)).map(({ id, state }) => [id, state]));
const one = [step('s1')];

describe('a step with one attempt', () => {
  const table: [Standing, string, string][] = [
    ['claimed', 'claimed', 'generating'],
    ['sending', 'sending', 'generating'],
    ['announcedAccepted', 'accepted', 'generating'],
    ['accepted', 'accepted', 'generating'],
    ['queued', 'accepted', 'generating'],
    ['running', 'running', 'generating'],
    ['done', 'running', 'generating'],
    ['lost', 'accepted', 'held'],
    ['expired', 'accepted', 'held'],
    ['failedThere', 'failed', 'failed'],
    ['canceled', 'canceled', 'failed'],
    ['notSent', 'ready', 'generating'],
    ['throttled', 'ready', 'generating'],
    ['noFunds', 'ready', 'generating'],
    ['crashed', 'ready', 'generating'],
    ['refused', 'failed', 'failed'],
    ['notWhole', 'failed', 'failed'],
    ['unknown', 'unknown', 'held'],
    ['settledAccepted', 'accepted', 'generating'],
    ['settledNotAccepted', 'ready', 'generating'],
    ['writtenOff', 'unknown', 'failed'],
    ['made', 'succeeded', 'complete'],
    ['rejected', 'rejected', 'failed'],
  ];
  test.each(table)('that is %s is %s, and its episode %s', (standing, state, status) => {
    const given = { steps: one, attempts: { s1: [standing] } };
    expect([viewOf(given).state, deriveStatus(episode(given))]).toEqual([state, status]);
  });

  test('covers every way an attempt can stand', () => {
    const covered = new Set<string>([...table.map(([standing]) => standing), 'madeOtherwise']);
    expect(Object.keys(attempts).filter((standing) => !covered.has(standing))).toEqual([]);
  });

  test('is open exactly while something may still be bought', () => {
    const record = episode({ steps: one, attempts: { s1: Object.keys(attempts) as Standing[] } });
    const states = record.steps[0]!.attempts.filter(isOpen).map(attemptState);
    expect(new Set(states)).toEqual(new Set(['claimed', 'sending', 'accepted', 'running', 'unknown']));
  });

  test('is marked when it was given up, so that nobody holds it for an open question', () => {
    expect(viewOf({ steps: one, attempts: { s1: ['writtenOff'] } }).writtenOff).toBe(true);
    expect(viewOf({ steps: one, attempts: { s1: ['unknown'] } }).writtenOff).toBe(false);
  });
});

describe('steps that need others', () => {
  const chain = [step('s1', { review: true }), step('s2', { needs: ['s1'] })];
  test.each<[string, Given, object]>([
    ['wait', { steps: chain }, { s1: 'ready', s2: 'waiting' }],
    [
      'wait for the approval of an output',
      { steps: chain, attempts: { s1: ['made'] } },
      { s1: 'succeeded', s2: 'waiting' },
    ],
    [
      'are ready once it is approved',
      { steps: chain, attempts: { s1: ['made'] }, approved: ['s1'] },
      { s1: 'succeeded', s2: 'ready' },
    ],
    ['wait for a rejected one', { steps: chain, attempts: { s1: ['rejected'] } }, { s1: 'rejected', s2: 'waiting' }],
    ['wait for a held one', { steps: chain, attempts: { s1: ['unknown'] } }, { s1: 'unknown', s2: 'waiting' }],
    [
      'wait for one that was given up',
      { steps: chain, attempts: { s1: ['writtenOff'] } },
      { s1: 'unknown', s2: 'waiting' },
    ],
  ])('%s', (_what, given, states) => {
    expect(statesOf(given)).toEqual(states);
  });

  test('say what they wait for', () => {
    expect(viewOf({ steps: chain, attempts: { s1: ['made'] } }, 's2').missing).toEqual(['s1']);
  });

  test('need what their inputs come from', () => {
    const steps = [step('s1'), step('s2', { inputs: [{ name: 'line', step: 's1' }] })];
    expect(statesOf({ steps })).toEqual({ s1: 'ready', s2: 'waiting' });
  });
});

describe('an episode', () => {
  const chain = [step('s1', { review: true }), step('s2', { needs: ['s1'] })];
  test.each<[string, Given, string]>([
    ['without a plan is allocated', { steps: null }, 'allocated'],
    ['that nothing was done about is planned', { steps: chain }, 'planned'],
    ['at a gate awaits approval', { steps: chain, attempts: { s1: ['made'] } }, 'awaiting-approval'],
    ['behind a gate goes on', { steps: chain, attempts: { s1: ['made'] }, approved: ['s1'] }, 'generating'],
    [
      'is complete when all is made and approved',
      { steps: chain, attempts: { s1: ['made'], s2: ['made'] }, approved: ['s1'] },
      'complete',
    ],
    ['that was closed is closed', { steps: chain, attempts: { s1: ['unknown'] }, closed: true }, 'closed'],
    [
      'is held as long as one step is, whatever the others do',
      { steps: [step('s1'), step('s2'), step('s3')], attempts: { s1: ['unknown'], s2: ['running'], s3: ['refused'] } },
      'held',
    ],
    [
      'is generating while something runs, though another step failed',
      { steps: [step('s1'), step('s2')], attempts: { s1: ['running'], s2: ['refused'] } },
      'generating',
    ],
    [
      'is failed rather than at a gate',
      { steps: [step('s1', { review: true }), step('s2')], attempts: { s1: ['made'], s2: ['refused'] } },
      'failed',
    ],
  ])('%s', (_what, given, status) => {
    expect(deriveStatus(episode(given))).toBe(status);
  });
});

describe('a gate', () => {
  const gated = [step('s1', { review: true })];

  test('is open for the approved bytes only', () => {
    const record = episode({ steps: gated, attempts: { s1: ['made'] }, approved: ['s1'] });
    expect(viewSteps(record)[0]!.gate).toBe('approved');
    record.steps[0]!.attempts[0]!.files![0]!.sha256 = 'f'.repeat(64);
    expect(viewSteps(record)[0]!.gate).toBe('waiting');
  });

  test('asks again for a retake, though an earlier take was approved', () => {
    const record = episode({ steps: gated, attempts: { s1: ['made'] }, approved: ['s1'] });
    const retaken = episode({ steps: gated, attempts: { s1: ['rejected', 'madeOtherwise'] } });
    expect(viewSteps({ ...retaken, approvals: record.approvals })[0]).toMatchObject({
      state: 'succeeded',
      gate: 'waiting',
    });
  });

  test('does not ask about an output that is not in force', () => {
    expect(viewOf({ steps: gated, attempts: { s1: ['made', 'running'] } })).toMatchObject({
      state: 'running',
      gate: 'none',
    });
    expect(viewOf({ steps: gated, attempts: { s1: ['made', 'refused'] } })).toMatchObject({
      state: 'failed',
      gate: 'none',
    });
  });
});

describe('stale output', () => {
  const film = (more: Partial<Step> = {}) =>
    step('film', { provider: ASSEMBLY, kind: 'video', needs: ['s1'], ...more });
  const inputs = [{ name: 's1', path: 'episodes/x/s/a.txt', sha256: 'a'.repeat(64) }];
  const filmMade = { ...attempts.madeOtherwise, inputs };

  test('is what answers another question than the plan asks now', () => {
    const steps = [step('s1', { params: { text: 'new' } })];
    expect(viewOf({ steps, attempts: { s1: [{ ...attempts.made, params: { text: 'old' } }] } }).state).toBe('stale');
  });

  test.each<[string, Partial<Step>]>([
    ['estimate', { estimate: { amount: '9', unit: 'USD' } }],
    ['review', { review: true }],
    ['role', { role: 'media' }],
    ['quantity', { quantity: { seconds: '3' } }],
  ])('is not made by another %s', (_what, more) => {
    expect(viewOf({ steps: [step('s1', more)], attempts: { s1: ['made'] } }).state).toBe('succeeded');
  });

  test('spreads to everything made of it', () => {
    const steps = [step('s1', { params: { text: 'new' } }), film()];
    const given = { steps, attempts: { s1: [{ ...attempts.made, params: {} }], film: [filmMade] } };
    expect(statesOf(given)).toEqual({ s1: 'stale', film: 'stale' });
    expect(deriveStatus(episode(given))).toBe('complete');
  });

  test('is the film once a clip was taken again', () => {
    const steps = [step('s1'), film()];
    const retaken = { s1: ['rejected', 'madeOtherwise'] as Standing[], film: [filmMade] };
    expect(statesOf({ steps, attempts: retaken })).toEqual({ s1: 'succeeded', film: 'stale' });
    expect(statesOf({ steps, attempts: { s1: ['made'], film: [filmMade] } })).toEqual({
      s1: 'succeeded',
      film: 'succeeded',
    });
  });

  test('is still usable', () => {
    const steps = [step('s1', { params: { text: 'new' } }), film()];
    expect(viewOf({ steps, attempts: { s1: [{ ...attempts.made, params: {} }] } }, 'film').state).toBe('ready');
  });
});

describe('several attempts', () => {
  test.each<[string, Standing[], string, number | null]>([
    ['a retake after a rejection counts', ['rejected', 'madeOtherwise'], 'succeeded', 2],
    ['a failed retake is a failure', ['rejected', 'refused'], 'failed', null],
    ['a retake that bought nothing leaves the take before it in force', ['made', 'throttled'], 'succeeded', 1],
    ['a retake that bought nothing leaves a rejected step ready', ['rejected', 'throttled'], 'ready', null],
    ['a released attempt is sent again', ['throttled', 'made'], 'succeeded', 2],
    ['a write-off that was paid again is over', ['writtenOff', 'made'], 'succeeded', 2],
    ['an older attempt that is open again says how the step stands', ['accepted', 'refused'], 'accepted', null],
    ['a failed retake of a usable output is a failure all the same', ['made', 'refused'], 'failed', 1],
    ['a late take of an older attempt counts when nothing came of the newest', ['made', 'refused'], 'succeeded', 1],
    ['a late take of an older attempt does not undo a rejection', ['made', 'rejected'], 'rejected', 1],
  ])('%s', (what, list, state, take) => {
    const given = list.map((standing, index) =>
      what.includes('late') && index === 0
        ? { ...attempts[standing], finished_at: '2026-08-07T00:00:00.000Z' }
        : standing,
    );
    const view = viewOf({ steps: one, attempts: { s1: given } });
    expect([view.state, view.take?.number ?? null]).toEqual([state, take]);
  });
});

describe('a step that was left out of the plan', () => {
  test('is skipped, and the rest can be complete', () => {
    const given: Given = { steps: one, attempts: { s1: ['made'], old: ['rejected'] } };
    expect(statesOf(given)).toEqual({ s1: 'succeeded', old: 'skipped' });
    expect(deriveStatus(episode(given))).toBe('complete');
  });

  test('still holds the episode while it is unknown', () => {
    expect(deriveStatus(episode({ steps: one, attempts: { s1: ['made'], old: ['unknown'] } }))).toBe('held');
  });
});

test('what is derived is stored, and what is stored is a valid record', () => {
  const record = withDerived(episode({ steps: [...one, step('s2')], attempts: { s1: ['made'], old: ['refused'] } }));
  expect(record.status).toBe('generating');
  expect(record.steps.map(({ id, state }) => [id, state])).toEqual([
    ['s1', 'succeeded'],
    ['s2', 'ready'],
    ['old', 'skipped'],
  ]);
  expect(Episode.parse(record)).toEqual(record);
});

test('a recorded plan whose steps do not fit together is no record', () => {
  const record = withDerived(episode({ steps: one }));
  const broken = { ...record, plan: { format: 1, steps: [step('s1', { needs: ['gone'] })] } };
  expect(Episode.safeParse(broken).success).toBe(false);
});

describe('deliverables', () => {
  const made = (path: string, role: 'media' | 'cover' | null) => ({
    path,
    sha256: 'a'.repeat(64),
    bytes: 1,
    mime: null,
    role,
  });
  const film = step('film', { provider: ASSEMBLY, kind: 'video', needs: ['s1'] });
  const filmed = { ...attempts.made, files: [made('film.mp4', 'media'), made('cover.png', 'cover')] };

  test('are the film and the cover of the assembly', () => {
    const views = viewSteps(episode({ steps: [...one, film], attempts: { film: [filmed] } }));
    expect(deliverables(views)).toMatchObject({ media: { path: 'film.mp4' }, cover: { path: 'cover.png' } });
  });

  test('are rather those of the steps that carry the roles', () => {
    const poster = step('poster', { role: 'cover' });
    const given = { film: [filmed], poster: [{ ...attempts.made, files: [made('poster.png', 'cover')] }] };
    const views = viewSteps(episode({ steps: [...one, film, poster], attempts: given }));
    expect(deliverables(views)).toMatchObject({ media: { path: 'film.mp4' }, cover: { path: 'poster.png' } });
  });

  test('are none while the step that carries the role made none', () => {
    const views = viewSteps(episode({ steps: [step('s1', { role: 'media' })] }));
    expect(deliverables(views)).toEqual({ media: null, cover: null });
  });
});
