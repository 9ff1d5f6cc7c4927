import { say } from './streams.ts';

export interface Signals {
  /** Aborted by the first signal after `letEnd`; made when it is asked for, because few verbs do. */
  readonly interrupted: AbortSignal;
  /**
   * From now on the first SIGINT or SIGTERM lets the verb end by itself: nothing new is started, what is being sent is
   * waited for. The second one, like the first before this, kills as a shell or a scheduler expects: between two turns of
   * the event loop, when no transaction is half written.
   */
  letEnd(): void;
  /** `true`: the signal is on its way, and whoever exits now would win against it. */
  dieIfInterrupted(): boolean;
}

export function listenToSignals(): Signals {
  let endsItself = false;
  let controller: AbortController | undefined;
  let received: NodeJS.Signals | null = null;

  /** Libraries listen as well; while one does, the signal would wait for a turn of the event loop that may not come. */
  function die(signal: NodeJS.Signals): void {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }
  function onSignal(signal: NodeJS.Signals): void {
    if (received !== null || !endsItself) {
      die(signal);
      return;
    }
    received = signal;
    say('episode: stopping; what is being sent is waited for (again: stop at once, and it is held as unknown)\n');
    controller?.abort();
  }
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    get interrupted() {
      controller ??= new AbortController();
      if (received) controller.abort();
      return controller.signal;
    },
    letEnd() {
      endsItself = true;
    },
    dieIfInterrupted() {
      if (received) die(received);
      return received !== null;
    },
  };
}
