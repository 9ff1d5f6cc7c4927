// Builds the shipped program: one bundled file, and a starter with its code cache. `build.mjs DIR` puts it elsewhere.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = resolve(process.argv[2] ?? join(root, 'dist'));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

// What libraries load at once and this program never uses, or not at every start: commander's child_process brings the
// network with it, for subcommands that are programs of their own; signal-exit asserts one argument; proper-lockfile's
// default file system is replaced by our own. Together a sixth of a bare start.
const LATE = [
  [/\/commander\//, /^(node:)?child_process$/],
  [/\/signal-exit\//, /^assert$/],
];
// Libraries that only some verbs need are files of their own beside the program: every start reads all of main.js.
const SELDOM = ['execa', 'croner', 'cli-table3', '@humanwhocodes/momoa', '@date-fns/tz', 'date-fns/format'];
const seldomFile = (name) => `library-${name.replace(/\W+/g, '-').replace(/^-/, '')}.js`;

const lean = {
  name: 'lean',
  setup(builder) {
    for (const [importer, builtin] of LATE) {
      builder.onResolve({ filter: builtin }, (asked) =>
        importer.test(asked.importer) ? { path: asked.path, namespace: 'late' } : undefined,
      );
    }
    builder.onLoad({ filter: /.*/, namespace: 'late' }, ({ path }) => ({
      contents: `module.exports = new Proxy({}, { get: (_, name) => require(${JSON.stringify(path)})[name] });`,
    }));
    builder.onResolve({ filter: /^graceful-fs$/ }, () => ({ path: 'node:fs', external: true }));
    if (builder.initialOptions.outfile.endsWith('main.js')) {
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
await build({
  ...options,
  entryPoints: ['src/cli/main.ts'],
  outfile: join(dist, 'main.js'),
  define: { __VERSION__: JSON.stringify(version), 'import.meta.url': '__import_meta_url' },
  banner: { js: "const __import_meta_url = require('node:url').pathToFileURL(__filename).href;" },
});
for (const name of SELDOM) {
  await build({ ...options, entryPoints: [name], outfile: join(dist, seldomFile(name)), minifyIdentifiers: true });
}
const digest = createHash('sha256')
  .update(readFileSync(join(dist, 'main.js')))
  .digest('hex')
  .slice(0, 12);
await build({
  ...options,
  entryPoints: ['src/cli/start.ts'],
  outfile: join(dist, 'episode.js'),
  define: { __BUILD__: JSON.stringify(digest) },
});

// The first start writes the cache; an allocation compiles what a scheduler needs most.
const show = mkdtempSync(join(tmpdir(), 'episode-build-'));
try {
  const episode = (...words) =>
    execFileSync(process.execPath, [join(dist, 'episode.js'), '--root', show, '--quiet', ...words]);
  writeFileSync(
    join(show, 'pipeline.json'),
    JSON.stringify({ format: 1, show: 'build', time_zone: 'UTC', currency: 'USD' }),
  );
  episode('--version');
  episode('init', '--time-zone', 'UTC');
  execFileSync('sh', ['-c', 'rm -f "$1"/main-*.cache', 'sh', dist]);
  episode('allocate', '--key', 'build');
} finally {
  rmSync(show, { recursive: true, force: true });
}
