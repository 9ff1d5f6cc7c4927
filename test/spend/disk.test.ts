import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { episode } from '../rig.ts';
import { expectWhole, type House, ID, makeHouse, step, writeScript } from './rig.ts';

/** Disks that fill up or fail between the send and its answer. Needs mounts; without them these tests are skipped. */
const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;

const mounted: string[] = [];
afterEach(() => {
  for (const path of mounted.splice(0)) execFileSync('umount', ['-l', path]);
});

/** The show on a small disk of its own. */
function moveToSmallDisk(house: House, size: string): void {
  const { root } = house;
  execFileSync('sh', [
    '-c',
    `cp -a '${root}' '${root}.copy' && mount -t tmpfs -o size=${size},mode=700 tmpfs '${root}'`,
  ]);
  mounted.push(root);
  execFileSync('sh', ['-c', `cp -a '${root}.copy/.' '${root}/' && rm -r '${root}.copy'`]);
}

/** An adapter that runs `harm` between being paid and saying so. */
async function makeHarmed(harm: string): Promise<House> {
  const house = await makeHouse();
  writeFileSync(
    join(house.home, 'harm.mjs'),
    `import { appendFileSync, readSync, writeFileSync } from 'node:fs';
import { execSync } from 'node:child_process';
const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n');
const read = () => { let text = ''; const byte = Buffer.alloc(1); while (readSync(0, byte) === 1 && byte[0] !== 10) text += byte; return JSON.parse(text); };
const { id, op, args } = read();
const answer = (result) => say({ id, ok: true, result });
if (op === 'describe') answer({ protocol: 'episode-provider/1', provider: 'harmed', version: '1', kinds: ['text'], capabilities: { submit: 'async', announces_sending: true } });
if (op === 'status') answer({ state: 'done' });
if (op === 'fetch') { writeFileSync(args.output_dir + '/text.txt', 'here'); answer({ files: [{ path: args.output_dir + '/text.txt' }] }); }
if (op === 'submit') {
  say({ event: 'sending', seq: 1 });
  read();
  appendFileSync(${JSON.stringify(join(house.home, 'submissions.jsonl'))}, JSON.stringify({ client_ref: args.client_ref, ref: "it's paid" }) + '\\n');
  try { execSync(${JSON.stringify(harm)}, { stdio: 'ignore' }); } catch {}
  say({ event: 'accepted', seq: 2, ref: "it's paid" });
  read();
  answer({ outcome: 'accepted', ref: "it's paid" });
}
`,
  );
  const command = writeScript(house.root, 'render', `#!/bin/sh\nexec node ${join(house.home, 'harm.mjs')}\n`);
  const config = JSON.parse(readFileSync(join(house.root, 'pipeline.json'), 'utf8'));
  config.providers.house.command = [command];
  writeFileSync(join(house.root, 'pipeline.json'), JSON.stringify(config));
  return house;
}

test.skipIf(!canMount)(
  'a disk that fills up after the send does not cost the reference: room was kept for it',
  async () => {
    const house = await makeHarmed('head -c 9000000 /dev/zero > filling');
    await house.allocate([step('s1')]);
    moveToSmallDisk(house, '2m');
    const full = await house.json(73, ['generate', ID]);
    expect(full.error?.message).toContain('no space is left on the disk');
    expect(house.record().steps[0]).toMatchObject({ state: 'accepted', attempts: [{ ref: "it's paid" }] });
    execFileSync('rm', [join(house.root, 'filling')]);
    await house.json(0, ['generate', ID]);
    expect(house.submissions()).toHaveLength(1);
    expectWhole(house);
  },
);

test.skipIf(!canMount)('without room for the outcome nothing is claimed or sent', async () => {
  const house = await makeHarmed('true');
  await house.allocate([step('s1')]);
  moveToSmallDisk(house, '2m');
  execFileSync('sh', [
    '-c',
    `head -c 9000000 /dev/zero > '${house.root}/filling' 2>/dev/null; truncate -s -60000 '${house.root}/filling'`,
  ]);
  const before = house.tree();
  expect((await house.json(73, ['generate', ID])).error).toMatchObject({
    code: 'CANNOT_WRITE',
    subject: 'state/staging',
  });
  expect(house.tree()).toEqual(before);
  expect(house.submissions()).toEqual([]);
});

test.skipIf(!canMount)('an answer that cannot be saved is printed as the line that settles it', async () => {
  const house = await makeHarmed('mount -o remount,ro "$PWD"');
  await house.allocate([step('s1')]);
  moveToSmallDisk(house, '2m');
  // In a process of its own: its claim is judged once it is gone.
  const ran = await house.run(['generate', ID, '--json']);
  expect(ran.code).toBe(11);
  const lost = ran.json;
  expect(lost.error).toMatchObject({
    code: 'STATE_NOT_SAVED',
    subject: `${ID}/s1`,
    details: { outcome: 'accepted', ref: "it's paid" },
    hints: [
      'free the disk or mend it, then:',
      `episode settle ${ID} --step s1 --accepted 'it'\\''s paid' --evidence 'the answer, which was not saved'`,
    ],
  });
  expect(lost.error?.message).toMatch(
    /^step s1 of 2026-W32-0 was sent, and the answer \(accepted, ref it's paid\) could not be saved: the file system is read-only/,
  );
  execFileSync('mount', ['-o', 'remount,rw', house.root]);
  // Held until then, and sent by nothing.
  await house.json(11, ['generate', ID]);
  // The line as it was printed, through a shell.
  const line = lost.error!.hints[1]!.replace(/^episode /, '');
  const words = JSON.parse(
    execFileSync('sh', ['-c', `node -e 'console.log(JSON.stringify(process.argv.slice(1)))' -- ${line}`], {
      encoding: 'utf8',
    }),
  );
  expect((await episode(house.root, words, { env: house.env })).code).toBe(0);
  await house.json(0, ['generate', ID]);
  expect(house.record()).toMatchObject({ status: 'complete', steps: [{ attempts: [{ ref: "it's paid" }] }] });
  expect(house.submissions()).toHaveLength(1);
  expectWhole(house);
});
