import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { episode, makeShow, type RunOptions, temporaryDirectory, writePipeline } from '../rig.ts';
import { runLine } from '../run-line.ts';

const NOW = '2026-08-07T00:00:00Z';

/** Exit code and all of stderr, with the show's directory as ROOT. */
async function refused(
  root: string,
  words: string[],
  options: RunOptions = {},
): Promise<{ code: number | null; said: string }> {
  const { code, stderr } = await (options.prefix ? episode : runLine)(root, words, { now: NOW, ...options });
  return { code, said: stderr.replaceAll(root, 'ROOT') };
}

async function showWithEpisode(config: Record<string, unknown> = {}): Promise<string> {
  const root = await makeShow({ config });
  await runLine(root, ['allocate', '--key', 'a'], { now: NOW });
  return root;
}

describe('errors say what, on which thing, and what to type next', () => {
  it('EPISODE_NOT_FOUND', async () => {
    const root = await showWithEpisode();
    for (const words of [
      ['show', '2026-W32-7'],
      ['why', '2026-W32-7'],
      ['generate', '2026-W32-7'],
      ['wait', '2026-W32-7'],
    ]) {
      expect(await refused(root, words)).toEqual({
        code: 66,
        said: `episode: there is no episode 2026-W32-7 [EPISODE_NOT_FOUND]
  episode list --all
  episode allocate --key K  # makes one
`,
      });
    }
  });

  it('KEY_NOT_FOUND', async () => {
    expect(await refused(await showWithEpisode(), ['why', '--key', "it's"])).toEqual({
      code: 66,
      said: `episode: no episode has the key "it's" [KEY_NOT_FOUND]
  episode list --all
  episode allocate --key 'it'\\''s'  # makes one
`,
    });
  });

  it('PLAN_MISSING and PLAN_INVALID, with every fault', async () => {
    const root = await showWithEpisode();
    expect(await refused(root, ['generate', '2026-W32-0'])).toEqual({
      code: 14,
      said: `episode: 2026-W32-0 has no plan yet [PLAN_MISSING]
  episode plan 2026-W32-0 --file FILE
`,
    });
    writeFileSync(
      join(root, 'plan.json'),
      JSON.stringify({ format: 1, steps: [{ id: 'a', provider: 'fal', kind: 'video', needs: ['b'] }] }),
    );
    expect(await refused(root, ['plan', '--file', 'plan.json'])).toEqual({
      code: 64,
      said: `episode: plan.json is not a plan that can be carried out: step a: no provider "fal" (there is assembly, local); step a needs b, which is not in the plan [PLAN_INVALID]
  mend plan.json as it says
  episode plan --file plan.json  # then: checks and prices it, and changes nothing
`,
    });
    writeFileSync(join(root, 'plan.json'), '{"format":1,"stepz":[]}');
    expect((await refused(root, ['plan', '--file', 'plan.json'])).said).toMatch(
      /^episode: plan\.json is not a plan that can be carried out: steps: .*; Unrecognized key: "stepz" \(is "steps" meant\?\) \[PLAN_INVALID\]\n/,
    );
  });

  it('FILE_NOT_FOUND and NOT_PERMITTED of a file that was named', async () => {
    const root = await showWithEpisode();
    expect(await refused(root, ['plan', '--file', 'none.json'])).toEqual({
      code: 66,
      said: `episode: there is no file none.json (no such file or directory) [FILE_NOT_FOUND]
  a path counts from the directory in which the command is started
`,
    });
    expect((await refused(root, ['plan', '--file', 'x'.repeat(300)])).said).toContain(
      '(the name is too long) [FILE_NOT_FOUND]',
    );
    // Root may read everything.
    if (process.getuid?.() !== 0) return;
    writeFileSync(join(root, 'plan.json'), '{}', { mode: 0o600 });
    chmodSync(root, 0o755);
    chownSync(join(root, 'state'), 1234, 1234);
    const prefix = ['setpriv', '--reuid=1234', '--regid=1234', '--clear-groups'];
    expect(await refused(root, ['plan', '--file', 'plan.json'], { prefix })).toEqual({
      code: 77,
      said: `episode: plan.json cannot be read: permission denied [NOT_PERMITTED]
  ls -l plan.json  # shows who may
`,
    });
  });

  it('EPISODE_CLOSED', async () => {
    const root = await showWithEpisode();
    await runLine(root, ['close', '2026-W32-0', '--reason', 'made twice', '--by', 'mika'], { now: NOW });
    expect(await refused(root, ['generate', '2026-W32-0'])).toEqual({
      code: 14,
      said: `episode: 2026-W32-0 was closed by mika at 2026-08-07T00:00:00.000Z: made twice [EPISODE_CLOSED]
  episode show 2026-W32-0
  episode allocate --key K  # makes another one
`,
    });
  });

  it('NOT_INITIALISED', async () => {
    const root = await temporaryDirectory();
    await writePipeline(root, {});
    for (const words of [['list'], ['allocate', '--key', 'a'], ['show', '2026-W32-0']]) {
      expect(await refused(root, words)).toEqual({
        code: 78,
        said: `episode: ROOT has no ledger yet [NOT_INITIALISED]
  episode init --time-zone ZONE
`,
      });
    }
  });

  it('RECORD_DAMAGED and FORMAT_NEWER', async () => {
    const root = await showWithEpisode();
    // So that the record is none of the newest transaction, which names its hash.
    await runLine(root, ['allocate', '--key', 'b'], { now: NOW });
    const record = join(root, 'state/2026-W32/2026-W32-0.json');
    writeFileSync(record, '{"format":1,');
    const damaged = await refused(root, ['show', '2026-W32-0']);
    expect(damaged.code).toBe(65);
    expect(damaged.said).toMatch(/^episode: state\/2026-W32\/2026-W32-0\.json is damaged: .* \[RECORD_DAMAGED\]\n/);
    expect(damaged.said).toContain(
      `
  nothing was changed; put the file back from a backup: cp -p BACKUP/state/2026-W32/2026-W32-0.json state/2026-W32/2026-W32-0.json
`,
    );
    writeFileSync(record, '{"format":2}');
    expect(await refused(root, ['show', '2026-W32-0'])).toEqual({
      code: 65,
      said: `episode: state/2026-W32/2026-W32-0.json has format 2, newer than this program (format 1) can read [FORMAT_NEWER]
  use the newer episode that wrote it; it never reads back into this one
`,
    });
  });

  it('LEDGER_INCOMPLETE', async () => {
    const root = await showWithEpisode();
    mkdirSync(join(root, 'episodes/2026-W32-1'), { recursive: true });
    expect(await refused(root, ['allocate', '--key', 'b'])).toEqual({
      code: 65,
      said: `episode: the ledger is incomplete: episodes/2026-W32-1 is there, and no record of it; nothing was created [LEDGER_INCOMPLETE]
  put state/ and history/ back from the backup that belongs to episodes/2026-W32-1: mv state history ELSEWHERE && cp -Rp BACKUP/state BACKUP/history .
  or, if episodes/2026-W32-1 is not of this show: mv episodes/2026-W32-1 ELSEWHERE
  episode doctor  # names all that is missing or does not fit
`,
    });
  });

  it.runIf(process.getuid?.() === 0)('NOT_OWNER, root included, with the line to type; reading is free', async () => {
    const root = await showWithEpisode();
    chownSync(join(root, 'state'), 1234, 1234);
    // By the program, which knows how it was started.
    expect(await refused(root, ['allocate', '--key', "it's"], { prefix: ['env'] })).toEqual({
      code: 77,
      said: `episode: state/ belongs to '#1234', and another user would leave files that '#1234' cannot change [NOT_OWNER]
  sudo -u '#1234' episode allocate --key 'it'\\''s' --now ${NOW}
`,
    });
    expect((await runLine(root, ['show', '2026-W32-0'], { now: NOW })).code).toBe(0);
  });

  it('CREDENTIAL_MISSING and PROVIDER_CONFIGURATION, before anything is claimed', async () => {
    const providers = {
      house: { type: 'exec', command: ['./render'], env: ['HOUSE_KEY', 'HOUSE_ORG'] },
      gone: { type: 'exec', command: ['./none'] },
      fall: { type: 'http', mapping: 'fall' },
    };
    const config = { providers, budget: { per_episode: '5.00' } };
    const root = await makeShow({ config });
    const withPlan = async (provider: string) => {
      writeFileSync(
        join(root, 'plan.json'),
        JSON.stringify({ format: 1, steps: [{ id: 'a', provider, kind: 'text' }] }),
      );
      const made = await runLine(root, ['allocate', '--key', provider, '--plan', 'plan.json', '--json'], { now: NOW });
      return refused(root, ['generate', made.json.episode_id!]);
    };
    expect(await withPlan('house')).toEqual({
      code: 78,
      said: `episode: house needs HOUSE_KEY, HOUSE_ORG, found nowhere; nothing was claimed [CREDENTIAL_MISSING]
  export HOUSE_KEY=…
  or: install -d -m 700 /nonexistent/.config/episode/credentials && install -m 600 /dev/stdin /nonexistent/.config/episode/credentials/HOUSE_KEY
  or a systemd unit with LoadCredential=
`,
    });
    expect(
      (await withPlan('fall')).said,
    ).toBe(`episode: the mapping fall of fall cannot be used: no such mapping comes with episode (elevenlabs, fal, replicate); a file of your own is named by its path, e.g. ./mappings/fall.json [PROVIDER_CONFIGURATION]
  docs/mappings.md says what a mapping file holds
  episode provider describe fall  # once it is mended
`);
    const gone = await withPlan('gone');
    expect(gone.code).toBe(78);
    expect(gone.said).toContain('[PROVIDER_CONFIGURATION]');
    for (const id of ['2026-W32-0', '2026-W32-1', '2026-W32-2']) {
      const { json } = await runLine(root, ['show', id, '--json'], { now: NOW });
      expect(json.steps, id).toMatchObject([{ id: 'a', state: 'ready', attempts: [] }]);
    }
  });
});
