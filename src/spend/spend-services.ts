import type { Config } from '../model/config.ts';
import type { Kind } from '../model/plan.ts';
import type { Port } from '../port.ts';
import type { Provider } from '../providers/provider.ts';
import type { Store } from '../store/store.ts';

/** All that spending needs from outside; the command line puts it together, a test puts in what it wants. */
export interface SpendServices {
  store: Store;
  port: Port;
  /** The show's directory, absolute. */
  root: string;
  config: Config;
  /**
   * The provider of that name, with its credentials. Asked only after the episode is known to exist.
   * Throws `CREDENTIAL_MISSING`, `PROVIDER_CONFIGURATION` (78).
   */
  provider(name: string): Promise<Provider>;
  media: {
    /** Decodes the whole file; throws `MEDIA_NOT_WHOLE` (76). `text` and `file` are whole as they are. */
    verify(path: string, kind: Kind): Promise<void>;
    /** Reads the file in a stream. */
    hash(path: string): Promise<{ sha256: string; bytes: number }>;
  };
  /** A line for people: what a provider wrote to stderr, what is being waited for. */
  note(line: string): void;
  /** Of one step's work, 0 to 1. */
  progress(step: string, fraction: number): void;
  /** Aborted by the first interrupt: nothing new is started, what is being sent is waited for. */
  interrupted: AbortSignal;
}
