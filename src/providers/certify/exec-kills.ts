import type { SubmitOutcome } from '../../model/protocol.ts';
import type { ProcessIdentity } from '../../port.ts';
import type { SubmitEvents } from '../provider.ts';
import { type ExecBench, request, submissionOf } from './exec-bench.ts';
import { retold, talk } from './exec-talk.ts';
import { wordsOf } from './promised.ts';

/** Death at each event that an adapter announces. `names`: those of a whole submission, in order. */
export async function tryKills(bench: ExecBench, names: readonly string[]): Promise<void> {
  const { promise, sheet } = bench;
  for (const [index, name] of names.entries()) await tryEnd(bench, name, index);
  const announces = sheet.capabilities.announces_sending === true;
  const early = announces ? 'released' : 'unknown';
  await tryKill(bench, 'its start', -1, early);
  for (const [index, name] of names.entries()) {
    const isAccepted = names.slice(0, index + 1).includes('accepted');
    const wasSent = names.slice(0, index).includes('sending');
    await tryKill(bench, `"${name}"`, index, isAccepted ? 'accepted' : wasSent ? 'unknown' : early);
  }
  if (names.length === 0) promise('kill/events', 'death at each event is decidable', null, 'it announced no event');
}

/** The end of its input in the place of an acknowledgement: nobody is there any more who would record what comes. */
async function tryEnd(bench: ExecBench, name: string, at: number): Promise<void> {
  const submission = request('submit', await submissionOf(bench, `end-${at}`));
  const heard = await talk(bench.started, [submission], { onEvent: (_, index) => index !== at });
  const says = `end of input instead of the acknowledgement of "${name}": it ends without going on`;
  const id = `end/${at + 1}-${name}`;
  if (heard.events.length <= at) return bench.promise(id, says, null, `not announced again: ${retold(heard)}`);
  const wentOn = heard.later.length > 0 || heard.answer?.ok === true;
  const seen = wentOn
    ? `it went on: ${[...heard.later.map(({ event }) => event), retold(heard)].join(', ')}`
    : retold(heard);
  bench.promise(id, says, !wentOn && !heard.isLate && heard.breach === null, seen);
}

/** Killed after it announced that event (-1: before it was told anything) and before it is acknowledged. */
async function tryKill(bench: ExecBench, where: string, at: number, wanted: SubmitOutcome['outcome']): Promise<void> {
  const { provider, port, kill, gone } = bench;
  let adapter: ProcessIdentity | undefined;
  let announced = -1;
  let isKilled = false;
  async function die(): Promise<void> {
    isKilled = true;
    kill(adapter!.pid);
    // Reaped: from then on nothing can be told to it, and no acknowledgement counts.
    while (port.liveness({ ...adapter!, started: '' }) !== 'gone') await port.sleep(2);
  }
  async function arrive(): Promise<void> {
    announced += 1;
    if (announced === at) await die();
  }
  const events: SubmitEvents = {
    async started(process) {
      adapter = process;
      if (at < 0) await die();
    },
    checkpoint: arrive,
    sending: arrive,
    accepted: arrive,
    progress: () => {},
  };
  const submission = { ...(await submissionOf(bench, `kill-${at}`)), checkpoint: null };
  const outcome = await provider.submit(submission, events, new AbortController().signal);
  bench.unseen(`killed at ${where}`, outcome);
  const id = `kill/${at < 0 ? 'start' : `${at + 1}-${where.replaceAll('"', '')}`}`;
  const says = `killed at ${where}: ${wanted}${wanted === 'released' ? ' (not_sent)' : ''}`;
  const seen = wordsOf(outcome);
  if (!isKilled) return bench.promise(id, says, null, `not announced again: ${seen}`);
  bench.promise(id, says, outcome.outcome === wanted, seen);
  const group = port.liveness({ ...adapter!, pid: -adapter!.pid, started: '' });
  gone.add(`killed at ${where}`, group === 'gone' ? null : 'somebody of it is still there');
}
