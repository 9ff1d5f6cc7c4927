import { execFile } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { episode, makeShow, start, temporaryDirectory } from '../rig.ts';

const NOW = '2026-08-07T00:00:00Z';
let root: string;
beforeAll(async () => {
  root = await makeShow();
});
const full = () => openSync('/dev/full', 'w');

describe('an answer that cannot be printed', () => {
  it('of what was just recorded is 74 and says so; the same command prints it', async () => {
    for (const words of [
      ['allocate', '--key', 'full'],
      ['allocate', '--key', 'full too', '--json'],
    ]) {
      const ran = await episode(root, words, { now: NOW, stdio: ['pipe', full(), 'pipe'] });
      expect(ran).toMatchObject({
        code: 74,
        stderr: `episode: it is recorded, and the answer could not be printed [COMMITTED_NOT_PRINTED]
  run the same command again: it prints the answer and changes nothing
`,
      });
    }
    expect(await episode(root, ['allocate', '--key', 'full'], { now: NOW })).toMatchObject({
      code: 0,
      stdout: '2026-W32-0\n',
    });
  });

  it('of a question is 74 too, as document, as text, as help, and as an error', async () => {
    for (const words of [['list'], ['list', '--json'], ['--help'], ['help', 'exits'], ['--version']]) {
      const ran = await episode(root, words, { now: NOW, stdio: ['pipe', full(), 'pipe'] });
      expect([ran.code, ran.stderr], words.join(' ')).toEqual([
        74,
        expect.stringMatching(/^episode: the answer could not be printed \[IO_ERROR\]\n/),
      ]);
    }
    const refused = await episode(root, ['show', 'none', '--json'], { stdio: ['pipe', full(), 'pipe'] });
    expect([refused.code, refused.stderr]).toEqual([64, expect.stringMatching(/^episode: "none" is no episode ID/)]);
  });

  it("because the reader has seen enough is nobody's failure", async () => {
    const { stdout } = await promisify(execFile)('bash', [
      '-c',
      `set -o pipefail; "$@" | head -c 1`,
      '-',
      process.execPath,
      inject('program'),
      'help',
      'exits',
    ]);
    expect(stdout).toBe('E');
  });
});

it('talk that nobody can hear stops nothing', async () => {
  await episode(root, ['allocate', '--key', 'heard'], { now: NOW });
  const ran = await episode(root, ['allocate', '--key', 'heard'], { now: NOW, stdio: ['pipe', 'pipe', full()] });
  expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/^2026-W32-\d\n$/)]);
  const refused = await episode(root, ['show', 'none'], { stdio: ['pipe', 'pipe', full()] });
  expect(refused.code).toBe(64);
  const { child, done } = start(root, ['allocate', '--key', 'heard'], { now: NOW });
  child.stderr!.destroy();
  expect(await done).toMatchObject({ code: 0, stdout: expect.stringMatching(/^2026-W32-\d\n$/) });
});

describe('a program that goes wrong by itself exits 70', () => {
  let waited: string;
  beforeAll(async () => {
    // At a gate: only a person ends that wait.
    const plan = join(root, 'plan.json');
    const image = { id: 's1', provider: 'local', kind: 'image', params: { width: 32, height: 32 }, review: true };
    await writeFile(plan, JSON.stringify({ format: 1, steps: [image] }));
    const made = await episode(root, ['allocate', '--key', 'waited for', '--plan', plan], { now: NOW });
    waited = made.stdout.trim();
    await episode(root, ['generate', waited], { now: NOW });
  });
  const preload = async (code: string) => {
    const file = join(await temporaryDirectory(), 'preload.cjs');
    await writeFile(file, code);
    return { NODE_OPTIONS: `--require ${file}` };
  };

  it('when it never settles: Node alone would call that success', async () => {
    const env = await preload('globalThis.setTimeout = () => ({});');
    expect((await episode(root, ['wait', waited], { env, now: NOW })).code).toBe(70);
  });

  it('when something throws that nobody waits for: Node alone would say 1', async () => {
    const env = await preload('setTimeout(() => { throw new Error("planted"); }, 300);');
    const { code, stderr } = await episode(root, ['wait', waited], { env, now: NOW });
    expect(code).toBe(70);
    expect(stderr).toMatch(
      /^episode: this is a bug in episode: planted \[BUG\]\n {2}records are only ever changed as a whole/m,
    );
  });

  it('when a verb throws what is no error of ours: said with where, and as one document', async () => {
    const env = await preload(
      'JSON.parse = () => { throw new TypeError("planted"); }; require("node:fs").readFileSync = new Proxy(require("node:fs").readFileSync, { apply(f, t, a) { if (String(a[0]).endsWith("pipeline.json")) throw new TypeError("planted"); return Reflect.apply(f, t, a); } });',
    );
    const { code, stderr, json } = await episode(root, ['list', '--json'], { env });
    expect([code, json.error?.code, json.error?.message]).toEqual([70, 'BUG', 'this is a bug in episode: planted']);
    expect(stderr).toMatch(/\n +at .*\n/);
  });
});

it('a directory that is gone is said to be gone', async () => {
  const gone = await mkdtemp('/tmp/episode-gone-');
  const script = `cd "$1" && rmdir "$1" && exec "$2" "$3" list`;
  const ran = promisify(execFile)('bash', ['-c', script, '-', gone, process.execPath, inject('program')]);
  await expect(ran).rejects.toMatchObject({
    code: 78,
    stderr: expect.stringContaining('the directory in which this was started is gone [NOT_A_SHOW]'),
  });
  await rm(gone, { recursive: true, force: true });
});
