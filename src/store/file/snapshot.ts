import { namesIn, statIn } from '../../durable.ts';
import { EpisodeError } from '../../errors.ts';
import { sha256 } from '../../fingerprint.ts';
import { readBytes } from '../../json/record.ts';
import type { Port } from '../../port.ts';
import { decode } from '../codec.ts';
import { artifactsPath, type Documents, type Kind, type Ref, stampPath, type View } from '../store.ts';
import { type Commit, stagedFile } from './commits.ts';
import { LISTED, type ListedKind, pathOf } from './paths.ts';

/** A document is not what the head says: either a writer got in between, or it is damage. Whoever looks again can tell. */
export class Torn extends Error {
  constructor(readonly file: string) {
    super(`${file} is not what was committed`);
  }
}

/** IDs on the disk, and what changes of `[target, present afterwards]` make of them. A week never goes. */
export function mergeListing(
  kind: ListedKind,
  scope: string,
  ids: string[],
  changes: Iterable<readonly [target: string, present: boolean]>,
): string[] {
  const { directory, name } = LISTED[kind];
  const prefix = `${directory(scope)}/`;
  const merged = new Set(ids);
  for (const [target, present] of changes) {
    const id = target.startsWith(prefix) ? name.exec(target.slice(prefix.length).split('/')[0]!)?.[1] : undefined;
    if (id === undefined) continue;
    if (present) merged.add(id);
    else if (kind !== 'week') merged.delete(id);
  }
  return [...merged];
}

/** The documents as the head `commit` left them, whether or not its changes have been put in place yet. */
export class Snapshot implements View {
  constructor(
    protected readonly port: Port,
    protected readonly root: string,
    protected readonly commit: Commit,
  ) {}

  get head(): number {
    return this.commit.number;
  }

  get headAt(): number {
    return Date.parse(this.commit.at);
  }

  nameOf(ref: Ref): string {
    return pathOf(ref);
  }

  async get<K extends Kind>(ref: Ref<K>): Promise<Documents[K] | undefined> {
    const file = pathOf(ref);
    const bytes = await this.read(file);
    return bytes && (await decode(ref, bytes, file));
  }

  async list(kind: ListedKind, scope = ''): Promise<string[]> {
    const { directory, name } = LISTED[kind];
    const names = await namesIn(this.port.disk, this.root, directory(scope));
    const changes = this.commit.changes.map(({ target, staged }) => [target, staged !== null] as const);
    return mergeListing(
      kind,
      scope,
      names.flatMap((entry) => name.exec(entry)?.[1] ?? []),
      changes,
    );
  }

  async artifactsOf(episodeId: string): Promise<string | null> {
    return (await statIn(this.port.disk, this.root, stampPath(episodeId))) ? artifactsPath(episodeId) : null;
  }

  /** Documents that are not what the head says, by their files. What cannot be read at all is for `get` to say. */
  async torn(): Promise<string[]> {
    const torn: string[] = [];
    for (const { target } of this.commit.changes) {
      try {
        await this.read(target);
      } catch (error) {
        if (error instanceof Torn) torn.push(target);
        else if (!(error instanceof EpisodeError)) throw error;
      }
    }
    return torn;
  }

  private async read(file: string): Promise<Buffer | undefined> {
    const change = this.commit.changes.find(({ target }) => target === file);
    if (!change) return this.bytes(file);
    const staged = stagedFile(change);
    if (staged === null) return undefined;
    const bytes = (await this.bytes(staged)) ?? (await this.bytes(file));
    if (!bytes || sha256(bytes) !== change.sha256) throw new Torn(file);
    return bytes;
  }

  private bytes(file: string): Promise<Buffer | undefined> {
    return readBytes(this.port.disk, `${this.root}/${file}`, file);
  }
}
