import { readFileSync, statSync } from 'node:fs';
import { asEpisodeError, EpisodeError, isErrno } from './errors.ts';

/** Where credentials are looked for. Values are never written, logged or passed as arguments. */
export interface CredentialSources {
  env: NodeJS.ProcessEnv;
  /** Of the user who runs this: `<config home>/episode/credentials/<NAME>`, readable by nobody else. */
  configHome: string;
}

type Found = { name: string; where: string; value: string };

/**
 * One credential by the name its provider gives it: the environment, then systemd's `$CREDENTIALS_DIRECTORY`, then a
 * file of the user's. `null`: nowhere. Throws `CREDENTIAL_EXPOSED` (78) for a file that others can read.
 */
export function findCredential(name: string, { env, configHome }: CredentialSources): Found | null {
  const value = env[name]?.trim();
  if (value) return { name, where: 'environment', value };
  // systemd.exec(5): a directory that only the unit's user can read, on a file system of its own.
  const directory = env.CREDENTIALS_DIRECTORY;
  const given = directory ? readSecret(`${directory}/${name}`, 'given') : null;
  if (given) return { name, where: '$CREDENTIALS_DIRECTORY', value: given };
  const file = `${configHome}/episode/credentials/${name}`;
  const kept = readSecret(file, 'own');
  return kept ? { name, where: file, value: kept } : null;
}

function readSecret(file: string, kind: 'given' | 'own'): string | null {
  try {
    if (kind === 'own' && (statSync(file).mode & 0o077) !== 0) {
      throw new EpisodeError('CREDENTIAL_EXPOSED', `${file} can be read by others; it is not used`, {
        subject: file,
        hints: [`chmod 600 ${file}  # and change the key at the provider if somebody may have read it`],
      });
    }
    return readFileSync(file, 'utf8').trim() || null;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) return null;
    throw asEpisodeError(error, file);
  }
}

/** All that a provider names. Throws `CREDENTIAL_MISSING` (78) with every name that is found nowhere. */
export function resolveCredentials(
  provider: string,
  names: readonly string[],
  sources: CredentialSources,
): Record<string, string> {
  const found = names.map((name) => findCredential(name, sources));
  const missing = names.filter((_, index) => found[index] === null);
  if (missing.length > 0) {
    throw new EpisodeError(
      'CREDENTIAL_MISSING',
      `${provider} needs ${missing.join(', ')}, found nowhere; nothing was claimed`,
      {
        subject: provider,
        hints: [
          `export ${missing[0]}=…`,
          `or: install -d -m 700 ${sources.configHome}/episode/credentials && install -m 600 /dev/stdin ${sources.configHome}/episode/credentials/${missing[0]}`,
          'or a systemd unit with LoadCredential=',
        ],
      },
    );
  }
  return Object.fromEntries(found.map((one) => [one!.name, one!.value]));
}

/**
 * A key that was pasted with a line break or a curly quote is none, and no header could carry it. Throws
 * `CREDENTIAL_REFUSED` (78), which names it and never its value.
 */
export function refuseUnsendable(provider: string, credentials: Readonly<Record<string, string>>): void {
  const name = Object.keys(credentials).find((one) => !/^[\x20-\x7e]+$/.test(credentials[one]!));
  if (name === undefined) return;
  const message = `${name}, which ${provider} needs, holds a character that no header can carry; nothing was sent`;
  throw new EpisodeError('CREDENTIAL_REFUSED', message, {
    subject: provider,
    hints: ['copy the key once more, without the line breaks and quotes of a text program'],
  });
}
