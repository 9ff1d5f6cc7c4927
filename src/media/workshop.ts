import { mkdtemp, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProvidedFile } from '../model/protocol.ts';
import { hashFile } from './hash.ts';

/**
 * Runs `make` in a fresh directory inside `outputDir` and moves the files that it answers (by their names in there) out,
 * durably: at no time is there anything under a final name that was not finished. The directory is removed however it
 * ends. Resolves with their absolute paths and hashes. Passes on what `make` throws, and errno errors.
 */
export async function inWorkshop(
  outputDir: string,
  make: (directory: string) => Promise<ProvidedFile[]>,
): Promise<ProvidedFile[]> {
  const directory = await mkdtemp(join(outputDir, '.making-'));
  try {
    const made = await make(directory);
    const finished: ProvidedFile[] = [];
    for (const file of made) {
      const path = join(directory, file.path);
      await sync(path);
      finished.push({ ...file, path: join(outputDir, file.path), sha256: (await hashFile(path)).sha256 });
    }
    for (const { path } of made) await rename(join(directory, path), join(outputDir, path));
    await sync(outputDir);
    return finished;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A full disk may show as late as here. */
async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
