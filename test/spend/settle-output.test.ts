import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faultyDisk, readFault } from '../../src/cli/faults.ts';
import { EpisodeError } from '../../src/errors.ts';
import { generate as generateEpisode } from '../../src/generate.ts';
import { settleWithOutput } from '../../src/settle.ts';
import { checkLedger } from '../ledger-check.ts';
import { fake, makeDesk } from './desk.ts';
import { expectWhole, type House, ID, makeHouse, SYNC, scripted, step } from './rig.ts';

/** A person brings the result that a provider does not give any more. */

const generate = ['generate', ID];
const brought = (id: string, ref: string, ...files: string[]) => [
  ...['settle', ID, '--step', id, '--accepted', ref],
  ...files.flatMap((file) => ['--output', file]),
  ...['--evidence', 'downloaded from History', '--by', 'mika'],
];

/** An episode of which s1 was sent to a provider that answers with the result, and the answer was lost. */
async function lost(more: object = {}, steps = [step('s1')]): Promise<House> {
  const house = await makeHouse({ scenario: { ...SYNC, at: { 'submit.after_charge': 'exit:1' }, ...more } });
  await house.allocate(steps);
  await house.json(11, generate);
  return house;
}

/** No room of a delivery is left behind. */
const rooms = (house: House): string[] => {
  const partial = join(house.root, 'episodes', ID, '.partial');
  return existsSync(partial) ? readdirSync(partial) : [];
};

describe('settle --accepted REF --output FILE', () => {
  test.concurrent('makes a take of a copy, settles the worst case, and records who said so and why', async () => {
    const house = await lost();
    const own = join(house.home, 'from history.txt');
    writeFileSync(own, 'harbour');
    chmodSync(own, 0o444);
    const before = statSync(own);
    const shown = await house.line(['show', ID]);
    expect(shown.stdout).toContain(
      `  episode settle ${ID} --step s1 --accepted REF --output FILE --evidence "…"  # the same, and FILE is its result\n`,
    );
    // The path counts from where the command is started.
    const settled = await house.json(0, ['--root', house.root, ...brought('s1', 'req_7', 'from history.txt')], {
      cwd: house.home,
    });
    expect(settled).toMatchObject({
      status: 'complete',
      steps: [{ step: 's1', state: 'succeeded', ref: 'req_7', cost: { state: 'settled', amount: '0.40' } }],
    });
    expect(house.read(`episodes/${ID}/s1/take-1/from_history.txt`)).toBe('harbour');
    expect(statSync(own)).toMatchObject({ ino: before.ino, mode: before.mode, mtimeMs: before.mtimeMs });
    const [attempt] = house.record().steps[0]!.attempts;
    const { sha256 } = attempt!.files![0]!;
    expect(attempt!.settlement).toMatchObject({
      form: 'accepted',
      by: 'mika',
      evidence: 'downloaded from History',
      ref: 'req_7',
      files: [{ name: 'from history.txt', sha256 }],
    });
    expect(house.record().events.at(-1)).toMatchObject({ event: 'settled: accepted, with its output', by: 'mika' });
    expect(JSON.stringify(house.record())).not.toContain(house.home);
    expect(rooms(house)).toEqual([]);

    const tree = house.tree();
    expect(await house.json(0, brought('s1', 'req_7', own))).toMatchObject({ steps: [{ verdict: 'replay' }] });
    expect(house.tree()).toEqual(tree);
    // Other bytes, another reference: it is past correcting.
    writeFileSync(join(house.home, 'other.txt'), 'harbor');
    for (const args of [brought('s1', 'req_7', join(house.home, 'other.txt')), brought('s1', 'req_8', own)]) {
      expect((await house.json(14, args)).error?.message).toBe(
        `step s1 of ${ID}: it succeeded as req_7, and its output is here`,
      );
    }
    expect(house.tree()).toEqual(tree);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  });

  test.concurrent('waits for approval where the plan says so, and feeds what needs it', async () => {
    const house = await lost({}, [
      step('s1', { review: true }),
      step('s2', { inputs: [{ name: 'text', step: 's1' }], params: { scenario: { at: {} } } }),
    ]);
    writeFileSync(join(house.root, 'own.txt'), 'harbour');
    expect(await house.json(0, brought('s1', 'req_7', 'own.txt'))).toMatchObject({ status: 'awaiting-approval' });
    expect(await house.json(0, ['approve', ID])).toMatchObject({ status: 'complete' });
    expect(house.record().steps[1]!.attempts[0]!.inputs).toMatchObject([{ path: `episodes/${ID}/s1/take-1/own.txt` }]);
    expectWhole(house);
  });

  test.concurrent('takes several files, also of one name', async () => {
    const house = await lost();
    for (const directory of ['a', 'b']) {
      mkdirSync(join(house.root, directory));
      writeFileSync(join(house.root, directory, 'part.txt'), directory);
    }
    await house.json(0, brought('s1', 'req_7', 'a/part.txt', 'b/part.txt'));
    const paths = house.record().steps[0]!.attempts[0]!.files!.map(({ path }) => path);
    expect(paths).toEqual([`episodes/${ID}/s1/take-1/part.txt`, `episodes/${ID}/s1/take-1/2-part.txt`]);
    expect(paths.map(house.read)).toEqual(['a', 'b']);
    expectWhole(house);
  });

  test.concurrent('decodes what it is given: what is no whole media of its kind is refused, and nothing changes', async () => {
    const house = await lost({}, [step('s1', { kind: 'image' })]);
    writeFileSync(join(house.root, 'page.png'), '<html>your download has expired</html>');
    const before = house.tree();
    const refused = await house.json(76, brought('s1', 'req_7', 'page.png'));
    expect(refused.error).toMatchObject({ code: 'MEDIA_NOT_WHOLE', subject: 'page.png' });
    expect(refused.error?.message).toBe(
      `step s1 of ${ID}: page.png is not whole media: it is text, perhaps an error page or a playlist; nothing was recorded`,
    );
    expect(house.tree()).toEqual({ ...before });
    expect((await house.json(66, brought('s1', 'req_7', 'nowhere.png'))).error?.code).toBe('FILE_NOT_FOUND');
    expect((await house.json(66, brought('s1', 'req_7', 'episodes'))).error?.message).toBe(
      'episodes is no regular file',
    );
    // A pipe is not waited for.
    execFileSync('mkfifo', [join(house.root, 'pipe')]);
    expect((await house.json(66, brought('s1', 'req_7', 'pipe'))).error?.message).toBe('pipe is no regular file');
    expect(
      (await house.json(66, ['settle', '2026-W32-9', ...brought('s1', 'r', 'nowhere').slice(2)])).error?.code,
    ).toBe('EPISODE_NOT_FOUND');
    expect(house.states()).toEqual({ s1: 'unknown' });
    expectWhole(house);
  });

  test.concurrent('brings home what its provider accepted and no longer has, under its reference only', async () => {
    const house = await makeHouse({
      scenario: { status: ['expired'], outcome: { outcome: 'accepted', ref: 'task_1' } },
    });
    await house.allocate([step('s1'), scripted('s2', { outcome: { outcome: 'accepted', ref: 'task_2' } })]);
    await house.json(11, generate);
    writeFileSync(join(house.root, 'own.txt'), 'harbour');
    const other = await house.json(14, brought('s1', 'task_9', 'own.txt'));
    expect(other.error?.message).toBe(`step s1 of ${ID}: house itself accepted it as task_1`);
    expect((await house.json(14, brought('s1', 'task_2', 'own.txt'))).error?.code).toBe('STEP_NOT_READY');
    expect(await house.json(0, brought('s1', 'task_1', 'own.txt'))).toMatchObject({
      steps: [{ state: 'succeeded', cost: { state: 'settled', amount: '0.40' } }, { state: 'accepted' }],
    });
    // What the provider said of it stays on record.
    expect(house.record().steps[0]!.attempts[0]).toMatchObject({
      outcome: { outcome: 'accepted', reason: null },
      remote: { state: 'expired' },
    });
    expectWhole(house);
  });

  test.concurrent('mends a result that came broken, at the price that is known', async () => {
    const house = await makeHouse({ scenario: SYNC });
    await house.allocate([
      step('s1', { kind: 'image', params: { source: 'pipeline.json', scenario: { price: '0.125' } } }),
    ]);
    await house.json(76, generate);
    expect(house.costs()).toEqual([{ step: 's1', state: 'settled', amount: '0.125' }]);
    expect(house.states()).toEqual({ s1: 'failed' });
    const { ref } = house.record().steps[0]!.attempts[0]!;
    execFileSync('sh', ['-c', `printf '%s' "$PNG" | base64 -d > "$TO"`], {
      env: { ...process.env, PNG, TO: join(house.root, 'own.png') },
    });
    expect(await house.json(0, brought('s1', ref!, 'own.png'))).toMatchObject({ status: 'complete' });
    expect(house.costs()).toEqual([{ step: 's1', state: 'settled', amount: '0.125' }]);
    expectWhole(house);
  });

  test.concurrent('goes with --accepted only, and never twice for one task', async () => {
    const house = await lost({}, [step('s1'), step('s2')]);
    writeFileSync(join(house.root, 'own.txt'), 'harbour');
    for (const form of [['--not-accepted'], ['--write-off'], ['--resend'], []]) {
      const args = ['settle', ID, '--step', 's1', ...form, '--output', 'own.txt', '--evidence', 'seen'];
      expect((await house.json(64, args)).error?.code).toBe('USAGE');
    }
    expect((await house.json(64, brought('s1', 'REF', 'own.txt'))).error?.message).toBe(
      '--accepted REF is no reference',
    );
    await house.json(0, brought('s1', 'req_7', 'own.txt'));
    expect((await house.json(14, brought('s2', 'req_7', 'own.txt'))).error?.message).toBe(
      `step s2 of ${ID}: req_7 is the reference of take 1 of step s1`,
    );
    expect(readFileSync(join(house.root, 'own.txt'), 'utf8')).toBe('harbour');
    expectWhole(house);
  });
});

/** One grey point. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';

test('what may be on record keeps its files, at whatever operation the disk fails', async () => {
  const desk = await makeDesk();
  const lost = fake(async () => ({ outcome: 'unknown', reason: 'reset' }));
  const own = join(desk.root, 'own.txt');
  writeFileSync(own, 'harbour');
  const output = [{ name: 'own.txt', path: own, copyTo: (path: string) => copyFile(own, path) }];
  const said = { by: 'mika', evidence: 'from History', ref: 'req_7', output };
  const seen = new Set<string>();
  for (let operation = 1, isReached = true; isReached; operation += 1) {
    isReached = false;
    const id = await desk.allocate([step('s1')]);
    await generateEpisode(desk.services(lost), id, { step: null, maxCost: null, waitMs: 0 });
    const services = desk.services(lost);
    const broken = faultyDisk(services.port.disk, readFault(`EIO:after:${operation}`), () => {
      isReached = true;
    });
    const brokenServices = desk.services(lost, { disk: broken });
    const failed = await settleWithOutput(brokenServices, id, 's1', { ...said, ref: `req_${operation}` }).catch(
      (error: EpisodeError) => error,
    );
    if (failed instanceof EpisodeError) seen.add(/is recorded|may have been/.exec(failed.message)?.[0] ?? 'nothing');
    await settleWithOutput(services, id, 's1', { ...said, ref: `req_${operation}` });
    const [attempt] = (await desk.read(id)).steps[0]!.attempts;
    for (const { path } of attempt!.files!)
      expect([operation, readFileSync(join(desk.root, path), 'utf8')]).toEqual([operation, 'harbour']);
  }
  expect([...seen].sort()).toEqual(['is recorded', 'may have been', 'nothing']);
  expect(checkLedger(desk.root)).toEqual([]);
});
