import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ProvidedFile } from '../../model/protocol.ts';
import type { Mapping } from '../http/mapping.ts';
import type { Provider } from '../provider.ts';
import type { Reply } from './fault-server.ts';
import type { Bench, How } from './http-bench.ts';
import { REF } from './made-up.ts';
import { say, type Told } from './replies.ts';
import { BYTES } from './specimen.ts';

/** What came of bringing a result home. */
export interface Brought {
  files: ProvidedFile[] | 'expired' | null;
  what: string;
  code: string | null;
  dir: string;
  /** Of all that lies in `dir` afterwards. */
  bytes: number;
}

export const isHome = ({ files, dir, bytes }: Brought): boolean =>
  Array.isArray(files) &&
  files.length > 0 &&
  bytes > 0 &&
  files.every(({ path }) => !relative(dir, path).startsWith('..'));

export const isNone = ({ files }: Brought): boolean => !Array.isArray(files);

export const isExpired = ({ files }: Brought): boolean => files === 'expired';

/** A bench on which results are fetched in the shape that its mapping gives them. */
export class Fetching {
  readonly bench: Bench;
  readonly shape: NonNullable<Mapping['result']>['result'];
  /** A whole result as its own server gives it. */
  readonly film: Told;

  constructor(bench: Bench, shape: Fetching['shape']) {
    this.bench = bench;
    this.shape = shape;
    this.film = { status: 200, headers: { 'content-type': bench.specimen.mime }, body: BYTES };
  }

  /** Where an answer tells the address of a file first, if it tells any. */
  get addressed(): string | undefined {
    return this.shape === 'bytes' ? undefined : this.shape.files?.[0];
  }

  /** One trial is one promise. */
  async promise(
    id: string,
    says: string,
    reply: Reply,
    isRight: (brought: Brought) => boolean,
    how?: How,
  ): Promise<void> {
    const brought = await this.bring(id, reply, how);
    this.bench.promise(`fetch/${id}`, says, isRight(brought), brought.what);
  }

  async bring(trial: string, reply: Reply, how: How = {}): Promise<Brought> {
    const dir = await this.bench.room();
    const op = (provider: Provider) => provider.fetch(this.bench.task(REF), dir);
    const { answer, error, what } = await this.bench.ask(`fetch: ${trial}`, reply, op, how);
    const names = await readdir(dir);
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(dir, name))).size));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    return { files: answer, what: what.replaceAll(dir, '…'), code: error?.code ?? null, dir, bytes };
  }

  /** The answer tells an address; what is there is `file`. */
  at(address: string, file: Reply = say(this.film), pointer = this.addressed): Reply {
    const told = say(this.bench.specimen.result(pointer, address));
    return (socket, received, index) =>
      (received.path.startsWith('/certify-file/') ? file : told)(socket, received, index);
  }

  /** The bytes of the result, wherever they come from. */
  bytes(file: Reply): Reply {
    return this.shape === 'bytes' ? file : this.at(this.bench.specimen.film, file);
  }
}
