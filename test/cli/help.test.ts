import { beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/errors.ts';
import { episode, temporaryDirectory } from '../rig.ts';
import { allVerbs, inTurns, type KnownVerb } from './verbs.ts';

let nowhere: string;
let verbs: KnownVerb[];
beforeAll(async () => {
  nowhere = await temporaryDirectory();
  verbs = await allVerbs();
});
const run = (...words: string[]) => episode(nowhere, words);

it('every verb has a help with what it takes, an example that begins with it, and its exit codes', async () => {
  await inTurns(verbs, async ({ name, verb, valued }) => {
    const { code, stdout, stderr } = await run(name, '--help');
    expect([code, stderr], name).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^Usage: episode ${name}`));
    for (const option of valued) expect(stdout, name).toContain(`  ${option} <`);
    expect(verb.examples.length, name).toBeGreaterThan(0);
    for (const example of verb.examples) {
      expect(example.startsWith(`episode ${name}`), example).toBe(true);
      expect(stdout).toContain(`\n  ${example}\n`);
    }
    for (const exit of [0, ...verb.exits]) expect(stdout, name).toMatch(new RegExp(`^ +${exit}  \\w`, 'm'));
  });
});

it('`help VERB` and `VERB --help` say the same', async () => {
  const [help, option] = await Promise.all([run('help', 'allocate'), run('allocate', '--help')]);
  expect(help).toMatchObject({ code: 0, stderr: '', stdout: option.stdout });
});

it('`help`, `--help` and `-h` list every verb in its group', async () => {
  const texts = await Promise.all([run('help'), run('--help'), run('-h'), run('--root', '/nonexistent', 'help')]);
  for (const { code, stdout, stderr } of texts) expect([code, stdout, stderr]).toEqual([0, texts[0]!.stdout, '']);
  const { stdout } = texts[0]!;
  for (const { name } of verbs) expect(stdout).toMatch(new RegExp(`^  ${name} +\\w`, 'm'));
  expect(stdout.match(/^\w+:$/gm)).toEqual(['Options:', 'Friday:', 'Trouble:', 'Setup:']);
});

it('`help exits` has every error code with its exit code and the next command', async () => {
  const { code, stdout } = await run('help', 'exits');
  expect(code).toBe(0);
  for (const [name, exit] of Object.entries(EXIT)) {
    expect(stdout, name).toMatch(new RegExp(`^ *${exit}  ${name} +\\S`, 'm'));
    expect(stdout, name).toMatch(new RegExp(`^ *${exit}  [a-z]`, 'm'));
  }
  const { json } = await run('help', 'exits', '--json');
  expect((json.codes as { code: string }[]).map((one) => one.code).sort()).toEqual(Object.keys(EXIT).sort());
});

it('`--version` prints the version of the package, with or without a verb', async () => {
  const { version } = (await import('../../package.json')).default;
  for (const words of [['--version'], ['list', '--version'], ['--version', '--root', '/nonexistent']]) {
    expect(await run(...words)).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
  }
  expect((await run('--version', '--json')).json).toEqual({ version });
});

describe('what is not understood is 64 with the nearest thing that is', () => {
  it.each([
    [[], 'episode: which verb? [USAGE]\n  episode --help\n'],
    [['allocat'], 'episode: unknown command \'allocat\' (is "allocate" meant?) [USAGE]\n  episode --help\n'],
    [['re'], "episode: unknown command 're' [USAGE]\n  episode --help\n"],
    [['list', '--al'], 'episode: unknown option \'--al\' (is "--all" meant?) [USAGE]\n  episode list --help\n'],
    [['list', '--jsn'], 'episode: unknown option \'--jsn\' (is "--json" meant?) [USAGE]\n  episode list --help\n'],
    [
      ['list', 'a'],
      "episode: too many arguments for 'list'. Expected 0 arguments but got 1. [USAGE]\n  episode list --help\n",
    ],
    [['show'], "episode: missing required argument 'id' [USAGE]\n  episode show --help\n"],
    [['allocate', '--key'], "episode: option '--key <key>' argument missing [USAGE]\n  episode allocate --help\n"],
    [['help', 'nothing'], 'episode: there is no verb nothing [USAGE]\n  episode --help\n'],
  ])('%j', async (words, stderr) => {
    expect(await run(...words)).toMatchObject({ code: 64, stdout: '', stderr });
  });
});
