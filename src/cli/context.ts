import { existsSync, lstatSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import * as z from 'zod/mini';
import { checkZones, loadConfig } from '../config.ts';
import type { CredentialSources } from '../credentials.ts';
import { EpisodeError, isErrno, notOwner, pipelineLost, usage } from '../errors.ts';
import type { Config } from '../model/config.ts';
import { createNodePort } from '../node-port.ts';
import type { Port } from '../port.ts';
import type { SpendServices } from '../spend/spend-services.ts';
import { createFileStore } from '../store/file/file-store.ts';
import type { Store } from '../store/store.ts';
import type { Signals } from './signals.ts';
import type { Talk } from './talk.ts';

// A schema is used once or twice in a command: compiling it would cost more than it saves.
z.config({ jitless: true });

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
  /** Where `init` makes one: named like any show, else where the command was started. */
  newRoot(): string;
  config(): Promise<Config>;
  /** The same before its zones are looked up, which costs as much as the rest of a replay. */
  configWithoutZones(): Promise<Config>;
  /** To read. */
  reading(): Store;
  /** To write. Throws `NOT_OWNER` (77). */
  writing(): Store;
  /** `read`: for verbs that only look and price. */
  spending(to?: 'read' | 'write'): Promise<SpendServices>;
  credentialSources(): CredentialSources;
}

interface ContextParts {
  options: GlobalOptions;
  env: NodeJS.ProcessEnv;
  cwd: string;
  verb: string;
  commandLine: string;
  talk: Talk;
  signals: Pick<Signals, 'interrupted'>;
  wrapPort?: (port: Port) => Port;
}

export function createContext(parts: ContextParts): Context {
  const { options, env, cwd, talk, signals } = parts;
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
    get interrupted() {
      return signals.interrupted;
    },
    commandLine: parts.commandLine,
    root() {
      root ??= findRoot(options.root, env, cwd);
      return root;
    },
    newRoot: () => namedRoot(options.root, env, cwd) ?? resolve(cwd),
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
    async spending(to = 'write') {
      const { createSpendServices } = await import('./spending.ts');
      return createSpendServices(this, to === 'write' ? this.writing() : this.reading());
    },
    credentialSources: () => ({ env, configHome: env.XDG_CONFIG_HOME || `${env.HOME || homedir()}/.config` }),
  };
  return context;
}

/** The show that `--root` or `$EPISODE_ROOT` names, absolute; `null` when neither does. */
function namedRoot(given: string | null, env: NodeJS.ProcessEnv, cwd: string): string | null {
  const named = given ?? env.EPISODE_ROOT;
  if (named === '') throw usage('$EPISODE_ROOT is empty', 'EPISODE_ROOT', 'unset EPISODE_ROOT, or name a show');
  return named === undefined ? null : resolve(cwd, named);
}

function findRoot(given: string | null, env: NodeJS.ProcessEnv, cwd: string): string {
  const named = namedRoot(given, env, cwd);
  if (named !== null) {
    if (isShow(named)) return named;
    throw notAShow(`${named} is no show: there is no pipeline.json in it`, named);
  }
  let directory = resolve(cwd);
  while (!isShow(directory)) {
    if (directory === dirname(directory))
      throw notAShow(`there is no pipeline.json in ${resolve(cwd)} or in a directory above it`, resolve(cwd));
    directory = dirname(directory);
  }
  return directory;
}

/** Throws `NOT_A_SHOW` (78) about a ledger without its `pipeline.json`: no show around it may answer for it. */
function isShow(directory: string): boolean {
  if (existsSync(`${directory}/pipeline.json`)) return true;
  if (existsSync(`${directory}/state/commits`)) throw pipelineLost(directory, 'NOT_A_SHOW');
  return false;
}

const notAShow = (message: string, directory: string): EpisodeError =>
  new EpisodeError('NOT_A_SHOW', message, {
    subject: directory,
    hints: ['name the show: --root DIR, or EPISODE_ROOT=DIR', 'episode init --time-zone ZONE  # makes one here'],
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
