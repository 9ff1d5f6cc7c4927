import { encode } from '../codec.ts';
import type { Documents, Kind, Ref, Transaction } from '../store.ts';
import { type ListedKind, pathOf } from './paths.ts';
import { mergeListing, Snapshot } from './snapshot.ts';

/** A snapshot plus what one `decide` wants to change; nothing here reaches the disk. */
export class Changes extends Snapshot implements Transaction {
  readonly #documents = new Map<string, Documents[Kind] | null>();

  /** Target -> new content, `null` to remove it. */
  get written(): Map<string, Buffer | null> {
    return new Map([...this.#documents].map(([file, document]) => [file, document && encode(document)]));
  }

  override async get<K extends Kind>(ref: Ref<K>): Promise<Documents[K] | undefined> {
    const written = this.#documents.get(pathOf(ref));
    return written === undefined ? super.get(ref) : ((written ?? undefined) as Documents[K] | undefined);
  }

  override async list(kind: ListedKind, scope = ''): Promise<string[]> {
    const changes = [...this.#documents].map(([file, document]) => [file, document !== null] as const);
    return mergeListing(kind, scope, await super.list(kind, scope), changes);
  }

  async create<K extends Kind>(ref: Ref<K>, document: Documents[K]): Promise<void> {
    if ((await this.get(ref)) !== undefined) throw new Error(`bug: ${pathOf(ref)} is already recorded`);
    this.#documents.set(pathOf(ref), document);
  }

  put<K extends Kind>(ref: Ref<K>, document: Documents[K]): void {
    this.#documents.set(pathOf(ref), document);
  }

  remove<K extends Kind>(ref: Ref<K>): void {
    this.#documents.set(pathOf(ref), null);
  }
}
