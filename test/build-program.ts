import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The built `bin/episode.js` of this run. */
    program: string;
    /** A directory in memory where there is such a file system. */
    memory: string;
  }
}

const MEMORY = '/dev/shm';

/**
 * Builds the program of this very source into a directory of its own, so that a build beside it disturbs no test. All that
 * tests make lies in directories of this run, so that nothing stays behind, whatever becomes of a test and its hooks.
 */
export default function setup(project: TestProject): () => void {
  const repository = join(import.meta.dirname, '..');
  const make = (parent: string, name: string): string => realpathSync(mkdtempSync(join(parent, `episode-${name}-`)));
  const inMemory = existsSync(MEMORY) && statfsSync(MEMORY).bavail > 0;
  const directory = make(tmpdir(), 'program');
  const scratch = make(tmpdir(), 'tests');
  const memory = make(inMemory ? MEMORY : tmpdir(), 'tests');
  // Other users work in what tests open to them.
  for (const place of [scratch, memory]) chmodSync(place, 0o711);
  // What the workers, and the libraries in them, take for /tmp.
  process.env.TMPDIR = scratch;
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
  project.provide('memory', memory);
  return () => {
    endAll(directory);
    for (const place of [directory, scratch, memory]) rmSync(place, { recursive: true, force: true });
  };
}

/** What a test that failed left running or standing still; Linux only. */
function endAll(directory: string): void {
  if (!existsSync('/proc/self/cmdline')) return;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${directory}/bin/`)) continue;
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }
}
