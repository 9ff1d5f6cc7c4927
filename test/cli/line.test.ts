import { rmSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { episode, makeShow, temporaryDirectory } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { allVerbs, inTurns } from './verbs.ts';

/** What most tests ask in their own process is, byte for byte, what the program prints and exits with. */

const NOW = '2026-08-07T00:00:00Z';
const ID = '2026-W32-0';
const PLAN = {
  format: 1,
  steps: [{ id: 's1', provider: 'local', kind: 'image', params: { width: 64, height: 64 }, review: true }],
};

let show: string;
let damaged: string;
beforeAll(async () => {
  [show, damaged] = [await makeShow(), await makeShow()];
  for (const root of [show, damaged]) {
    writeFileSync(join(root, 'plan.json'), JSON.stringify(PLAN));
    for (const key of ['a', 'b']) await episode(root, ['allocate', '--key', key, '--plan', 'plan.json'], { now: NOW });
  }
  await episode(show, ['generate', ID], { now: NOW });
  rmSync(join(damaged, `state/2026-W32/${ID}.json`));
});

/** In a copy each, with what differs between any two runs made the same. */
async function both(original: string, words: string[]) {
  const place = await temporaryDirectory();
  const answers = ['program', 'line'].map(async (name) => {
    const root = join(place, name);
    await cp(original, root, { recursive: true, preserveTimestamps: true });
    const { code, signal, stdout, stderr } = await (name === 'line' ? runLine : episode)(root, words, { now: NOW });
    const same = (text: string) =>
      text
        .replaceAll(root, 'ROOT')
        .replace(/"version": "[^"]+"|^\d+\.\d+\.\d+(-test)?\n$/, 'VERSION')
        .replace(/\d+(\.\d+)? [GMk]i?B\b|\b[0-9a-f]{32,}\b|att-\w+/g, 'X');
    return { code, signal, stdout: same(stdout), stderr: same(stderr) };
  });
  return Promise.all(answers);
}

it('for every verb, whatever it answers, as text and as a document', async () => {
  const verbs = await allVerbs();
  const lines = verbs.map(({ name, arguments: known }) => {
    const least = known.filter(({ required }) => required).map(() => (name === 'completion' ? 'bash' : ID));
    return [name, ...least, ...(name === 'wait' ? ['--timeout', '0s'] : [])];
  });
  const runs = lines.flatMap((words) => [words, [...words, '--json']]);
  await inTurns(runs, async (words) => {
    const [program, line] = await both(show, words);
    expect(line, words.join(' ')).toEqual(program);
  });
});

it.each([
  ['a replay, which talks', ['allocate', '--key', 'a']],
  ['talk that is silenced', ['allocate', '--key', 'a', '--quiet']],
  ['a gate', ['approve', ID, '--step', 's1', '--sha256', '0123456789ab']],
  ['a used step', ['retry', ID, '--step', 's1', '--reason', 'once more', '--json']],
  ['a word that would turn the writing', ['why', '--key', 'Folge \u202e23']],
  ['half a character', ['why', '--key', '\ud800']],
  ['an option that is none', ['list', '--nonsense']],
  ['help', ['allocate', '--help']],
  ['no verb', []],
  ['a verb that is none', ['alocate']],
  ['the version', ['--version', '--json']],
  ['the exits', ['help', 'exits']],
])('for %s', async (_, words) => {
  const [program, line] = await both(show, words);
  expect(line).toEqual(program);
});

it.each([['list'], ['list', '--all', '--json'], ['show', ID], ['allocate', '--key', 'c'], ['doctor', '--json']])(
  'for a damaged ledger: %s',
  async (...words) => {
    const [program, line] = await both(damaged, words);
    expect(program!.code).toBe(65);
    expect(line).toEqual(program);
  },
);
