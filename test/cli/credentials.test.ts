import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findCredential, refuseUnsendable, resolveCredentials } from '../../src/credentials.ts';
import type { EpisodeError } from '../../src/errors.ts';
import { temporaryDirectory } from '../rig.ts';

async function places() {
  const [configHome, given] = await Promise.all([temporaryDirectory(), temporaryDirectory()]);
  const own = join(configHome, 'episode/credentials');
  mkdirSync(own, { recursive: true });
  const put = (directory: string, name: string, text: string, mode = 0o600) =>
    writeFileSync(join(directory, name), text, { mode });
  return { configHome, given, own, put };
}

it("a credential is taken from the environment, else from the unit, else from a file of the user's own", async () => {
  const { configHome, given, own, put } = await places();
  put(own, 'KEY', 'of the file\n');
  put(given, 'KEY', 'of the unit\n', 0o440);
  const find = (env: NodeJS.ProcessEnv) => findCredential('KEY', { env, configHome });
  expect(find({ KEY: 'of the environment', CREDENTIALS_DIRECTORY: given })).toEqual({
    name: 'KEY',
    where: 'environment',
    value: 'of the environment',
  });
  expect(find({ CREDENTIALS_DIRECTORY: given })).toMatchObject({
    where: '$CREDENTIALS_DIRECTORY',
    value: 'of the unit',
  });
  expect(find({ KEY: '', CREDENTIALS_DIRECTORY: '/nonexistent' })).toMatchObject({
    where: join(own, 'KEY'),
    value: 'of the file',
  });
});

it('the line end after one is none of it, and one that no header can carry is refused by name', () => {
  const found = findCredential('KEY', { env: { KEY: 'sk-1\n' }, configHome: '/nonexistent' });
  expect(found).toMatchObject({ value: 'sk-1' });
  refuseUnsendable('house', { KEY: 'sk-1 "/+=%' });
  for (const value of ['sk-\n1', 'sk-\u201c1\u201d', 'sk-\u00e9', 'sk-\u0000']) {
    const refuse = () => refuseUnsendable('house', { GOOD: 'a', KEY: value });
    expect(refuse).toThrow('KEY, which house needs, holds a character that no header can carry; nothing was sent');
  }
});

it('what is empty, absent or a directory is no credential', async () => {
  const { configHome, own, put } = await places();
  put(own, 'EMPTY', '\n');
  mkdirSync(join(own, 'DIRECTORY'), { mode: 0o700 });
  for (const name of ['EMPTY', 'DIRECTORY', 'NONE']) {
    expect(findCredential(name, { env: {}, configHome }), name).toBeNull();
  }
});

it.each([0o640, 0o604, 0o660, 0o644])('a file that others can read (%o) is not used', async (mode) => {
  const { configHome, own, put } = await places();
  put(own, 'KEY', 'secret', mode);
  try {
    findCredential('KEY', { env: {}, configHome });
    throw new Error('it was used');
  } catch (error) {
    expect(error).toMatchObject({
      code: 'CREDENTIAL_EXPOSED',
      message: `${own}/KEY can be read by others; it is not used`,
    });
    expect((error as EpisodeError).hints[0]).toMatch(/^chmod 600 /);
  }
});

it('all that a provider names are looked for, and all that are missing are named; values are in no message', async () => {
  const { configHome } = await places();
  const env = { ONE: 'secret-one' };
  try {
    resolveCredentials('fal', ['ONE', 'TWO', 'THREE'], { env, configHome });
    throw new Error('it was found');
  } catch (error) {
    expect(error).toMatchObject({
      code: 'CREDENTIAL_MISSING',
      message: 'fal needs TWO, THREE, found nowhere; nothing was claimed',
    });
    expect(JSON.stringify(error)).not.toContain('secret-one');
  }
  expect(resolveCredentials('fal', ['ONE'], { env, configHome })).toEqual({ ONE: 'secret-one' });
});
