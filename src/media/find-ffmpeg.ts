import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { NotStarted } from '../child/child.ts';
import { EpisodeError } from '../errors.ts';
import { runTool } from './tool.ts';

export interface FoundFfmpeg {
  /** Absolute, or a bare name to be found on `PATH`. */
  path: string;
  /** As it calls itself, e.g. `5.1.9-0+deb12u1`; builds from a repository have no number. */
  version: string;
}

/** A development dependency: a static build for clones on machines where nothing can be installed. */
const PACKAGE = '@ffmpeg-installer/ffmpeg';

/** 4.1 (2018) is the oldest with the filters used here. Its libavutil, since every build says that (APIchanges, 4.1). */
const OLDEST = '4.1';
const OLDEST_LIBAVUTIL = [56, 22] as const;

const ON_PATH = 'ffmpeg';

const INSTALL = [`apt-get install ffmpeg`, `brew install ffmpeg`, `EPISODE_FFMPEG=/path/to/ffmpeg uses another one`];

/**
 * `$EPISODE_FFMPEG` if set and nothing else then; the one on `$PATH`; in a clone, the one of `@ffmpeg-installer/ffmpeg`.
 * Throws `FFMPEG_MISSING` (78) if there is none, or if the first that is there is too old or does not run: silently
 * using another one than the machine's would change what a film looks like.
 */
export async function findFfmpeg(env: Readonly<Record<string, string | undefined>>): Promise<FoundFfmpeg> {
  const chosen = env.EPISODE_FFMPEG;
  if (chosen !== undefined) {
    const path = chosen.includes('/') ? resolve(chosen) : chosen;
    const found = await probe(path, env.PATH);
    if (found) return found;
    throw missing(`there is no ffmpeg at ${path}, which EPISODE_FFMPEG names`);
  }
  for (const where of [() => ON_PATH, packagedPath]) {
    const path = where();
    const found = path && (await probe(path, env.PATH));
    if (found) return found;
  }
  throw missing(`there is no ffmpeg on PATH, and no package ${PACKAGE}`);
}

/** The bundler leaves `createRequire` alone, so the package is looked for beside the running program, not put into it. */
function packagedPath(): string | undefined {
  try {
    const { path } = createRequire(import.meta.url)(PACKAGE) as { path: string };
    return path;
  } catch {
    return undefined; // not installed, or not made for this machine, which it says by throwing a string
  }
}

async function probe(path: string, searchPath: string | undefined): Promise<FoundFfmpeg | undefined> {
  const who = path === ON_PATH ? 'the ffmpeg on PATH' : path;
  const said: string[] = [];
  try {
    await runTool([path, '-version'], { cwd: '/', path: searchPath, onOutput: (line) => said.push(line) });
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw missing(`${who} cannot be started (${error.code})`, `chmod +x ${path}`);
  }
  const text = said.join('\n');
  const version = /^ffmpeg version (\S+)/m.exec(text)?.[1];
  const libavutil = /^libavutil\s+(\d+)\.\s*(\d+)/m.exec(text);
  if (!version || !libavutil) throw missing(`${who} does not answer "-version" as ffmpeg does`);
  const [major, minor] = [Number(libavutil[1]), Number(libavutil[2])];
  const [oldestMajor, oldestMinor] = OLDEST_LIBAVUTIL;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw missing(`${who} is version ${version}; ${OLDEST} or newer is needed`);
  }
  return { path, version };
}

const missing = (what: string, ...hints: string[]): EpisodeError =>
  new EpisodeError('FFMPEG_MISSING', what, { subject: 'ffmpeg', hints: [...hints, ...INSTALL] });
