import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The built `bin/episode.js` of this run. */
    program: string;
  }
}

/** Builds the program of this very source into a directory of its own, so that a build beside it disturbs no test. */
export default function setup(project: TestProject): () => void {
  const repository = join(import.meta.dirname, '..');
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'episode-program-')));
  // Other users must be able to start it; only we may write.
  chmodSync(directory, 0o755);
  cpSync(join(repository, 'bin'), join(directory, 'bin'), { recursive: true });
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'));
  try {
    execFileSync(process.execPath, [join(repository, 'scripts/build.mjs'), join(directory, 'dist')], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  } catch {
    // Tests of single modules may still pass; those that start the program fail and name its missing file.
    console.error('the program does not build');
  }
  project.provide('program', join(directory, 'bin/episode.js'));
  return () => rmSync(directory, { recursive: true, force: true });
}
