import type { Provider } from '../provider.ts';
import type { Reply } from './fault-server.ts';
import type { Bench } from './http-bench.ts';
import { anything, expect, failures, goodResult } from './http-free.ts';
import { REF } from './made-up.ts';
import { HTML, say, type Told } from './replies.ts';
import { answerFor, statusesOf } from './synthesis.ts';

/** What is asked about an accepted task, and that it is asked to stop. */

export async function tryStatus(bench: Bench): Promise<void> {
  const { specimen, mapping } = bench;
  const mapped = mapping.status;
  if (!mapped) return;
  const ask = (provider: Provider) => provider.status(bench.task(REF));
  // Where done is only told by the result, that is asked for next.
  const first =
    (told: Told): Reply =>
    (socket, received, index) =>
      say(index === 0 ? told : goodResult(bench))(socket, received, index);

  for (const [word, state] of Object.entries(mapped.states)) {
    await expect(
      bench,
      `status/word-${word}`,
      `"${word}" is ${state}`,
      first(specimen.status(word)),
      ask,
      (told) => told.state === state,
    );
  }
  for (const [index, { when, state }] of mapped.when.entries()) {
    for (const status of statusesOf(when, [200]).slice(0, 1)) {
      const told = answerFor(when, status);
      if (!told)
        bench.promise(
          `status/rule-${index + 1}`,
          `its rule ${index + 1}: ${state}`,
          null,
          'no answer could be made up',
        );
      else
        await expect(
          bench,
          `status/rule-${index + 1}`,
          `its rule ${index + 1}: ${state}`,
          first(told),
          ask,
          (seen) => seen.state === state,
        );
    }
  }
  for (const [id, word, says] of [
    ['unknown-word', 'certify-no-such-state', 'a word that is in no "states"'],
    ['constructor', 'constructor', 'the word "constructor"'],
    ['number', 1, 'a number in the place of the word'],
    ['no-word', undefined, 'an answer without the word'],
  ] as const) {
    await expect(
      bench,
      `status/${id}`,
      `${says} is an error, never a guess`,
      first(specimen.status(word)),
      ask,
      'PROVIDER_PROTOCOL',
    );
  }
  await expect(bench, 'status/html', 'a web page is no status', say(HTML), ask, 'PROVIDER_PROTOCOL');
  for (const status of [404, 410]) {
    await expect(
      bench,
      `status/${status}`,
      `${status} is never a failure of the task`,
      say({ status, body: {} }),
      ask,
      ({ state }) => state === 'not_found',
    );
  }
  if (mapped.progress && specimen.done !== undefined) {
    await expect(
      bench,
      'status/progress',
      'progress is a part of 1',
      first(specimen.status(specimen.done)),
      ask,
      ({ progress }) => progress === 0.5,
    );
  }
  if (mapped.ask_result && specimen.done !== undefined) await tryFailedResults(bench, ask);
  await failures(bench, 'status', ask, anything);
}

/** `done` is also said of failures, and only the result tells. */
async function tryFailedResults(
  bench: Bench,
  ask: (provider: Provider) => ReturnType<Provider['status']>,
): Promise<void> {
  const done = bench.specimen.status(bench.specimen.done);
  for (const [index, { when }] of bench.mapping.result!.failed.entries()) {
    const told = answerFor(when, statusesOf(when, [200])[0]!);
    const id = `status/failed-${index + 1}`;
    const says = `done, and a result as its rule ${index + 1} for failures: error`;
    const reply: Reply = (socket, received, at) => say(at === 0 ? done : told!)(socket, received, at);
    if (!told) bench.promise(id, says, null, 'no answer could be made up');
    else await expect(bench, id, says, reply, ask, ({ state }) => state === 'error');
  }
}

export async function tryCancel(bench: Bench): Promise<void> {
  const mapped = bench.mapping.cancel;
  if (!mapped) return;
  const ask = (provider: Provider) => provider.cancel!(bench.task(REF));
  const { specimen } = bench;
  const words = Object.entries(bench.mapping.status?.states ?? {});
  const going = words.find(([, state]) => state === 'running' || state === 'queued')?.[0];
  // Whether it still runs is looked at first.
  const looks = bench.mapping.status?.ask_result ? 2 : 1;
  const then =
    (told: Told): Reply =>
    (socket, received, index) =>
      say(index === 0 ? specimen.status(going) : told)(socket, received, index);
  for (const [index, { when, state, definite }] of mapped.when.entries()) {
    const told = answerFor(when, statusesOf(when, [200])[0]!);
    const id = `cancel/rule-${index + 1}`;
    const says = `its rule ${index + 1}: ${state}, ${definite ? 'for sure' : 'as asked'}`;
    if (!told) bench.promise(id, says, null, 'no answer could be made up');
    else await expect(bench, id, says, then(told), ask, (seen) => seen.state === state && seen.definite === definite);
  }
  await expect(
    bench,
    'cancel/requested',
    'requested is not canceled',
    then({ status: 202, body: { certify: 'will do' } }),
    ask,
    ({ definite }) => !definite,
  );
  await expect(
    bench,
    'cancel/404',
    '404 proves nothing about the task',
    then({ status: 404, body: {} }),
    ask,
    ({ definite }) => !definite,
  );
  await expect(
    bench,
    'cancel/done',
    'a task that is done is left as it is',
    (socket, received, index) =>
      say(index === 0 ? specimen.status(specimen.done) : goodResult(bench))(socket, received, index),
    ask,
    ({ state, definite }, { requests }) => definite && state === 'done' && requests.length === looks,
  );
  await failures(bench, 'cancel', ask, anything);
}
