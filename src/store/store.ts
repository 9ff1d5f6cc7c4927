import type { EpisodeError } from '../errors.ts';
import type { Episode, History } from '../model/episode.ts';
import type { Key, Ledger, Week } from '../model/ledger.ts';

/** The kinds of documents a ledger holds, and the type of each. */
export interface Documents {
  ledger: Ledger;
  week: Week;
  episode: Episode;
  key: Key;
  history: History;
}
export type Kind = keyof Documents;

/** The name of one document: `id` is the week, the episode ID, the key's hash; `ledger` has one, `''`. */
export interface Ref<K extends Kind = Kind> {
  kind: K;
  id: string;
}
/** Where the stamp of an episode's artifacts lies, relative to the show. */
export const stampPath = (episodeId: string): string => `${artifactsPath(episodeId)}/episode.json`;
export const artifactsPath = (episodeId: string): string => `episodes/${episodeId}`;

export const ref = <K extends Kind>(kind: K, id: string): Ref<K> => ({ kind, id });

/**
 * Reading. `get` answers `undefined` for what is not recorded and throws `RECORD_DAMAGED`, `FORMAT_NEWER` or
 * `RECORD_UNREADABLE` for what is there and cannot be trusted; it never answers a part.
 */
export interface View {
  get<K extends Kind>(ref: Ref<K>): Promise<Documents[K] | undefined>;
  /** IDs of the documents of a kind, in no order: all weeks, history groups, keys, or the episodes of a week (`scope`). */
  list(kind: 'week' | 'history' | 'key'): Promise<string[]>;
  list(kind: 'episode', scope: string): Promise<string[]>;
  /** The directory of an episode's artifacts if a ledger stamped it, else `null`: it outlives a record that is lost. */
  artifactsOf(episodeId: string): Promise<string | null>;
  /** What messages call a document: its file, relative to the show. */
  nameOf(ref: Ref): string;
  /** Number of the newest transaction that this view shows. */
  readonly head: number;
  /** Its time, milliseconds since the epoch. */
  readonly headAt: number;
}

export interface Transaction extends View {
  /** Fails with `RECORD_EXISTS` (a bug) when the name is taken: nothing on record is written over by accident. */
  create<K extends Kind>(ref: Ref<K>, document: Documents[K]): Promise<void>;
  /** Replaces the whole document. Later `get`s of this transaction see it. */
  put<K extends Kind>(ref: Ref<K>, document: Documents[K]): void;
  /** Only for names that can never come back; what may come back leaves a tombstone instead. */
  remove<K extends Kind>(ref: Ref<K>): void;
}

/** Where a show's records live. Two stores keep this contract, one suite tests both (test/store/store-suite.ts). */
export interface Store {
  /**
   * Runs `decide` alone against the newest state and makes all it wrote durable at once, or none of it.
   * `decide` may run several times and must have no other effect; what it needs from clock and chance comes in from
   * outside, and it recognises what it wrote in an earlier round by an ID that was fixed before.
   * A `decide` that writes nothing commits nothing, and its answer (or error) is true of the newest state.
   * When it returns, what it wrote survives a power loss. Throws `LOCK_BUSY` (75), `CANNOT_WRITE` (73), `IO_ERROR` (74),
   * `NOT_PERMITTED` (77): state as before, unless the message says "may have been recorded", when the same command is safe.
   */
  transact<T>(decide: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Runs `read` against one instant, without a lock and without writing. May run it again when a writer got in between. */
  view<T>(read: (view: View) => Promise<T>): Promise<T>;
  /** Like `view`, but each document is whole by itself and two may come from different instants: for long lists. */
  browse<T>(read: (view: View) => Promise<T>): Promise<T>;
  /**
   * Like `browse`, and also when the newest transaction is damaged: then `damage` says how, and documents are as they were
   * last put in place, perhaps one transaction behind. For what shows the rest; nothing may be decided upon it.
   */
  salvage<T>(read: (view: View, damage: EpisodeError | null) => Promise<T>): Promise<T>;
  /** What is damaged in the store's own bookkeeping, one error a file, also where nothing depends on it any more. */
  inspect(): Promise<EpisodeError[]>;
}
