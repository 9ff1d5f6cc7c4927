// Builds the shipped program: main.js with every verb, scheduled.js with what a scheduler starts, and a starter with their
// code caches. `build.mjs DIR` puts it elsewhere.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = resolve(process.argv[2] ?? join(root, 'dist'));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

// What is loaded at once and not used at every start. commander's child_process, for subcommands that are programs of their
// own, brings the network with it.
const LATE = [
  { importer: join(root, 'node_modules/commander'), builtin: 'node:child_process', functions: ['spawn'] },
  { importer: join(root, 'src'), builtin: 'node:os', functions: ['homedir', 'hostname', 'tmpdir', 'userInfo'] },
];
// Libraries that only some verbs need are files of their own beside the program: every start reads all of main.js.
const SELDOM = ['execa', 'croner', 'cli-table3', '@humanwhocodes/momoa', '@date-fns/tz', 'date-fns/format'];
const PROGRAM = 'src/cli/main.ts';
const seldomFile = (name) => `library-${name.replace(/\W+/g, '-').replace(/^-/, '')}.js`;

const lean = {
  name: 'lean',
  setup(builder) {
    for (const { importer, builtin, functions } of LATE) {
      builder.onResolve({ filter: new RegExp(`^${builtin}$`) }, (asked) =>
        asked.importer.startsWith(importer) ? { path: builtin, namespace: 'late', pluginData: functions } : undefined,
      );
    }
    builder.onLoad({ filter: /.*/, namespace: 'late' }, ({ path, pluginData: functions }) => ({
      contents: functions
        .map((name) => `export const ${name} = (...given) => require(${JSON.stringify(path)}).${name}(...given);`)
        .join('\n'),
    }));
    // For proper-lockfile it listens to seventeen signals, to remove a lock on the way out. Signals are listened to once, in
    // src/cli/signals.ts; a lock that one leaves behind is removed by the next command, which sees that its owner is gone.
    builder.onResolve({ filter: /^signal-exit$/ }, ({ path, importer }) =>
      importer.includes('/proper-lockfile/') ? { path, namespace: 'exit-only' } : undefined,
    );
    builder.onLoad({ filter: /.*/, namespace: 'exit-only' }, () => ({
      contents: "module.exports = (removeLocks) => process.once('exit', removeLocks);",
    }));
    // proper-lockfile's default file system, which is replaced by our own.
    builder.onResolve({ filter: /^graceful-fs$/ }, () => ({ path: 'node:fs', external: true }));
    if (builder.initialOptions.entryPoints.includes(PROGRAM)) {
      builder.onResolve({ filter: /^[@\w]/ }, ({ path }) =>
        SELDOM.includes(path) ? { path: `./${seldomFile(path)}`, external: true } : undefined,
      );
    }
  },
};

const options = {
  plugins: [lean],
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  // One byte a character: read and compared with the cache in half the time.
  charset: 'ascii',
  // What is loaded late is inside the file too; a script with a code cache has no loader for anything else.
  supported: { 'dynamic-import': false },
  legalComments: 'none',
  // Half the bytes to read at every start; names stay, so that a stack trace still tells where.
  minifyWhitespace: true,
  minifySyntax: true,
  keepNames: false,
  logLevel: 'warning',
};

rmSync(dist, { recursive: true, force: true });
const program = {
  ...options,
  metafile: true,
  entryPoints: [PROGRAM],
  define: { __VERSION__: JSON.stringify(version), 'import.meta.url': '__import_meta_url' },
  banner: {
    js: `(function (exports, require, module, __filename, __dirname) {
const __import_meta_url = require('node:url').pathToFileURL(__filename).href;`,
  },
  footer: { js: '})' },
};
// The starter takes this one for `allocate` and the help alone, so nothing of it is ever reached.
const scheduledOnly = {
  name: 'scheduled-only',
  setup(builder) {
    builder.onResolve({ filter: /^\.\/(commands\/.*|spending\.ts)$/ }, ({ path }) =>
      path === './commands/allocate.ts' ? undefined : { path, namespace: 'not-here' },
    );
    builder.onLoad({ filter: /.*/, namespace: 'not-here' }, ({ path }) => ({
      contents: `throw new Error(${JSON.stringify(`${path} is in main.js`)})`,
    }));
  },
};
const { metafile } = await build({ ...program, outfile: join(dist, 'main.js') });
await build({
  ...program,
  outfile: join(dist, 'scheduled.js'),
  plugins: [scheduledOnly, lean],
  minifyIdentifiers: true,
});
// One value taken from `z.core` or from the index of zod brings fifty languages into every start.
const foreign = Object.values(metafile.outputs)
  .flatMap(({ inputs }) => Object.entries(inputs))
  .filter(([file, { bytesInOutput }]) => bytesInOutput > 0 && /locales\/(?!(en|index)\.js)/.test(file));
if (foreign.length > 0) throw new Error(`main.js must not hold ${foreign[0][0]}: take types alone from z.core`);
for (const name of SELDOM) {
  await build({ ...options, entryPoints: [name], outfile: join(dist, seldomFile(name)), minifyIdentifiers: true });
}
const digest = (file) =>
  createHash('sha256')
    .update(readFileSync(join(dist, file)))
    .digest('hex')
    .slice(0, 12);
await build({
  ...options,
  entryPoints: ['src/cli/start.ts'],
  outfile: join(dist, 'episode.js'),
  define: { __BUILD__: JSON.stringify({ main: digest('main.js'), scheduled: digest('scheduled.js') }) },
});

// The first start writes the cache. What is in it need not be compiled at a start, so it is made of the starts that count:
// those of a scheduler and the help, and of the verbs of people the ones that only look.
const show = mkdtempSync(join(tmpdir(), 'episode-build-'));
try {
  const grow = join(show, 'grow.cjs');
  writeFileSync(
    grow,
    `const vm = require('node:vm');
const { readdirSync, writeFileSync } = require('node:fs');
vm.Script = class extends vm.Script {
  constructor(...given) {
    super(...given);
    const program = require('node:path').basename(given[1].filename, '.js');
    const cache = readdirSync(__DIST__).find((name) => name.startsWith(program + '-') && name.endsWith('.cache'));
    if (cache) process.once('exit', () => writeFileSync(__DIST__ + '/' + cache, this.createCachedData()));
  }
};`.replaceAll('__DIST__', JSON.stringify(dist)),
  );
  const episode = (...words) =>
    execFileSync(process.execPath, ['-r', grow, join(dist, 'episode.js'), '--root', show, '--quiet', ...words]);
  writeFileSync(
    join(show, 'pipeline.json'),
    JSON.stringify({ format: 1, show: 'build', time_zone: 'UTC', currency: 'USD' }),
  );
  episode('init', '--time-zone', 'UTC');
  for (const file of readdirSync(dist)) if (file.endsWith('.cache')) rmSync(join(dist, file));
  const id = episode('allocate', '--key', 'build').toString().trim();
  episode('allocate', '--key', 'build');
  episode('--help');
  episode('list');
  episode('show', id);
} finally {
  rmSync(show, { recursive: true, force: true });
}
