import { beforeAll, describe, expect, it } from 'vitest';
import { exitLines } from '../../src/cli/exits.ts';
import { makeShow, type Ran, temporaryDirectory } from '../rig.ts';
import { runLine } from '../run-line.ts';
import { allVerbs, inTurns, type KnownVerb } from './verbs.ts';

const NOW = '2026-08-07T00:00:00Z';
const ID = '2026-W32-0';

let verbs: KnownVerb[];
let root: string;
beforeAll(async () => {
  verbs = await allVerbs();
  root = await makeShow();
  await runLine(root, ['allocate', '--key', 'a'], { now: NOW });
});

/** What holds of every run with `--json`, whatever was typed. */
function expectOneDocument(ran: Ran, what: string, exits: readonly number[]): void {
  const said = `${what}\nexit ${ran.code ?? ran.signal}\n${ran.stdout}\n${ran.stderr}`;
  expect(exits, said).toContain(ran.code);
  const document = JSON.parse(ran.stdout);
  expect(typeof document, said).toBe('object');
  expect(ran.code === 0, said).toBe(document.error === undefined);
  if (document.error) {
    expect(Object.keys(document.error), said).toEqual(['code', 'message', 'subject', 'hints', 'details']);
    expect(ran.stderr, said).toContain(`[${document.error.code}]`);
  }
  expect(ran.stderr, said).not.toMatch(/^ +at .*:\d+/m);
  expect(`${ran.stdout}${ran.stderr}`, said).not.toContain('\u001b');
}

const argumentsOf = ({ name, arguments: words }: KnownVerb): string[] =>
  words.filter(({ required }) => required).map(() => (name === 'completion' ? 'bash' : ID));

/** What the help of the verb says. */
const exitsOf = ({ verb }: KnownVerb): number[] => {
  const [own, others] = [exitLines(verb.exits), exitLines([]).find((line) => line.includes('every verb'))!];
  return [...own.map((line) => Number.parseInt(line, 10)), ...others.match(/\d+/g)!.map(Number)].filter(
    Number.isInteger,
  );
};

describe('with --json, stdout is exactly one document and the exit code is in the table', () => {
  it('for every verb with nothing, with too much, with what it does not know, with an ID that is none', async () => {
    const runs = verbs.flatMap((known) =>
      [
        [],
        ['--nonsense'],
        ['--nonsense=1', ID],
        [...argumentsOf(known), 'a', 'b', 'c'],
        ['2026-W32-7'],
        ['../../etc/passwd'],
        ['--week', '2025-W53'],
      ].map((words) => ({ known, words })),
    );
    await inTurns(runs, async ({ known, words }) => {
      const where = known.name === 'init' ? await temporaryDirectory() : root;
      const ran = await runLine(where, [known.name, ...words, '--json'], { now: NOW });
      expectOneDocument(ran, `episode ${known.name} ${words.join(' ')}`, exitsOf(known));
    });
  });

  it('where there is no show, and where the show is damaged', async () => {
    const [nowhere, damaged] = [await temporaryDirectory(), await makeShow()];
    await runLine(damaged, ['allocate', '--key', 'a'], { now: NOW });
    const { rm, writeFile } = await import('node:fs/promises');
    await rm(`${damaged}/state/commits`, { recursive: true });
    const broken = await temporaryDirectory();
    await writeFile(`${broken}/pipeline.json`, '{"format":1,"show":"a","time_zone":"UTC","currency":"USD","budgt":{}}');
    const runs = verbs
      .filter(({ name }) => !['completion', 'init'].includes(name))
      .flatMap((known) => [nowhere, damaged, broken].map((where) => ({ known, where })));
    await inTurns(runs, async ({ known, where }) => {
      const ran = await runLine(where, [known.name, ...argumentsOf(known), '--json'], { now: NOW });
      expectOneDocument(ran, `episode ${known.name} in ${where}`, exitsOf(known));
      expect(ran.code, known.name).not.toBe(0);
    });
  });

  it('for help, for the version, and for what is no verb', async () => {
    const runs = [['--help'], ['help'], ['help', 'exits'], ['help', 'allocate'], ['--version'], ['list', '--help']];
    await inTurns(runs, async (words) => {
      const ran = await runLine(root, [...words, '--json']);
      expectOneDocument(ran, words.join(' '), [0]);
      expect(ran.stderr).toBe('');
    });
    const refused = [[], ['nonsense'], [''], ['help', 'nonsense'], ['--nonsense'], ['__proto__'], ['constructor']];
    await inTurns(refused, async (words) => {
      expectOneDocument(await runLine(root, [...words, '--json']), words.join(' '), [64]);
    });
  });
});

describe('an empty value is 64, never "all" and never "none"', () => {
  it('for every option of every verb', async () => {
    const runs = verbs.flatMap((known) => known.valued.map((option) => ({ known, option })));
    expect(runs.length).toBeGreaterThan(30);
    await inTurns(runs, async ({ known, option }) => {
      const ran = await runLine(root, [known.name, ...argumentsOf(known), option, '', '--json'], { now: NOW });
      expect([ran.code, ran.json.error?.message], `${known.name} ${option} ''`).toEqual([64, `${option} is empty`]);
    });
  });

  it('for every argument of every verb', async () => {
    const runs = verbs.flatMap((known) =>
      known.arguments.map((argument, index) => ({ known, argument, before: Array<string>(index).fill('x') })),
    );
    expect(runs.length).toBeGreaterThan(8);
    await inTurns(runs, async ({ known, argument, before }) => {
      const ran = await runLine(root, [known.name, ...before, '', '--json'], { now: NOW });
      expect([ran.code, ran.json.error?.message], known.name).toEqual([64, `<${argument.name}> is empty`]);
    });
  });

  it('for the global options and for $EPISODE_ROOT', async () => {
    const empty = async (words: string[], env = {}) => {
      const { code, json } = await runLine(root, [...words, '--json'], { env });
      return [code, json.error?.message];
    };
    expect(await empty(['list', '--root', ''])).toEqual([64, '--root is empty']);
    expect(await empty(['list', '--root='])).toEqual([64, '--root is empty']);
    expect(await empty(['init', '--time-zone', 'UTC', '--root', ''])).toEqual([64, '--root is empty']);
    expect(await empty(['list'], { EPISODE_ROOT: '' })).toEqual([64, '$EPISODE_ROOT is empty']);
    expect(await empty(['init', '--time-zone', 'UTC'], { EPISODE_ROOT: '' })).toEqual([64, '$EPISODE_ROOT is empty']);
    expect(await empty(['list', '--now', ''])).toEqual([64, '--now is empty']);
  });
});

it('a word with two hyphens is never taken for the value of the option before it', async () => {
  // What `--key $KEY --json` becomes when the variable is empty.
  const ran = await runLine(root, ['allocate', '--key', '--json'], { now: NOW });
  expect(ran.code).toBe(64);
  expect(ran.stderr).toBe(`episode: option '--key <key>' argument missing [USAGE]
  if --json is the value: --key=--json
  if a variable stands there: it is empty; write it in double quotes
`);
  const meant = await runLine(root, ['allocate', '--key=--json', '--json'], { now: NOW });
  expect([meant.code, meant.json.allocation_key]).toEqual([0, '--json']);
  const options = verbs.flatMap((known) => known.valued.map((option) => ({ known, option })));
  await inTurns(
    options.filter((_, index) => index % 4 === 0),
    async ({ known, option }) => {
      const swallowed = await runLine(root, [known.name, ...argumentsOf(known), option, '--quiet']);
      expect([swallowed.code, swallowed.stderr], option).toEqual([64, expect.stringContaining('argument missing')]);
    },
  );
});
