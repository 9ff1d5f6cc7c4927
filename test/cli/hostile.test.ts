import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { oneLine, printable } from '../../src/cli/printable.ts';
import { makeShow } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { inTurns } from './verbs.ts';

const NOW = '2026-08-07T00:00:00Z';

/** What a broken script, a pasted text or a malicious feed may put where a word is expected. */
const HOSTILE: Record<string, string> = {
  'a path upwards': '../../../../etc/passwd',
  'an ID with a path behind': '2026-W32-0/../../x',
  'an absolute path': '/etc/passwd',
  'a newline with a fake message': '2026-W32-0\nepisode: all is well',
  'a carriage return': 'a\rb',
  'a colour': '\u001b[31mred\u001b[0m',
  'a title change': '\u001b]0;owned\u0007',
  'a C1 control': 'a\u009b31mb',
  'text from right to left': 'abc\u202etxt.exe',
  'an isolate': 'a\u2067b\u2069',
  'a line separator': 'a\u2028b',
  '5,000 characters': 'x'.repeat(5_000),
  'a prototype': '__proto__',
  'a constructor': 'constructor',
  'shell words': '$(touch owned); `touch owned` && touch owned',
  'a glob': '*',
  'an emoji': '🎬',
  'a lone surrogate': '\ud800',
  'a percent': '%s%n%d',
};

let root: string;
let before: string;
/** Names and contents of everything in the show; the note about the lock comes and goes. */
const state = () =>
  execFileSync('sh', ['-c', 'find . -type f | grep -v lock.json | sort | xargs sha256sum'], {
    cwd: root,
    encoding: 'utf8',
  });
beforeAll(async () => {
  root = await makeShow();
  await runLine(root, ['allocate', '--key', 'a'], { now: NOW });
  before = state();
});

describe('hostile words are refused or looked for, change nothing, and are printed escaped', () => {
  it.each(Object.entries(HOSTILE).map(([what, word], turn) => ({ what, word, turn })))(
    '$what',
    async ({ word, turn }) => {
      const runs = [
        ['show', word],
        ['why', '--key', word],
        ['list', '--week', word],
        ['list', '--status', word],
        ['cost', word],
        ['generate', '2026-W32-0', '--step', word],
        ['approve', '2026-W32-0', '--sha256', word],
        ['allocate', '--schedule', word],
        ['allocate', '--key', 'b', '--plan', word],
        ['allocate', '--key', 'b', '--slot', word],
        ['plan', '--file', word],
        ['list', '--root', word],
        ['completion', word],
        ['help', word],
        [word],
      ];
      // Every other place for each word, the others for the next one.
      const chosen = runs.filter((_, place) => (place + turn) % 2 === 0);
      await inTurns(chosen, async (words) => {
        const { code, stdout, stderr } = await runLine(root, words, { now: NOW });
        const said = `${words[0]} ${words[1]?.slice(0, 20)}: ${code}\n${stdout}\n${stderr}`;
        // 14: "constructor" may well be the name of a step, of a plan that is not there yet.
        expect(word === 'constructor' ? [14, 64, 66, 78] : [64, 66, 78], said).toContain(code);
        expect(stdout, said).toBe('');
        // One line for the message, then its hints: what was typed can start no line of its own.
        expect(stderr, said).toMatch(/^episode: [^\n]* \[[A-Z_]+\]\n( {2}[^\n]*\n)*$/);
        expect(stderr, said).toBe(printable(stderr));
      });
      expect(state()).toBe(before);
      expect(readdirSync(dirname(root))).not.toContain('owned');
    },
  );
});

it('a key with marks that turn the writing is kept as it is, and printed escaped', async () => {
  const show = await makeShow();
  const key = 'Folge \u202e23';
  expect((await runLine(show, ['allocate', '--key', key], { now: NOW })).code).toBe(0);
  const text = await runLine(show, ['why', '--key', key]);
  expect(text.stdout).toContain('Folge \\u202e23');
  const document = await runLine(show, ['why', '--key', key, '--json']);
  expect(document.json.allocation_key).toBe(key);
  expect(document.stdout).toBe(printable(document.stdout));
  expect(JSON.parse(readFileSync(`${show}/state/2026-W32/2026-W32-0.json`, 'utf8')).allocation_key).toBe(key);
});

it('escaping leaves what may stand in a text, and names what may not', () => {
  expect(printable('a\tb\nc\r\nd "é" 第32週 🎬')).toBe('a\tb\nc\r\nd "é" 第32週 🎬');
  expect(printable('\u0000\u001b\u007f\u009b\u200f\u2028\r')).toBe('\\u0000\\u001b\\u007f\\u009b\\u200f\\u2028\\u000d');
  expect(oneLine('a\nb\r\nc')).toBe('a\\nb\\nc');
  for (let code = 0; code < 0x3000; code += 1) {
    const char = String.fromCharCode(code);
    const text = JSON.stringify({ char });
    expect(JSON.parse(printable(text)).char).toBe(char);
  }
});
