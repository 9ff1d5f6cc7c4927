import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { episode } from '../rig.ts';
import { expectWhole, type House, ID, makeHouse, step, writeScript } from './rig.ts';

/**
 * A small disk that is full by the time a paid call answers, the room that was kept for it included: what the answer was
 * is printed inside the line that records it later. Needs mounts; without them these tests are skipped.
 */
const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;

const mounted: string[] = [];
afterEach(() => {
  for (const path of mounted.splice(0)) execFileSync('umount', ['-l', path]);
});

/** The show on a small disk of its own. */
function moveToSmallDisk({ root }: House): void {
  execFileSync('sh', ['-c', `cp -a '${root}' '${root}.copy' && mount -t tmpfs -o size=2m,mode=700 tmpfs '${root}'`]);
  mounted.push(root);
  execFileSync('sh', ['-c', `cp -a '${root}.copy/.' '${root}/' && rm -r '${root}.copy'`]);
}

interface Case {
  what: string;
  submit: 'async' | 'sync';
  /** As JavaScript; `file` is a result that lies in the output directory. */
  outcome: string;
  paid: boolean;
  /** The line, by the client reference and the directory of the show. */
  line: (clientRef: string, root: string) => string;
  /** Where the step stands once the line was typed. */
  state: string;
}

const settle = (form: string, evidence: string) => `episode settle ${ID} --step s1 ${form} --evidence '${evidence}'`;
const saved = 'the answer, which was not saved';

const CASES: Case[] = [
  {
    what: 'accepted',
    submit: 'async',
    outcome: `{ outcome: 'accepted', ref: 'task 1' }`,
    paid: true,
    line: () => settle(`--accepted 'task 1'`, saved),
    state: 'accepted',
  },
  {
    what: 'completed under a reference',
    submit: 'sync',
    outcome: `{ outcome: 'completed', ref: 'req_1', files: [{ path: file }] }`,
    paid: true,
    line: (_ref, root) => settle(`--accepted 'req_1' --output '${root}/episodes/${ID}/s1/take-1/text.txt'`, saved),
    state: 'succeeded',
  },
  {
    what: 'completed without a reference',
    submit: 'sync',
    outcome: `{ outcome: 'completed', files: [{ path: file }] }`,
    paid: true,
    line: (ref, root) => settle(`--accepted '${ref}' --output '${root}/episodes/${ID}/s1/take-1/text.txt'`, saved),
    state: 'succeeded',
  },
  {
    what: 'released',
    submit: 'async',
    outcome: `{ outcome: 'released', reason: 'content_rejected' }`,
    paid: false,
    line: () => settle('--not-accepted', `${saved}: content_rejected`),
    state: 'ready',
  },
  {
    what: 'unknown under a reference',
    submit: 'sync',
    outcome: `{ outcome: 'unknown', reason: 'truncated', evidence: { ref: 'req_2' } }`,
    paid: true,
    line: () => settle(`--accepted 'req_2'`, saved),
    state: 'accepted',
  },
  {
    what: 'unknown',
    submit: 'async',
    outcome: `{ outcome: 'unknown', reason: 'reset' }`,
    paid: true,
    line: () => `episode reconcile ${ID} --step s1`,
    state: 'unknown',
  },
];

test.skipIf(!canMount).each(CASES)(
  'an answer that cannot be saved on a full disk is printed as the line that records it: $what',
  async ({ submit, outcome, paid, line, state }) => {
    const house = await makeHouse();
    const log = join(house.home, 'submissions.jsonl');
    const adapter = `import { appendFileSync, readSync, writeFileSync } from 'node:fs';
import { execSync } from 'node:child_process';
const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n');
const read = () => { let text = ''; const byte = Buffer.alloc(1); while (readSync(0, byte) === 1 && byte[0] !== 10) text += byte; return JSON.parse(text); };
const { id, op, args } = read();
const answer = (result) => say({ id, ok: true, result });
if (op === 'describe') answer({ protocol: 'episode-provider/1', provider: 'full', version: '1', kinds: ['text'], capabilities: { submit: '${submit}', announces_sending: true } });
if (op === 'submit') {
  say({ event: 'sending', seq: 1 });
  read();
  ${paid ? `appendFileSync(${JSON.stringify(log)}, JSON.stringify({ client_ref: args.client_ref }) + '\\n');` : ''}
  const file = args.output_dir + '/text.txt';
  writeFileSync(file, 'here');
  try { execSync('rm -f state/staging/reserve-*; head -c 9000000 /dev/zero > filling', { stdio: 'ignore' }); } catch {}
  answer(${outcome});
}
`;
    writeFileSync(join(house.home, 'full.mjs'), adapter);
    const command = writeScript(house.root, 'render', `#!/bin/sh\nexec node ${join(house.home, 'full.mjs')}\n`);
    const config = JSON.parse(readFileSync(join(house.root, 'pipeline.json'), 'utf8'));
    config.providers.house.command = [command];
    writeFileSync(join(house.root, 'pipeline.json'), JSON.stringify(config));
    await house.allocate([step('s1')]);
    moveToSmallDisk(house);

    // In a process of its own: its claim is judged once it is gone.
    const ran = await house.run(['generate', ID, '--json']);
    expect([ran.code, ran.code === 11 ? '' : ran.stderr]).toEqual([11, '']);
    const lost = ran.json;
    const { client_ref } = house.record().steps[0]!.attempts[0]!;
    expect(lost.error).toMatchObject({ code: 'STATE_NOT_SAVED', details: { client_ref } });
    expect(lost.error?.message).toContain('no space is left on the disk');
    expect(lost.error?.hints).toEqual(['free the disk or mend it, then:', line(client_ref, house.root)]);

    rmSync(join(house.root, 'filling'));
    // Held until then, and sent by nothing.
    await house.json(11, ['generate', ID]);
    // The line as it was printed, through a shell.
    const words = JSON.parse(
      execFileSync(
        'sh',
        [
          '-c',
          `node -e 'console.log(JSON.stringify(process.argv.slice(1)))' -- ${lost.error!.hints[1]!.replace(/^episode /, '')}`,
        ],
        { encoding: 'utf8' },
      ),
    );
    // From anywhere: what it names, it names in full.
    const env = { ...house.env, EPISODE_ROOT: house.root };
    const recorded = await episode(house.root, words, { env, cwd: house.home });
    expect([recorded.code, house.states()]).toEqual([state === 'unknown' ? 11 : 0, { s1: state }]);
    if (state === 'succeeded') {
      const [file] = house.record().steps[0]!.attempts[0]!.files!;
      expect(house.read(file!.path)).toBe('here');
      expect(house.record().status).toBe('complete');
    }
    expect(house.submissions()).toHaveLength(paid ? 1 : 0);
    expectWhole(house);
  },
);
