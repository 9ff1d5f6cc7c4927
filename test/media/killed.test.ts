import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFfmpeg } from '../../src/media/ffmpeg.ts';
import { episode, makeShow, type Ran, start, temporaryDirectory } from '../rig.ts';
import { ID, makeHouse, step, until } from '../spend/rig.ts';
import { PATH, processesIn } from './rig.ts';

/** What is left of a render whose program was killed: no process, and no directory once the episode is worked on again. */

const NOW = '2026-08-07T00:00:00Z';
const PARTIAL = `episodes/${ID}/.partial`;

const roomsOf = (root: string): string[] => (existsSync(join(root, PARTIAL)) ? readdirSync(join(root, PARTIAL)) : []);

/** A show with an episode of one video to make, so many seconds long. */
async function makeStudio(seconds: number) {
  const root = await makeShow();
  const run = (...words: string[]) => episode(root, words, { now: NOW });
  const plan = (length: number): string => {
    const params = { seconds: length, width: 320, height: 180, pattern: 'moving' };
    const steps = [{ id: 's1', provider: 'local', kind: 'video', params }];
    writeFileSync(join(root, 'plan.json'), JSON.stringify({ format: 1, steps }));
    return 'plan.json';
  };
  await run('allocate', '--key', 'a', '--week', '2026-W32', '--plan', plan(seconds));
  return { root, run, plan };
}

const atWork = async (root: string): Promise<string[]> =>
  (await processesIn(root)).filter((command) => command.includes('libx264'));

/** Resolves when ffmpeg is at work for the program that was started. */
async function startRender(root: string) {
  const { child, done } = start(root, ['generate', ID], { now: NOW });
  let ended: Ran | null = null;
  void done.then((ran) => {
    ended = ran;
  });
  while ((await atWork(root)).length === 0) if (ended) throw new Error(`it ended: ${(ended as Ran).stderr}`);
  return { child, done };
}

async function gone(root: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while ((await processesIn(root)).length > 0 && Date.now() < deadline);
  expect(await processesIn(root)).toEqual([]);
}

describe('when the program is killed with SIGKILL', () => {
  it('its ffmpeg ends, and what it had made goes with the next run', async () => {
    const { root, run, plan } = await makeStudio(3000);
    const { child, done } = await startRender(root);
    child.kill('SIGKILL');
    expect((await done).signal).toBe('SIGKILL');
    await gone(root);
    expect(roomsOf(root)).toHaveLength(1);
    expect((await run('plan', ID, '--file', plan(1))).code).toBe(0);
    expect(await run('generate', ID, '--dry-run')).toMatchObject({ code: 0 });
    expect(roomsOf(root)).toHaveLength(1);
    expect(await run('generate', ID)).toMatchObject({ code: 0 });
    expect(roomsOf(root)).toEqual([]);
    expect(readdirSync(join(root, `episodes/${ID}/s1`))).toEqual(['take-2']);
  });
});

describe('what is not abandoned stays', () => {
  it('the room of a render that another command is at', async () => {
    const { root, run } = await makeStudio(3000);
    const { child, done } = await startRender(root);
    expect((await run('generate', ID)).code).toBe(75);
    expect(roomsOf(root)).toHaveLength(1);
    expect(await atWork(root)).toHaveLength(1);
    child.kill('SIGTERM');
    await done;
    await gone(root);
  });

  it('the room of a paid attempt, which may hold the one copy of its result, and what is nobody\u2019s', async () => {
    const house = await makeHouse();
    await house.allocate([step('s1')]);
    await house.json(0, ['generate', ID]);
    const [attempt] = house.record().steps[0]!.attempts;
    const rooms = [`${attempt!.attempt_id}-0123abcd`, 'notes', 'att-000000000000000000000000-0123abcd'];
    for (const room of rooms) mkdirSync(join(house.root, PARTIAL, room), { recursive: true });
    await house.json(0, ['generate', ID]);
    expect(roomsOf(house.root).sort()).toEqual(rooms.sort());
  });

  it('what lies where a link leads', async () => {
    const { root, run } = await makeStudio(1);
    await run('generate', ID);
    const outside = await temporaryDirectory();
    const { steps } = (await episode(root, ['show', ID, '--json'])).json as unknown as {
      steps: { attempts: { attempt_id: string }[] }[];
    };
    mkdirSync(join(outside, `${steps[0]!.attempts[0]!.attempt_id}-0123abcd`));
    execFileSync('rm', ['-rf', join(root, PARTIAL)]);
    symlinkSync(outside, join(root, PARTIAL));
    await run('generate', ID);
    expect(readdirSync(outside)).toHaveLength(1);
  });
});

it('four renders at once are no trouble to node', async () => {
  const root = await makeShow();
  const steps = Array.from({ length: 6 }, (_, index) => ({
    id: `s${index}`,
    provider: 'local',
    kind: 'video',
    params: { seconds: 1, width: 320, height: 180, pattern: 'moving' },
  }));
  writeFileSync(join(root, 'plan.json'), JSON.stringify({ format: 1, steps }));
  await episode(root, ['allocate', '--key', 'a', '--week', '2026-W32', '--plan', 'plan.json'], { now: NOW });
  expect(await episode(root, ['--quiet', 'generate', ID], { now: NOW })).toMatchObject({ code: 0, stderr: '' });
});

it('no shell is left waiting beside a tool that has ended, well or not', async () => {
  const read = (pid: string, file: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8');
    } catch {
      return ''; // it has ended
    }
  };
  const guardians = (): string[] =>
    readdirSync('/proc').filter(
      (pid) => read(pid, 'cmdline').includes('kill -s KILL') && read(pid, 'status').includes(`PPid:\t${process.pid}\n`),
    );
  const ffmpeg = createFfmpeg({ PATH });
  await ffmpeg.run(['-version'], { cwd: '/' });
  await ffmpeg.run(['-i', '/nonexistent'], { cwd: '/' });
  await createFfmpeg({ PATH, EPISODE_FFMPEG: '/nonexistent' })
    .locate()
    .catch(() => {});
  await until(() => guardians().length === 0, 'no guardian is left');
});
