import { usage } from '../errors.ts';
import type { Disk, Port } from '../port.ts';

/**
 * For tests: makes one disk operation of this process go wrong, `EPISODE_FAULT=<what>:<when>:<n>`. Operations that change
 * or sync something are counted from 1. `what`: `kill` or `stop` (a signal to ourselves, `before` or `after` the
 * operation), `short` (a write takes half), or an errno like `ENOSPC` (instead of the operation). A fault that is never
 * reached says so at the end: a test that did not fire is no test.
 */
export function faultyPort(specification: string): (port: Port) => Port {
  const match = /^(kill|stop|short|E[A-Z]+):(before|after):(\d+)$/.exec(specification);
  if (!match) throw usage(`EPISODE_FAULT ${specification} is none`, 'EPISODE_FAULT');
  const [, what, when, at] = match as unknown as [string, string, 'before' | 'after', string];
  let count = 0;
  let fired = false;
  process.once('exit', () => {
    if (!fired) process.stderr.write(`EPISODE_FAULT not reached after ${count} operations\n`);
  });

  const strike = (moment: 'before' | 'after'): void => {
    if (when !== moment || count !== Number(at) || (what !== 'kill' && what !== 'stop')) return;
    fired = true;
    process.kill(process.pid, what === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  };
  const fault = (): boolean => count === Number(at) && what !== 'kill' && what !== 'stop';

  const counted = <A extends unknown[], R>(operation: (...args: A) => R): ((...args: A) => R) => {
    return (...args) => {
      count += 1;
      strike('before');
      if (fault() && what !== 'short') {
        fired = true;
        throw Object.assign(new Error(`${what}: injected`), { code: what });
      }
      const result = operation(...args);
      strike('after');
      return result;
    };
  };

  const wrapDisk = (disk: Disk): Disk => ({
    ...disk,
    open: counted(disk.open),
    write: counted((file, bytes) => {
      if (!fault()) return disk.write(file, bytes);
      fired = true;
      return disk.write(file, bytes.subarray(0, Math.floor(bytes.length / 2)));
    }),
    fsync: counted(disk.fsync),
    rename: counted(disk.rename),
    link: counted(disk.link),
    unlink: counted(disk.unlink),
    mkdir: counted(disk.mkdir),
    rmdir: counted(disk.rmdir),
  });
  return (port) => Object.create(port, { disk: { value: wrapDisk(port.disk) } }) as Port;
}
