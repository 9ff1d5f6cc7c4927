import * as fs from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';

/**
 * Starts the bundled program with V8's code cache beside it: reading compiled code takes a third of the time of compiling
 * it, and cron starts this every few minutes. The cache belongs to exactly this build, Node and processor; one that does
 * not fit is made again, and only in a directory that is ours alone to write.
 */
declare const __BUILD__: string;

const main = join(__dirname, 'main.js');
const cache = join(__dirname, `main-${__BUILD__}-${process.version}-${process.arch}.cache`);

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
const script = new Script(fs.readFileSync(main, 'latin1'), {
  filename: main,
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
// What this may require, main.js may: both lie in one directory.
run({}, require, {}, main, __dirname);
