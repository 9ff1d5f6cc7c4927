// A whole episode with real media, no account and no cost: `npm run demo`. Run again, it is the same episode.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = dirname(dirname(fileURLToPath(import.meta.url)));
const show = join(repository, 'demo-show');
const KEY = 'scheduled-run:2026-08-07';

/** Runs the program as its user would, and shows what was typed. */
function episode(...words) {
  console.log(
    `\n$ episode ${words.map((word) => (/^[\w:=./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')}`,
  );
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(repository, 'bin/episode.js'), '--root', show, ...words],
    {
      stdio: ['inherit', 'pipe', 'inherit'],
      encoding: 'utf8',
    },
  );
  process.stdout.write(stdout);
  if (status !== 0) process.exit(status ?? 1);
  return stdout.trim();
}

const scene = (id, caption, voice, tone, colour) => ({
  id,
  provider: 'local',
  kind: 'video',
  params: { caption, voice, tone, colour, seconds: 4, width: 1280, height: 720 },
});

const plan = {
  format: 1,
  title: 'Harbour at dawn',
  steps: [
    { ...scene('s1', 'Harbour at dawn', 'Good morning. This is the harbour at dawn.', 220, '#24364b'), review: true },
    scene('s2', "It's 100% real: made here, by ffmpeg", 'No account, no cost.', 277, '#4b3524'),
    scene('s3', 'Same work or new work?', 'Run the demo again. It is the same episode.', 330, '#244b36'),
    { id: 'film', provider: 'assembly', kind: 'video', needs: ['s1', 's2', 's3'], role: 'media' },
  ],
};

if (!existsSync(join(show, 'pipeline.json'))) {
  mkdirSync(show, { recursive: true });
  episode('init', '--time-zone', 'Asia/Tokyo', '--show', 'weekly-brief');
}
writeFileSync(join(show, 'plan.json'), `${JSON.stringify(plan, null, 2)}\n`);

const id = episode('allocate', '--key', KEY, '--slot', '2026-08-07', '--plan', join(show, 'plan.json'));
episode('generate', id);
episode('list');
episode('approve', id, '--step', 's1', '--by', 'demo');
episode('show', id);

const next = [
  [`episode allocate --key "${KEY}"`, 'the same key: the same episode'],
  [`episode allocate --key "extra:launch" --week ${id.slice(0, 8)}`, `another key: ${id.slice(0, 8)}-1`],
  [`episode reject ${id} --step s1 --reason "too dark"`, 'the take stays, and so does why'],
  [`episode retry ${id} --step s1 --reason "too dark"`, 'a second take'],
  [`episode why ${id}`, 'what happened to it, by whom and for what reason'],
];
const width = Math.max(...next.map(([command]) => command.length));

const here = relative(process.cwd(), show) || '.';
console.log(`
The film:     ${here}/episodes/${id}/film/take-1/film.mp4
Its record:   ${here}/state/${id.slice(0, 8)}/${id}.json
The week:     ${here}/history/${id.slice(0, 8)}.json

Try next (in ${here}; "episode" is node ${join(relative(show, repository), 'bin/episode.js')}):
${next.map(([command, means]) => `  ${command.padEnd(width)}  # ${means}`).join('\n')}
Delete ${here}/ to start afresh.`);
