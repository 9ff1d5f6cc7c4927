import * as fs from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { calledVerb } from './called-verb.ts';

/**
 * Starts the bundled program with V8's code cache beside it: reading compiled code takes a third of the time of compiling
 * it, and cron starts this every few minutes. What cron starts lies in a bundle of its own, without the verbs of people:
 * every byte of a program is read at every start. The cache belongs to exactly this build, Node and processor; one that
 * does not fit is made again, and only in a directory that is ours alone to write.
 */
declare const __BUILD__: Record<'main' | 'scheduled', string>;

const program = ['allocate', undefined].includes(calledVerb(process.argv.slice(2))) ? 'scheduled' : 'main';
const file = join(__dirname, `${program}.js`);
const cache = join(__dirname, `${program}-${__BUILD__[program]}-${process.version}-${process.arch}.cache`);

function readCache(): Buffer | undefined {
  try {
    return fs.readFileSync(cache);
  } catch {
    return undefined;
  }
}

function writeCache(): void {
  const { uid, mode } = fs.lstatSync(__dirname);
  if (uid !== process.geteuid?.() || (mode & 0o022) !== 0) return;
  const temporary = `${cache}.${process.pid}`;
  try {
    fs.writeFileSync(temporary, script.createCachedData(), { flag: 'wx' });
    fs.renameSync(temporary, cache);
  } catch {
    // A start without the cache is slower, and nothing else.
    fs.rmSync(temporary, { force: true });
  }
}

const cachedData = readCache();
// One function of what a module is given, as the build wraps it.
const script = new Script(fs.readFileSync(file, 'latin1'), {
  filename: file,
  ...(cachedData && { cachedData }),
});
if (cachedData === undefined || script.cachedDataRejected) {
  // At the end, so that what was compiled on the way is in it.
  process.once('exit', writeCache);
}
const run = script.runInThisContext() as (
  exports: object,
  require: NodeJS.Require,
  module: object,
  file: string,
  directory: string,
) => void;
// What this may require, the program may: both lie in one directory.
run({}, require, {}, file, __dirname);
