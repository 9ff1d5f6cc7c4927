import { say } from './streams.ts';

/**
 * The first SIGINT or SIGTERM lets a verb that can end by itself do so: nothing new is started, what is being sent is
 * waited for. The second one, or any other verb: dies by that signal, as a shell or a scheduler expects. Between two
 * turns of the event loop no transaction is half written.
 */
export function listenToSignals(): { interrupted: AbortSignal; endsItself: boolean; dieIfInterrupted(): boolean } {
  const controller = new AbortController();
  let received: NodeJS.Signals | null = null;
  const state = { interrupted: controller.signal, endsItself: false, dieIfInterrupted };

  /** Libraries listen as well; while one does, the signal would wait for a turn of the event loop that may not come. */
  function die(signal: NodeJS.Signals): void {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }
  function onSignal(signal: NodeJS.Signals): void {
    if (received !== null || !state.endsItself) {
      die(signal);
      return;
    }
    received = signal;
    say('episode: stopping; what is being sent is waited for (again: stop at once, and it is held as unknown)\n');
    controller.abort();
  }
  /** `true`: the signal is on its way, and whoever exits now would win against it. */
  function dieIfInterrupted(): boolean {
    if (received) die(received);
    return received !== null;
  }
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return state;
}
