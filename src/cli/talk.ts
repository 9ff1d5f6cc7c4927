import { oneLine } from './printable.ts';

/** What is said on stderr while a command works; results go to stdout. */
export interface Talk {
  note(line: string): void;
  /** Of one thing, 0 to 1; only a terminal shows it. */
  progress(name: string, fraction: number): void;
  /** Removes what progress drew. */
  clear(): void;
}

interface Terminal {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

const REDRAW_MS = 100;
/** A terminal that does not know its width (serial lines, some editors) says 0. */
const USUAL_COLUMNS = 80;

export function createTalk(terminal: Terminal, quiet: boolean, now: () => number): Talk {
  const running = new Map<string, { since: number; fraction: number }>();
  let drawn = false;
  let last = 0;

  const clear = (): void => {
    if (drawn) terminal.write('\r\u001b[2K');
    drawn = false;
  };
  const draw = (): void => {
    const parts = [...running].map(
      ([name, { since, fraction }]) => `${name} ${percent(fraction)}${left(now() - since, fraction)}`,
    );
    clear();
    terminal.write(parts.join('   ').slice(0, (terminal.columns || USUAL_COLUMNS) - 1));
    drawn = parts.length > 0;
    last = now();
  };

  return {
    note(line) {
      if (quiet) return;
      clear();
      terminal.write(`${oneLine(line)}\n`);
    },
    progress(name, fraction) {
      if (quiet || terminal.isTTY !== true) return;
      const known = running.get(name) ?? { since: now(), fraction: 0 };
      // Never backwards: a second pass of the same work starts at 0 again.
      known.fraction = Math.max(known.fraction, Math.min(1, fraction));
      if (known.fraction >= 1) running.delete(name);
      else running.set(name, known);
      if (now() - last >= REDRAW_MS) draw();
    },
    clear,
  };
}

const percent = (fraction: number): string => `${Math.floor(fraction * 100)} %`;

/** Time left by the rule of three, once there is enough to go by. */
function left(elapsedMs: number, fraction: number): string {
  if (fraction < 0.05 || elapsedMs < 500) return '';
  const seconds = Math.ceil((elapsedMs / fraction - elapsedMs) / 1000);
  return seconds < 60 ? `, ${seconds} s left` : `, ${Math.ceil(seconds / 60)} min left`;
}
