import { realpath, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { isErrno } from '../../errors.ts';
import type { ProvidedFile } from '../../model/protocol.ts';

/** The reason why a path that an adapter named cannot be taken, as the second half of a sentence. */
export class BadPath extends Error {}

const quoted = (path: string): string => JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);

async function place(path: string, outputDir: string, cwd: string): Promise<string> {
  if (path.includes('\0')) throw new BadPath(`it names ${quoted(path)}, which is no path`);
  const [root, real] = await Promise.all([realpath(outputDir), realpath(resolve(cwd, path))]).catch(
    (error: unknown) => {
      if (!isErrno(error)) throw error;
      throw new BadPath(`it names ${quoted(path)}, which cannot be found (${(error as NodeJS.ErrnoException).code})`);
    },
  );
  const inside = relative(root, real);
  if (inside === '..' || inside.startsWith(`..${sep}`)) {
    throw new BadPath(`it names ${quoted(path)}, which lies outside its output directory`);
  }
  if (!(await stat(real)).isFile()) throw new BadPath(`it names ${quoted(path)}, which is not a regular file`);
  return join(outputDir, inside);
}

/**
 * The files of an answer with absolute paths in `outputDir`. A relative path is taken from `cwd`, the show's root
 * (PROVIDER.md, operations). To be called after the adapter's end, when nothing can be moved any more.
 * Throws `BadPath` for one that is missing, not a regular file, or outside `outputDir` once links are followed.
 */
export const filesInside = (files: ProvidedFile[], outputDir: string, cwd: string): Promise<ProvidedFile[]> =>
  Promise.all(files.map(async (file) => ({ ...file, path: await place(file.path, outputDir, cwd) })));
