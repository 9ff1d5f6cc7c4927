import { beforeEach, describe, expect, it } from 'vitest';
import type { Awaitable, Disk } from '../../src/port.ts';

/** Ends a call in its error code, or in `undefined`. */
async function codeOf(call: () => Awaitable<unknown>): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** What every disk answers, kept for the shipped one and for the simulated one: what is proved on one holds on the other. */
export function describeDisk(name: string, create: () => { disk: Disk; root: string }): void {
  describe(name, () => {
    let disk: Disk;
    let root: string;
    let at: (name: string) => string;

    beforeEach(() => {
      ({ disk, root } = create());
      at = (name) => `${root}/${name}`;
    });

    async function put(name: string, text: string): Promise<void> {
      const file = await disk.open(at(name), 'create');
      await disk.write(file, Buffer.from(text));
      await disk.close(file);
    }
    const text = async (name: string) => (await disk.readFile(at(name))).toString();

    it('reads back what was appended, and the length written', async () => {
      const file = await disk.open(at('a'), 'create');
      expect(await disk.write(file, Buffer.from('one '))).toBe(4);
      expect(await disk.write(file, Buffer.from('two'))).toBe(3);
      await disk.fsync(file);
      await disk.close(file);
      expect(await text('a')).toBe('one two');
    });

    it('describes a file and a directory, private to their owner, and an absent name by nothing', async () => {
      await put('a', 'four');
      await disk.mkdir(at('d'));
      expect(await disk.lstat(at('a'))).toMatchObject({ type: 'file', size: 4, mode: 0o600 });
      expect(await disk.lstat(at('d'))).toMatchObject({ type: 'directory', mode: 0o700 });
      expect(await disk.lstat(at('absent'))).toBeUndefined();
      expect(await disk.lstat(at('absent/below'))).toBeUndefined();
      expect(await disk.lstat(at('a/below'))).toBeUndefined();
    });

    it('gives a link the inode of its file, and another file another one', async () => {
      await put('a', 'text');
      await put('b', 'text');
      await disk.link(at('a'), at('c'));
      const inode = async (name: string) => (await disk.lstat(at(name)))!.ino;
      expect(await inode('c')).toBe(await inode('a'));
      expect(await inode('c')).not.toBe(await inode('b'));
    });

    it('lists names, in whatever order', async () => {
      await put('a', '');
      await disk.mkdir(at('d'));
      await put('d/b', '');
      expect((await disk.readdir(root)).sort()).toEqual(['a', 'd']);
      expect(await disk.readdir(at('d'))).toEqual(['b']);
    });

    it('opens directories to fsync them', async () => {
      await disk.mkdir(at('d'));
      const directory = await disk.open(at('d'), 'read');
      await disk.fsync(directory);
      await disk.close(directory);
    });

    it('creates exclusively: what exists stays as it is', async () => {
      await put('a', 'first');
      await disk.mkdir(at('d'));
      expect(await codeOf(() => disk.open(at('a'), 'create'))).toBe('EEXIST');
      expect(await codeOf(() => disk.open(at('d'), 'create'))).toBe('EEXIST');
      expect(await codeOf(() => disk.link(at('a'), at('d')))).toBe('EEXIST');
      expect(await codeOf(() => disk.link(at('a'), at('a')))).toBe('EEXIST');
      expect(await codeOf(() => disk.mkdir(at('a')))).toBe('EEXIST');
      expect(await codeOf(() => disk.mkdir(at('d')))).toBe('EEXIST');
      expect(await text('a')).toBe('first');
    });

    it('names what is missing, what is no directory, and what is one', async () => {
      await put('a', '');
      await disk.mkdir(at('d'));
      for (const [there, code] of [
        ['absent', 'ENOENT'],
        ['absent/below', 'ENOENT'],
        ['a/below', 'ENOTDIR'],
      ] as const) {
        expect(await codeOf(() => disk.readFile(at(there)))).toBe(code);
        expect(await codeOf(() => disk.open(at(there), 'read'))).toBe(code);
        expect(await codeOf(() => disk.readdir(at(there)))).toBe(code);
        expect(await codeOf(() => disk.unlink(at(there)))).toBe(code);
        expect(await codeOf(() => disk.rmdir(at(there)))).toBe(code);
        expect(await codeOf(() => disk.rename(at(there), at('b')))).toBe(code);
        expect(await codeOf(() => disk.link(at(there), at('b')))).toBe(code);
      }
      for (const [there, code] of [
        ['absent/below', 'ENOENT'],
        ['a/below', 'ENOTDIR'],
      ] as const) {
        expect(await codeOf(() => disk.open(at(there), 'create'))).toBe(code);
        expect(await codeOf(() => disk.mkdir(at(there)))).toBe(code);
        expect(await codeOf(() => disk.rename(at('a'), at(there)))).toBe(code);
        expect(await codeOf(() => disk.link(at('a'), at(there)))).toBe(code);
      }
      expect(await codeOf(() => disk.readFile(at('d')))).toBe('EISDIR');
      expect(await codeOf(() => disk.readdir(at('a')))).toBe('ENOTDIR');
      expect(await codeOf(() => disk.unlink(at('d')))).toBe('EISDIR');
      expect(await codeOf(() => disk.rmdir(at('a')))).toBe('ENOTDIR');
      expect(await codeOf(() => disk.link(at('d'), at('b')))).toBe('EPERM');
    });

    it('renames over a file, and to another directory', async () => {
      await put('a', 'new');
      await put('b', 'old');
      await disk.mkdir(at('d'));
      await disk.rename(at('a'), at('b'));
      expect(await text('b')).toBe('new');
      await disk.rename(at('b'), at('d/c'));
      expect(await text('d/c')).toBe('new');
      expect(await disk.readdir(at('d'))).toEqual(['c']);
      expect(await disk.lstat(at('b'))).toBeUndefined();
    });

    it('leaves both names when one file is renamed over its own link', async () => {
      await put('a', 'text');
      await disk.link(at('a'), at('b'));
      await disk.rename(at('a'), at('b'));
      expect(await text('a')).toBe('text');
      expect(await text('b')).toBe('text');
    });

    it('renames directories with all that is in them, but not over what is no empty directory, nor into themselves', async () => {
      await disk.mkdir(at('d'));
      await disk.mkdir(at('e'));
      await put('d/a', 'text');
      await put('f', '');
      expect(await codeOf(() => disk.rename(at('f'), at('d')))).toBe('EISDIR');
      expect(await codeOf(() => disk.rename(at('d'), at('f')))).toBe('ENOTDIR');
      expect(await codeOf(() => disk.rename(at('e'), at('d')))).toBe('ENOTEMPTY');
      expect(await codeOf(() => disk.rename(at('d'), at('d/below')))).toBe('EINVAL');
      await disk.rename(at('d'), at('e'));
      expect(await text('e/a')).toBe('text');
      expect(await disk.lstat(at('d'))).toBeUndefined();
    });

    it('removes empty directories only', async () => {
      await disk.mkdir(at('d'));
      await put('d/a', '');
      expect(await codeOf(() => disk.rmdir(at('d')))).toBe('ENOTEMPTY');
      await disk.unlink(at('d/a'));
      await disk.rmdir(at('d'));
      expect(await disk.lstat(at('d'))).toBeUndefined();
    });

    it('keeps a removed file for who has it open, and its other name', async () => {
      const file = await disk.open(at('a'), 'create');
      await disk.link(at('a'), at('b'));
      await disk.unlink(at('a'));
      await disk.write(file, Buffer.from('late'));
      await disk.close(file);
      expect(await text('b')).toBe('late');
    });

    it('refuses closed handles, and writing where only reading was asked', async () => {
      await put('a', 'text');
      const file = await disk.open(at('a'), 'read');
      expect(await codeOf(() => disk.write(file, Buffer.from('x')))).toBe('EBADF');
      await disk.close(file);
      expect(await codeOf(() => disk.fsync(file))).toBe('EBADF');
      expect(await codeOf(() => disk.close(file))).toBe('EBADF');
    });
  });
}
