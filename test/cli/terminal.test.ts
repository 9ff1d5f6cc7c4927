import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { episode, makeShow, start } from '../rig.ts';

const NOW = '2026-08-07T00:00:00Z';
const hasScript = spawnSync('script', ['--version']).status === 0;

let root: string;
beforeAll(async () => {
  root = await makeShow();
  const params = { width: 64, height: 48, seconds: 1, caption: 'a' };
  const clip = { id: 'clip', provider: 'local', kind: 'video', params };
  writeFileSync(join(root, 'plan.json'), JSON.stringify({ format: 1, steps: [clip] }));
  writeFileSync(join(root, 'gate.json'), JSON.stringify({ format: 1, steps: [{ ...clip, review: true }] }));
});

const allocated = async (key: string, plan = 'plan.json'): Promise<string> =>
  (await episode(root, ['allocate', '--key', key, '--plan', plan, '--json'], { now: NOW })).json.episode_id!;

/** Runs the program on a terminal of its own and gives back all that it showed. */
async function onTerminal(words: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const command = [process.execPath, inject('program'), ...words, '--now', NOW].map((word) => `'${word}'`).join(' ');
  const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: '/nonexistent', EPISODE_TEST: '1', TERM: 'xterm', ...env },
  });
  return stdout;
}

describe.skipIf(!hasScript)(`on a terminal${hasScript ? '' : ' (not run: there is no script(1))'}`, () => {
  it('progress is drawn and wiped away; nothing of it stays in the answer', async () => {
    const shown = await onTerminal(['generate', await allocated('on a terminal')]);
    expect(shown).toMatch(/clip \d+ %/);
    expect(shown).toContain('\r\u001b[2K');
    expect(shown.slice(shown.lastIndexOf('\u001b[2K'))).toMatch(/complete/);
  });

  it('--quiet draws none, and NO_COLOR finds no colour to take away', async () => {
    const shown = await onTerminal(['generate', await allocated('quiet on a terminal'), '--quiet']);
    expect(shown).not.toContain('\u001b');
    for (const env of [{}, { NO_COLOR: '1' }, { FORCE_COLOR: '1' }]) {
      for (const words of [['list'], ['--help'], ['show', '2026-W32-0']]) {
        expect(await onTerminal(words, env)).not.toMatch(/\u001b\[[\d;]*m/);
      }
    }
  });
});

it('in a pipe there is neither progress nor colour, even when colour is forced', async () => {
  const id = await allocated('in a pipe');
  const ran = await episode(root, ['generate', id], { now: NOW, env: { FORCE_COLOR: '3', CLICOLOR_FORCE: '1' } });
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  expect(ran.stdout).not.toContain('\u001b');
});

describe('a signal', () => {
  /** Starts the program; resolves when it listens to signals and waits for something. */
  async function waiting(words: string[]): Promise<ReturnType<typeof start>> {
    const preload = join(root, 'ready.cjs');
    writeFileSync(
      preload,
      `const say = (name) => {
        if (name !== 'SIGTERM') return;
        process.removeListener('newListener', say);
        setImmediate(() => require('node:fs').writeSync(2, 'ready\\n'));
      };
      process.on('newListener', say);`,
    );
    const started = start(root, words, { now: NOW, env: { NODE_OPTIONS: `--require ${preload}` } });
    await new Promise((resolve) => started.child.stderr!.once('data', resolve));
    return started;
  }

  it.each(['SIGINT', 'SIGTERM'] as const)(
    '%s ends what only looks at once, and says no more: nothing is being sent',
    async (signal) => {
      const id = await allocated('waited for', 'gate.json');
      await episode(root, ['generate', id], { now: NOW });
      const { child, done } = await waiting(['wait', id]);
      child.kill(signal);
      const ran = await done;
      expect([ran.code, ran.signal]).toEqual([null, signal]);
      expect(ran.stderr).toMatch(/^(ready\n|waiting for a person: clip wants approval: .*\n){1,2}$/);
    },
  );

  it('ends any other verb at once, and leaves the ledger as it was', async () => {
    const lock = join(root, 'state/lock');
    mkdirSync(lock);
    const held = setInterval(() => utimesSync(lock, new Date(), new Date()), 500);
    const { child, done } = await waiting(['allocate', '--key', 'not this time']);
    child.kill('SIGTERM');
    expect(await done).toMatchObject({ code: null, signal: 'SIGTERM', stdout: '', stderr: 'ready\n' });
    clearInterval(held);
    utimesSync(lock, new Date(0), new Date(0));
    const { code, json } = await episode(root, ['why', '--key', 'not this time', '--json'], { now: NOW });
    expect([code, json.error?.code]).toEqual([66, 'KEY_NOT_FOUND']);
  });
});
