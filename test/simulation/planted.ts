// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches quote the source
import type { Patch } from './build.ts';

/** So few commits stay that a late owner meets a number which is free again; with 64 that takes a thousand steps. */
export const keep = (commits: number): Patch => ({
  file: 'store/file/commit.ts',
  find: 'const KEPT = 64;',
  replace: `const KEPT = ${commits};`,
});

const COMMIT = 'store/file/commit.ts';
const STORE = 'store/file/file-store.ts';

/**
 * Rules of the commit protocol, each left out of the shipped code. Two are missing because others cover for them so well
 * that thousands of histories do not show the gap: the ascending order of tidying (a late owner's staging is tidied too),
 * and the comparison of a head with its predecessor (it takes a listing that lasts over two commits and a void one).
 */
export const PLANTED_BUGS: Record<string, Patch[]> = {
  'staged files are not fsynced': [
    { file: 'durable.ts', find: 'bytes);\n    }\n    await disk.fsync(...files);', replace: 'bytes);\n    }' },
  ],
  'a short write goes unnoticed': [
    { file: 'durable.ts', find: 'written += count', replace: 'written += bytes.length' },
    { file: 'durable.ts', find: 'stat.size !== bytes.length', replace: 'false' },
  ],
  'the staging directory is not fsynced before the commit': [
    { file: COMMIT, find: 'sync(disk, ...parents, `${root}/${STAGING}`)', replace: 'sync(disk, ...parents)' },
  ],
  'the parent of a new directory is not fsynced': [
    {
      file: COMMIT,
      find: 'sync(disk, ...parents, `${root}/${STAGING}`)',
      replace: 'sync(disk, `${root}/${STAGING}`)',
    },
  ],
  'a commit is not fsynced before it is acknowledged': [
    {
      file: COMMIT,
      find: "    await sync(port.disk, `${root}/${COMMITS}`);\n  } catch (error) {\n    throw asEpisodeError(error, file, 'maybe');",
      replace: "  } catch (error) {\n    throw asEpisodeError(error, file, 'maybe');",
    },
  ],
  'a head is not fsynced before it is built upon': [
    { file: STORE, find: '`${root}/${file}`, `${root}/${COMMITS}`)', replace: '`${root}/${file}`)' },
    { file: STORE, find: '    await syncWherePossible(port, `${root}/${COMMITS}`);\n', replace: '' },
  ],
  'a reader answers what was not fsynced': [
    { file: STORE, find: '    await syncWherePossible(port, `${root}/${COMMITS}`);\n', replace: '' },
  ],
  'the commit is a rename': [{ file: COMMIT, find: 'await port.disk.link(', replace: 'await port.disk.rename(' }],
  'the predecessor is not compared after the link': [
    {
      file: COMMIT,
      find: "    if ((await readCommit(port, root, head.number))?.tx !== head.tx) return 'in doubt';\n",
      replace: '',
    },
  ],
  'a commit in doubt is withdrawn': [
    {
      file: COMMIT,
      find: "?.tx !== head.tx) return 'in doubt';",
      replace: "?.tx !== head.tx) {\n await unlinkIfThere(port.disk, `${root}/${file}`);\n return 'in doubt';\n }",
    },
  ],
  'a link that failed is taken for "it did not happen"': [
    {
      file: COMMIT,
      find: "    if (!isErrno(error, 'EEXIST', 'ENOENT')) throw diskError(error, file, 'maybe');\n",
      replace: '',
    },
  ],
  'staging of living writers is tidied away': [
    { file: COMMIT, find: 'stagedFor !== null && stagedFor <= number', replace: 'true' },
  ],
  'a writer answers without looking at the head again': [
    { file: STORE, find: 'if (!(await isStill(port, root, head))) continue;', replace: '' },
  ],
  'a reader answers without looking at the head again': [
    { file: STORE, find: 'if (whole || (await isStill(port, root, head)))', replace: '' },
  ],
};
