// Speed as users feel it: whole processes, medians and ratios of one run. `npm run bench [-- --runs N --large N]`.
// Runs are interleaved, so that a machine that slows down slows all of them.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '25' }, large: { type: 'string', default: '100000' } },
});
const RUNS = Number(values.runs);
const LARGE = Number(values.large);
const repository = dirname(dirname(fileURLToPath(import.meta.url)));
const program = join(repository, 'bin/episode.js');
const scratch = mkdtempSync(join(tmpdir(), 'episode-bench-'));

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
const has = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
let unique = 0;

function show(name) {
  const root = join(scratch, name);
  mkdirSync(root);
  writeFileSync(
    join(root, 'pipeline.json'),
    JSON.stringify({ format: 1, show: 'bench', time_zone: 'Asia/Tokyo', currency: 'USD' }),
  );
  run(['init', '--time-zone', 'Asia/Tokyo'], root);
  return root;
}

function run(words, root) {
  const { status, stderr } = spawnSync(process.execPath, [program, '--quiet', ...words], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${words.join(' ')} exited ${status}: ${stderr}`);
}

/** Wall milliseconds of one process; it must succeed. */
function time([command, ...words], cwd) {
  const before = process.hrtime.bigint();
  const { status } = spawnSync(command, words, { cwd, stdio: 'ignore' });
  const ms = Number(process.hrtime.bigint() - before) / 1e6;
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} exited ${status}`);
  return ms;
}

/** Peak resident memory in KiB as the kernel counts it; `null` without GNU time. */
function peak(words, cwd) {
  const { status, stderr } = spawnSync('/usr/bin/time', ['-f', '%M', ...words], { cwd, encoding: 'utf8' });
  return status === 0 ? Number(stderr.trim().split('\n').at(-1)) : null;
}

function compare(title, commands, { runs = RUNS, goal = {} } = {}) {
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  for (let round = -2; round < runs; round += 1) {
    for (const [name, { words, cwd }] of Object.entries(commands)) {
      const ms = time(typeof words === 'function' ? words() : words, cwd);
      if (round >= 0) times[name].push(ms);
    }
  }
  const [base] = Object.keys(commands);
  console.log(`\n${title} (${runs} runs, median)`);
  for (const [name, all] of Object.entries(times)) {
    const ratio = median(all) / median(times[base]);
    const wanted = goal[name] === undefined ? '' : `   goal ${goal[name]} ${ratio <= goal[name] ? 'met' : 'MISSED'}`;
    console.log(`  ${name.padEnd(34)} ${median(all).toFixed(1).padStart(8)} ms   x${ratio.toFixed(2)}${wanted}`);
  }
}

/** Records of `count` episodes, written as the program writes them but not by it: 100,000 commands would take hours. */
function fill(root, count) {
  const perWeek = 50;
  const sha256 = (value) => createHash('sha256').update(value).digest('hex');
  const pretty = (value) => `${JSON.stringify(value, null, 2)}\n`;
  // The second is the newest transaction, and has not written ledger.json, which is written over below.
  for (const key of ['template', 'another']) run(['allocate', '--key', key, '--week', '2020-W01'], root);
  const template = JSON.parse(readFileSync(join(root, 'state/2020-W01/2020-W01-0.json'), 'utf8'));
  mkdirSync(join(root, 'episodes'), { recursive: true });
  const weekIds = Array.from(
    { length: Math.ceil(count / perWeek) },
    (_, week) => `${1900 + Math.floor(week / 52)}-W${String((week % 52) + 1).padStart(2, '0')}`,
  );
  const ledgerFile = join(root, 'state/ledger.json');
  const ledger = JSON.parse(readFileSync(ledgerFile, 'utf8'));
  writeFileSync(ledgerFile, pretty({ ...ledger, weeks: [...weekIds, ...ledger.weeks].sort() }));
  for (const [week, week_id] of weekIds.entries()) {
    const directory = join(root, 'state', week_id);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const episodes = {};
    for (let sequence = 0; sequence < Math.min(perWeek, count - week * perWeek); sequence += 1) {
      const episode_id = `${week_id}-${sequence}`;
      const key = `bench:${episode_id}`;
      const hash = sha256(JSON.stringify({ key, show: 'bench', source: 'typed' }));
      episodes[episode_id] = hash;
      writeFileSync(
        join(directory, `${episode_id}.json`),
        pretty({ ...template, episode_id, week_id, sequence, allocation_key: key }),
        { mode: 0o600 },
      );
      const record = {
        format: 1,
        show: 'bench',
        source: 'typed',
        key,
        episode_id,
        week_id,
        created_at: template.allocation.allocated_at,
      };
      writeFileSync(join(root, 'state/keys', `${hash}.json`), pretty(record), { mode: 0o600 });
      mkdirSync(join(root, 'episodes', episode_id));
    }
    const highest = Object.keys(episodes).length - 1;
    writeFileSync(join(directory, 'week.json'), pretty({ format: 1, week_id, revision: 1, highest, episodes }), {
      mode: 0o600,
    });
  }
}

const bare = { words: [process.execPath, '-e', '0'], cwd: scratch };
const episode = (...words) => [process.execPath, program, ...words];
const fresh = (root, ...words) => ({ words: () => episode('allocate', '--key', `k:${unique++}`, ...words), cwd: root });

try {
  const small = show('small');
  for (let index = 0; index < 10; index += 1) run(['allocate', '--key', `first:${index}`], small);

  compare(
    'start-up and allocation against bare node',
    {
      'node -e 0': bare,
      'episode --help': { words: episode('--help'), cwd: small },
      'allocate, replayed': { words: episode('allocate', '--key', 'first:0'), cwd: small },
      'allocate, new key, durable': fresh(small),
    },
    { goal: { 'episode --help': 1.3, 'allocate, replayed': 1.3, 'allocate, new key, durable': 1.4 } },
  );

  const memory = { node: [], allocate: [] };
  for (let round = 0; round < 7; round += 1) {
    memory.node.push(peak(bare.words, scratch));
    memory.allocate.push(peak(episode('allocate', '--key', `m:${round}`), small));
  }
  if (memory.node[0] !== null) {
    const ratio = median(memory.allocate) / median(memory.node);
    console.log(
      `\npeak memory: node ${median(memory.node)} KiB, allocate ${median(memory.allocate)} KiB   x${ratio.toFixed(2)}   goal 1.3 ${ratio <= 1.3 ? 'met' : 'MISSED'}`,
    );
  } else console.log('\npeak memory: not measured (needs GNU time: apt-get install time)');

  const peers = join(scratch, 'peers');
  mkdirSync(peers);
  const naive = join(peers, 'naive.sh');
  writeFileSync(
    naive,
    `#!/bin/bash
set -e
key=$1 week=2026-W32
exec 9>lock; flock 9
[ -f ids.json ] || echo '{"keys":{},"highest":{}}' > ids.json
id=$(jq -r --arg k "$key" '.keys[$k] // empty' ids.json)
if [ -z "$id" ]; then
  n=$(jq -r --arg w "$week" '(.highest[$w] // -1) + 1' ids.json); id=$week-$n
  jq --arg k "$key" --arg w "$week" --arg id "$id" --argjson n "$n" '.keys[$k]=$id | .highest[$w]=$n' ids.json > ids.tmp
  sync ids.tmp; mv ids.tmp ids.json; sync .
fi
echo "$id"
`,
    { mode: 0o755 },
  );
  const sql = (key) =>
    `pragma synchronous=full; create table if not exists e(week text, n integer, key text unique, unique(week, n)); insert or ignore into e select '2026-W32', coalesce(max(n), -1) + 1, '${key}' from e where week='2026-W32'; select week||'-'||n from e where key='${key}';`;
  compare('peers: the same promise of one key, one ID (no records, no damage checks, no holds)', {
    'allocate, new key, durable': fresh(small),
    ...(has('flock') &&
      has('jq') && { 'bash, flock, jq and sync': { words: () => [naive, `k:${unique++}`], cwd: peers } }),
    ...(has('sqlite3') && {
      'sqlite3, unique index': {
        words: () => ['sqlite3', '-cmd', '.timeout 30000', 'ids.db', sql(`k:${unique++}`)],
        cwd: peers,
      },
    }),
  });

  const batch = show('batch');
  const serial = [];
  for (let index = 0; index < 64; index += 1) serial.push(time(episode('allocate', '--key', `serial:${index}`), batch));
  const serialMs = serial.reduce((sum, ms) => sum + ms, 0);
  const began = process.hrtime.bigint();
  const codes = await Promise.all(
    Array.from(
      { length: 64 },
      (_, index) =>
        new Promise((resolve) => {
          const [command, ...words] = episode('allocate', '--key', `at-once:${index}`);
          spawn(command, words, { cwd: batch, stdio: 'ignore' }).once('close', resolve);
        }),
    ),
  );
  const togetherMs = Number(process.hrtime.bigint() - began) / 1e6;
  if (codes.some((code) => code !== 0)) throw new Error(`of 64 at once some failed: ${codes.join(' ')}`);
  const ratio = togetherMs / serialMs;
  console.log(
    `\n64 allocations: one after another ${serialMs.toFixed(0)} ms, at once ${togetherMs.toFixed(0)} ms   x${ratio.toFixed(2)}   goal 2 ${ratio <= 2 ? 'met' : 'MISSED'}`,
  );

  const large = show('large');
  console.log(`\nwriting ${LARGE} episodes …`);
  fill(large, LARGE);
  compare(
    `flat cost: allocate with 10 and with ${LARGE} episodes on record`,
    { '10 episodes': fresh(small), [`${LARGE} episodes`]: fresh(large) },
    { goal: { [`${LARGE} episodes`]: 1.2 } },
  );
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
