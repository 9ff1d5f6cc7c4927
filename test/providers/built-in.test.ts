import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stepFailed } from '../../src/errors.ts';
import { makeShow } from '../rig.ts';
import { runLine } from '../run-line.ts';

/** What the built-in providers can say of a plan is said before it is taken, all of it at once, and not by a failed step. */

const NOW = '2026-08-07T00:00:00Z';
let root: string;
beforeAll(async () => {
  root = await makeShow({
    config: { providers: { studio: { type: 'local' }, house: { type: 'exec', command: ['x'] } } },
  });
  await runLine(root, ['allocate', '--key', 'a'], { now: NOW });
});

const plan = (...steps: object[]): string => {
  writeFileSync(join(root, 'plan.json'), JSON.stringify({ format: 1, steps }));
  return 'plan.json';
};
const run = (...words: string[]) => runLine(root, words, { now: NOW });
const refusal = (faults: string): string =>
  `episode: plan.json is not a plan that can be carried out: ${faults} [PLAN_INVALID]
  mend plan.json as it says
  episode plan --file plan.json  # then: checks and prices it, and changes nothing
`;

const s1 = { id: 's1', provider: 'local', kind: 'video' };
const film = { id: 'film', provider: 'assembly', kind: 'video' };

describe('a plan is refused', () => {
  it.each<[string, object[], string]>([
    [
      'with a parameter that is nearly one',
      [{ ...s1, params: { captoin: 'x' } }],
      'step s1: params: Unrecognized key: "captoin" (is "caption" meant?)',
    ],
    [
      'with every parameter that is none, each with its nearest name',
      [{ ...s1, params: { captoin: 'x', secnds: 3, zzzzzz: 1 } }],
      'step s1: params: Unrecognized key: "captoin" (is "caption" meant?); ' +
        'step s1: params: Unrecognized key: "secnds" (is "seconds" meant?); ' +
        'step s1: params: Unrecognized key: "zzzzzz"',
    ],
    [
      'with values out of range, of several steps at once',
      [
        { ...s1, params: { width: 161, seconds: '3' } },
        { ...film, needs: ['s1'], params: { fps: 500 } },
      ],
      'step s1: params: width: must be an even number of pixels; ' +
        'step s1: params: seconds: Invalid input: expected number, received string; ' +
        'step film: params: fps: Too big: expected number to be <=120',
    ],
    [
      'with a parameter of another kind',
      [{ ...s1, kind: 'image', params: { tone: 440 } }],
      'step s1: params: Unrecognized key: "tone"',
    ],
    [
      'with a slip deep inside',
      [s1, { ...film, needs: ['s1'], params: { cover: { at_second: 1 } } }],
      'step film: params: cover.at_seconds: Invalid input: expected number, received undefined; ' +
        'step film: params: cover: Unrecognized key: "at_second" (is "at_seconds" meant?)',
    ],
    [
      'of a provider that is built in under another name',
      [{ ...s1, provider: 'studio', params: { colour: 'red' } }],
      'step s1: params: colour: must be a colour like "#24364b"',
    ],
    [
      'for a kind that is not made there',
      [
        { ...s1, kind: 'text' },
        { ...film, kind: 'audio', needs: ['s1'] },
      ],
      'step s1: local makes video, image, audio, not text; step film: assembly makes video, not audio',
    ],
    [
      'with inputs for a provider that takes none',
      [s1, { ...s1, id: 's2', inputs: [{ name: 'x', step: 's1' }] }],
      'step s2: local takes no inputs; "needs" puts steps in order',
    ],
    [
      'with a film of nothing, of a cover, or of sound',
      [
        { ...s1, kind: 'audio' },
        film,
        { ...film, id: 'cover', inputs: [{ name: 'cover', step: 's1' }] },
        { ...film, id: 'sound', needs: ['s1'] },
      ],
      ['film', 'cover', 'sound']
        .map((id) => `step ${id}: there is no picture among the inputs: a film needs a video or an image`)
        .join('; '),
    ],
    [
      'with two covers',
      [
        s1,
        {
          ...film,
          inputs: [
            { name: 'a', step: 's1' },
            { name: 'cover', file: 'cover.png' },
          ],
          params: { cover: { at_seconds: 1 } },
        },
      ],
      'step film: params: cover: the input named cover is the cover already',
    ],
    [
      'together with what does not fit in it otherwise',
      [{ ...s1, needs: ['gone'], params: { captoin: 'x' } }],
      'step s1 needs gone, which is not in the plan; step s1: params: Unrecognized key: "captoin" (is "caption" meant?)',
    ],
  ])('%s', async (_, steps, faults) => {
    const file = plan(...steps);
    const said = { code: 64, stdout: '', stderr: refusal(faults) };
    expect(await run('plan', '--file', file)).toMatchObject(said);
    expect(await run('plan', '2026-W32-0', '--file', file)).toMatchObject(said);
    expect(await run('plan', '2026-W32-0', '--file', file, '--dry-run')).toMatchObject(said);
    expect(await run('allocate', '--key', 'new', '--plan', file)).toMatchObject(said);
  });

  it('that a schedule names, when it would make an episode', async () => {
    const other = await makeShow({ config: { schedules: { daily: { cron: '0 0 * * *', plan: 'plans/daily.json' } } } });
    mkdirSync(join(other, 'plans'));
    writeFileSync(
      join(other, 'plans/daily.json'),
      JSON.stringify({ format: 1, steps: [{ ...s1, params: { sceonds: 9 } }] }),
    );
    expect(await runLine(other, ['allocate', '--schedule', 'daily'], { now: NOW })).toMatchObject({
      code: 64,
      stdout: '',
      stderr: refusal('step s1: params: Unrecognized key: "sceonds" (is "seconds" meant?)').replaceAll(
        'plan.json',
        'plans/daily.json',
      ),
    });
  });
});

describe('a plan is taken', () => {
  it('whose parameters belong to a provider of the show, whatever they are called', async () => {
    const file = plan({ id: 's1', provider: 'house', kind: 'video', params: { captoin: 'x' }, inputs: [] });
    expect(await run('plan', '--file', file)).toMatchObject({ code: 0 });
  });

  it('with an assembly of what other providers make, whatever kind they call it', async () => {
    const clip = { id: 's1', provider: 'house', kind: 'file' };
    expect(await run('plan', '--file', plan(clip, { ...film, needs: ['s1'] }))).toMatchObject({ code: 0 });
  });

  it('again for a key on record, whatever the providers say of it by now', async () => {
    const recorded = await makeShow({ config: { providers: { local: { type: 'exec', command: ['x'] } } } });
    writeFileSync(
      join(recorded, 'plan.json'),
      JSON.stringify({ format: 1, steps: [{ ...s1, params: { captoin: 'x' } }] }),
    );
    const allocate = () => runLine(recorded, ['allocate', '--key', 'a', '--plan', 'plan.json'], { now: NOW });
    expect(await allocate()).toMatchObject({ code: 0, stdout: '2026-W32-0\n', stderr: '' });
    writeFileSync(join(recorded, 'pipeline.json'), '{"format":1,"show":"brief","time_zone":"UTC","currency":"USD"}');
    expect(await allocate()).toMatchObject({ code: 0, stdout: '2026-W32-0\n' });
  });
});

it('a plan file of a newer format is refused as what it is: a file that was given', async () => {
  writeFileSync(join(root, 'plan.json'), '{"format":2,"steps":[]}');
  const said = {
    code: 64,
    stdout: '',
    stderr: refusal('it has format 2, newer than this program (format 1) can read'),
  };
  expect(await run('plan', '--file', 'plan.json')).toMatchObject(said);
  expect(await run('plan', '2026-W32-0', '--file', 'plan.json')).toMatchObject(said);
  expect(await run('allocate', '--key', 'new', '--plan', 'plan.json')).toMatchObject(said);
});

it.each([
  [
    'request' as const,
    [
      'episode plan 2026-W32-0 --file FILE  # with s1 mended in FILE',
      'episode retry 2026-W32-0 --step s1 --reason "…"  # makes it once more; free',
    ],
  ],
  ['render' as const, ['episode retry 2026-W32-0 --step s1 --reason "…"  # makes it once more; free']],
  [null, ['episode retry 2026-W32-0 --step s1 --reason "…"  # pays once more']],
])('a failed step is never said to cost what is free (%s)', (free, hints) => {
  expect(stepFailed('2026-W32-0', 's1', 'local', 'invalid_input: params', free).hints).toEqual(hints);
});
