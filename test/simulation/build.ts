import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** A change to the shipped source: `find`, which must occur exactly once in `file`, becomes `replace`. */
export interface Patch {
  /** Relative to `src/`. */
  file: string;
  find: string;
  replace: string;
}

const ENTRY = `
  export { allocate } from './allocate.ts';
  export { lockBusy } from './errors.ts';
  export { initialiseFileStore } from './store/file/commit.ts';
  export { createFileStore } from './store/file/file-store.ts';
`;
export type LedgerBuild = Pick<typeof import('../../src/allocate.ts'), 'allocate'> &
  Pick<typeof import('../../src/errors.ts'), 'lockBusy'> &
  Pick<typeof import('../../src/store/file/commit.ts'), 'initialiseFileStore'> &
  Pick<typeof import('../../src/store/file/file-store.ts'), 'createFileStore'>;

const SOURCE = join(import.meta.dirname, '../../src');

/** The shipped ledger code with some lines changed. A patch that no longer applies throws: it would look like a pass. */
export async function buildLedger(patches: readonly Patch[] = []): Promise<LedgerBuild> {
  const directory = mkdtempSync(join(tmpdir(), 'episode-build-'));
  const outfile = join(directory, 'ledger.mjs');
  await build({
    stdin: { contents: ENTRY, resolveDir: SOURCE, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
    plugins: [
      {
        name: 'patches',
        setup({ onLoad }) {
          for (const file of new Set(patches.map((patch) => patch.file))) {
            const mine = patches.filter((patch) => patch.file === file);
            onLoad({ filter: new RegExp(`/src/${file.replaceAll('.', '\\.')}$`) }, ({ path }) => ({
              contents: mine.reduce(apply, readFileSync(path, 'utf8')),
              loader: 'ts',
            }));
          }
        },
      },
    ],
  });
  const built: LedgerBuild = await import(pathToFileURL(outfile).href);
  rmSync(directory, { recursive: true });
  return built;
}

function apply(source: string, { file, find, replace }: Patch): string {
  if (source.split(find).length !== 2) throw new Error(`src/${file} no longer has exactly one "${find}"`);
  return source.replace(find, () => replace);
}
