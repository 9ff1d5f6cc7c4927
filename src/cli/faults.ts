import { writeSync } from 'node:fs';
import { usage } from '../errors.ts';
import type { Awaitable, Disk, FileHandle, Port } from '../port.ts';

/**
 * For tests: makes one disk operation of this process go wrong, `EPISODE_FAULT=<what>:<when>:<n>`, counted from 1.
 * `kill`: SIGKILL to ourselves `before` or `after` the n-th operation that changes or syncs something; between two of those
 * a crash leaves nothing else. `stop`: the same with SIGSTOP, counting reads too: what others do meanwhile matters there.
 * An errno like `EIO`: instead of the n-th operation or, `after`, in spite of its success; reads too, unless it is the
 * errno of a disk that only refuses changes.
 * `short`: the n-th write takes half.
 * A fault that strikes says so on stderr, and one that is never reached says that: a test that did not fire is no test.
 */
const READS = ['readFile', 'readdir', 'lstat'] as const;
const CHANGES = ['open', 'write', 'fsync', 'rename', 'link', 'unlink', 'mkdir', 'rmdir'] as const;
type Operation = (typeof READS)[number] | (typeof CHANGES)[number] | 'close';

const ONLY_CHANGES = ['kill', 'ENOSPC', 'EDQUOT', 'EROFS'];
const SIGNALS: Record<string, NodeJS.Signals> = { kill: 'SIGKILL', stop: 'SIGSTOP' };

export function faultyPort(specification: string): (port: Port) => Port {
  const fault = readFault(specification);
  const said = { fired: false };
  process.once('exit', () => {
    if (!said.fired) process.stderr.write('EPISODE_FAULT not reached\n');
  });
  const say = (line: string): void => {
    said.fired = true;
    writeSync(2, `EPISODE_FAULT ${line}\n`);
  };
  return (port) => Object.create(port, { disk: { value: faultyDisk(port.disk, fault, say) } }) as Port;
}

interface Fault {
  what: string;
  when: string;
  at: number;
}

export function readFault(specification: string): Fault {
  const match = /^(kill|stop|short|E[A-Z]+):(before|after):(\d+)$/.exec(specification);
  if (!match) throw usage(`EPISODE_FAULT ${specification} is none`, 'EPISODE_FAULT');
  return { what: match[1]!, when: match[2]!, at: Number(match[3]) };
}

/** `say` is told when the fault strikes, before it does. */
export function faultyDisk(disk: Disk, { what, when, at }: Fault, say: (line: string) => void): Disk {
  const signal = SIGNALS[what];
  const counted: readonly Operation[] =
    what === 'short' ? ['write'] : ONLY_CHANGES.includes(what) ? CHANGES : [...READS, ...CHANGES, 'close'];
  let count = 0;
  let fired = false;

  const strikes = (moment: 'before' | 'after', number: number, operation: Operation, args: unknown[]): boolean => {
    if (when !== moment || number !== at || fired) return false;
    fired = true;
    say(`${what} ${when} ${operation} ${args.find((arg) => typeof arg === 'string') ?? ''}`);
    return true;
  };

  const happen = (): void => {
    if (!signal) throw Object.assign(new Error(`${what}: injected`), { code: what });
    process.kill(process.pid, signal);
  };

  const wrap = <A extends unknown[], R>(
    operation: Operation,
    perform: (...args: A) => Awaitable<R>,
  ): ((...args: A) => Awaitable<R>) => {
    if (!counted.includes(operation)) return perform;
    return async (...args) => {
      count += 1;
      const number = count;
      if (strikes('before', number, operation, args)) {
        if (what === 'short') return perform(...halved(args));
        happen();
      }
      try {
        return await perform(...args);
      } finally {
        // Also when it failed, as a `mkdir` of what is there: else a loop over all operations would end here.
        if (strikes('after', number, operation, args)) happen();
      }
    };
  };

  return {
    readFile: wrap('readFile', disk.readFile),
    readdir: wrap('readdir', disk.readdir),
    lstat: wrap('lstat', disk.lstat),
    open: wrap('open', disk.open),
    write: wrap('write', disk.write),
    fsync: wrap('fsync', (...files: FileHandle[]) => disk.fsync(...files)),
    close: wrap('close', disk.close),
    rename: wrap('rename', disk.rename),
    link: wrap('link', disk.link),
    unlink: wrap('unlink', disk.unlink),
    mkdir: wrap('mkdir', disk.mkdir),
    rmdir: wrap('rmdir', disk.rmdir),
  };
}

const halved = <A extends unknown[]>(args: A): A =>
  args.map((arg) => (arg instanceof Uint8Array ? arg.subarray(0, arg.length >> 1) : arg)) as A;
