import { NotStarted, startChild } from '../../child/child.ts';
import { presentable, redaction } from '../redact.ts';
import { type AcknowledgedEvent, type Call, converse, type Ending } from './conversation.ts';
import { takeNotes } from './notes.ts';

export interface AdapterOptions {
  /** The executable and its arguments; with a slash in it, relative to `cwd`, else found on PATH. No shell. */
  command: readonly string[];
  /** The show's root. */
  cwd: string;
  /** The variables that its configuration names, with their values: all secrets, hidden in whatever it says. */
  env: Readonly<Record<string, string>>;
  /** A line of the adapter's stderr, redacted and harmless to a terminal. */
  onNote: (line: string) => void;
}

/** What came of one operation, redacted. */
export interface Transcript {
  ending: Ending;
  acknowledged: ReadonlySet<AcknowledgedEvent>;
  /** The last lines of stderr. */
  notes: string[];
}

export interface Adapter {
  /**
   * Runs one operation in a process of its own. Answers every failure as an ending; throws only what the call's own
   * `started` and handlers throw.
   */
  run(call: Omit<Call, 'id'>): Promise<Transcript>;
  /** A text that quotes what the adapter said, fit for people: redacted, bounded, on one line. */
  presentable(text: string): string;
}

const notStarted = (code: string, message: string): Transcript => ({
  ending: { how: 'not-started', code, message },
  acknowledged: new Set(),
  notes: [],
});

/** An executable that speaks `episode-provider/1` over JSON lines (PROVIDER.md, exec transport). */
export function createAdapter({ command, cwd, env, onNote }: AdapterOptions): Adapter {
  const redact = redaction(env);
  let lastId = 0;

  const clean = (ending: Ending): Ending => {
    switch (ending.how) {
      case 'answered':
        return { how: 'answered', result: redact.json(ending.result) };
      case 'refused':
        return { ...ending, code: presentable(ending.code, redact), message: presentable(ending.message, redact) };
      case 'breach':
        return { ...ending, line: ending.line && presentable(ending.line, redact) };
      default:
        return ending;
    }
  };

  return {
    presentable: (text) => presentable(text, redact),
    async run(call) {
      if (call.signal?.aborted) return notStarted('ABORTED', 'it was stopped before');
      lastId += 1;
      const id = lastId;
      try {
        const child = await startChild(command, cwd, env);
        const notes = takeNotes(child.stderr, redact, onNote);
        const { ending, acknowledged } = await converse(child, { ...call, id });
        return { ending: clean(ending), acknowledged, notes: await notes };
      } catch (error) {
        if (!(error instanceof NotStarted)) throw error;
        return notStarted(error.code, error.message);
      }
    },
  };
}
