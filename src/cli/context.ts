import { existsSync, lstatSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import { checkZones, loadConfig } from '../config.ts';
import type { CredentialSources } from '../credentials.ts';
import { EpisodeError, isErrno, notOwner, usage } from '../errors.ts';
import type { Config } from '../model/config.ts';
import { createNodePort } from '../node-port.ts';
import type { Port } from '../port.ts';
import type { SpendServices } from '../spend/services.ts';
import { createFileStore } from '../store/file/file-store.ts';
import type { Store } from '../store/store.ts';
import type { Talk } from './talk.ts';

export interface GlobalOptions {
  root: string | null;
  json: boolean;
  quiet: boolean;
  /** Milliseconds since the epoch; only tests set it. */
  now: number | null;
}

/** What every verb gets, put together here and nowhere else; each part is made when it is asked for. */
export interface Context {
  options: GlobalOptions;
  env: NodeJS.ProcessEnv;
  cwd: string;
  port: Port;
  talk: Talk;
  interrupted: AbortSignal;
  /** The words to run this again, for `sudo -u` lines. */
  commandLine: string;
  /** The show's directory. Throws `NOT_A_SHOW` (78). */
  root(): string;
  config(): Promise<Config>;
  /** The same before its zones are looked up, which costs as much as the rest of a replay. */
  configWithoutZones(): Promise<Config>;
  /** To read. */
  reading(): Store;
  /** To write. Throws `NOT_OWNER` (77). */
  writing(): Store;
  spending(): Promise<SpendServices>;
  credentialSources(): CredentialSources;
}

export interface ContextParts {
  options: GlobalOptions;
  env: NodeJS.ProcessEnv;
  cwd: string;
  verb: string;
  commandLine: string;
  talk: Talk;
  interrupted: AbortSignal;
  wrapPort?: (port: Port) => Port;
}

export function createContext(parts: ContextParts): Context {
  const { options, env, cwd, talk, interrupted } = parts;
  const { now } = options;
  const nodePort = createNodePort({ command: `episode ${parts.verb}`, ...(now !== null && { now: () => now }) });
  const port = parts.wrapPort?.(nodePort) ?? nodePort;
  let root: string | undefined;
  let config: Promise<Config> | undefined;
  const context: Context = {
    options,
    env,
    cwd,
    port,
    talk,
    interrupted,
    commandLine: parts.commandLine,
    root() {
      root ??= findRoot(options.root, env, cwd);
      return root;
    },
    config: async () => checkZones(await context.configWithoutZones()),
    configWithoutZones() {
      config ??= loadConfig(port.disk, this.root());
      return config;
    },
    reading() {
      return createFileStore(port, this.root());
    },
    writing() {
      refuseOtherUser(this.root(), parts.commandLine);
      return createFileStore(port, this.root());
    },
    async spending() {
      const { createSpendServices } = await import('./spending.ts');
      return createSpendServices(this);
    },
    credentialSources: () => ({ env, configHome: env.XDG_CONFIG_HOME || `${env.HOME || homedir()}/.config` }),
  };
  return context;
}

function findRoot(given: string | null, env: NodeJS.ProcessEnv, cwd: string): string {
  if (given === '') throw usage('--root is empty', '--root');
  if (env.EPISODE_ROOT === '')
    throw usage('$EPISODE_ROOT is empty', 'EPISODE_ROOT', 'unset EPISODE_ROOT, or name a show');
  const named = given ?? env.EPISODE_ROOT;
  if (named !== undefined) {
    const root = resolve(cwd, named);
    if (existsSync(`${root}/pipeline.json`)) return root;
    throw notAShow(root);
  }
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    if (existsSync(`${directory}/pipeline.json`)) return directory;
    if (directory === dirname(directory)) throw notAShow(resolve(cwd));
  }
}

const notAShow = (root: string): EpisodeError =>
  new EpisodeError('NOT_A_SHOW', `${root} is no show: there is no pipeline.json in it`, {
    subject: root,
    hints: ['episode init --time-zone ZONE          makes one here', 'or name it: --root DIR, or EPISODE_ROOT=DIR'],
  });

/** Root included: files of another user are what nobody notices until the scheduler cannot write. */
function refuseOtherUser(root: string, commandLine: string): void {
  const uid = process.geteuid?.();
  const owner = ownerOf(`${root}/state`);
  if (uid === undefined || owner === null || owner === uid) return;
  throw notOwner(nameOf(owner), commandLine);
}

function ownerOf(path: string): number | null {
  try {
    return lstatSync(path).uid;
  } catch (error) {
    if (isErrno(error)) return null;
    throw error;
  }
}

/** Node resolves only its own user's name; a number does for sudo as well, written `#1000`. */
const nameOf = (uid: number): string =>
  uid === 0 ? 'root' : uid === userInfo().uid ? userInfo().username : `'#${uid}'`;
