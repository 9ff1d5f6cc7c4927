import type { ProcessIdentity } from '../../src/port.ts';
import { type Errno, errno } from './errno.ts';
import type { Fault, PlannedFault } from './faults.ts';
import type { Random } from './random.ts';

/** Faults that change what a call does instead of failing it. */
export type Twist = Extract<Fault, 'shortWrite' | 'steal' | 'busy'>;

/** One call of a process to the outside: without effect until the scheduler has it answered. */
export interface Call {
  /** For the trace, e.g. `link /a /b`. */
  text: string;
  perform(twist?: Twist): unknown;
  /** What a disk in trouble may answer; none for a call that cannot fail. */
  errors: readonly Errno[];
  /** What a failure leaves behind all the same. */
  onError?(): void;
  /** A call that waits for others says when it can go on. */
  isReady?(): boolean;
  canBeShort?: true;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

const isReady = (call: Call): boolean => call.isReady?.() ?? true;

/** A process of the simulated host: running, stopped by a signal, or over, with calls that are never answered. */
export class Process {
  readonly calls: Call[] = [];
  state: 'running' | 'paused' | 'killed' | 'ended' = 'running';
  /** Step since which it does nothing. */
  stoppedAt: number | undefined;
  /** Step at which it goes on or, killed, is started again. */
  resumesAt = 0;

  constructor(
    readonly name: string,
    readonly identity: ProcessIdentity,
  ) {}

  get isOver(): boolean {
    return this.state === 'killed' || this.state === 'ended';
  }

  /** Still computing: neither over nor waiting for an answer. */
  get isBusy(): boolean {
    return !this.isOver && this.calls.length === 0;
  }

  readyCalls(): Call[] {
    return this.state === 'running' ? this.calls.filter(isReady) : [];
  }

  /** The waiting calls at which a fault can strike. */
  callsOpenTo({ fault, aim }: PlannedFault): Call[] {
    if (this.state !== 'running') return [];
    return this.calls.filter((call) => {
      if (fault === 'steal' || fault === 'busy') return !isReady(call);
      if (fault === 'shortWrite') return call.canBeShort;
      return call.text.startsWith(aim) && (fault !== 'error' || call.errors.length > 0);
    });
  }

  /** Performs one waiting call and tells the outcome, for the trace. */
  answer(call: Call, twist?: Twist): string {
    this.calls.splice(this.calls.indexOf(call), 1);
    try {
      call.resolve(call.perform(twist));
      return twist ?? 'done';
    } catch (error) {
      call.reject(error);
      return String(error);
    }
  }

  /** Fails one waiting call as a disk in trouble does: nothing happened or, with EIO, maybe all did. */
  answerError(call: Call, random: Random): string {
    const code = random.pick(call.errors);
    const { perform } = call;
    call.perform = () => {
      const late = code === 'EIO' && random.chance(0.5);
      if (late) perform();
      else call.onError?.();
      throw errno(code, `${call.text} (${late ? 'after' : 'before'} it was done)`);
    };
    return this.answer(call);
  }

  pause(step: number, steps: number): void {
    this.state = 'paused';
    this.stoppedAt = step;
    this.resumesAt = step + steps;
  }

  wake(): void {
    this.state = 'running';
    this.stoppedAt = undefined;
  }

  /** SIGKILL: what it was about to do is done, half done, or not; then nothing of it ever runs again. */
  kill(step: number, random: Random): void {
    this.state = 'killed';
    this.stoppedAt ??= step;
    this.resumesAt = step + random.int(40);
    for (const call of this.calls.splice(0)) {
      if (!isReady(call) || random.chance(0.5)) continue;
      try {
        call.perform(call.canBeShort && random.chance(0.5) ? 'shortWrite' : undefined);
      } catch {
        // Nobody is left to be told.
      }
    }
  }

  end(step: number): void {
    this.state = 'ended';
    this.stoppedAt = step;
  }
}
