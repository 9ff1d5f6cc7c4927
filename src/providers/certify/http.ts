import { tryBalance, tryCheck, tryCost } from './http-account.ts';
import { Bench, type HttpTrial } from './http-bench.ts';
import { tryLookup } from './http-lookup.ts';
import { tryResult } from './http-result.ts';
import { serving, tryAccepted, tryConnections, tryRules, tryStatuses, trySuccesses } from './http-submit.ts';
import { tryCancel, tryStatus } from './http-task.ts';
import { REF } from './made-up.ts';
import type { Promised } from './promised.ts';
import { HTML, say, type Told } from './replies.ts';
import { put } from './synthesis.ts';

/** What is tried, in this order, once a submission was seen to be accepted. */
const PARTS = {
  connections: tryConnections,
  successes: trySuccesses,
  table: tryStatuses,
  rules: tryRules,
  status: tryStatus,
  fetch: tryResult,
  lookup: tryLookup,
  cancel: tryCancel,
  cost: tryCost,
  balance: tryBalance,
  check: tryCheck,
  secrets: tryQuotes,
};
type Part = keyof typeof PARTS;

/**
 * Tries an HTTP provider against a server on this machine that stands in the place of all servers of its mapping, with
 * made-up credentials. Free: nothing leaves the machine. `parts`: all that is tried beside one submission.
 */
export async function certifyHttp(trial: HttpTrial, parts = Object.keys(PARTS) as Part[]): Promise<Promised[]> {
  const bench = await Bench.open(trial);
  try {
    if (await tryAccepted(bench)) for (const part of parts) await PARTS[part](bench);
    return bench.promised();
  } finally {
    await bench.close();
  }
}

/** A provider that quotes the credential in all that it says. */
async function tryQuotes(bench: Bench): Promise<void> {
  const { mapping, specimen, watch } = bench;
  if (mapping.credentials.length === 0) return;
  const quote = watch.quote();
  const quoting = ({ body, ...told }: Told): Told => {
    const said = mapping.message.reduce<unknown>((whole, pointer) => put(whole, pointer, quote), body ?? {});
    return {
      ...told,
      headers: { ...told.headers, 'x-request-id': watch.quoteInHeader(), 'retry-after': watch.quoteInHeader() },
      body: put(said, '/certify', quote),
    };
  };
  const answers: Told[] = [
    ...[400, 401, 403, 409, 429, 500, 302].map((status) => ({ status, body: {} })),
    { status: 200, body: {} },
    ...(mapping.submit.result === 'bytes' ? [] : [specimen.accepted(REF), keeping(bench)]),
  ];
  for (const told of answers) await bench.submit(`${told.status} that quotes it`, serving(bench, say(quoting(told))));
  const page = { ...HTML, body: `<html>${quote}</html>` };
  await bench.submit('a web page that quotes it', say(page));
  for (const told of [...answers, page]) {
    const reply = say(typeof told.body === 'string' ? told : quoting(told));
    const trial = `a free ${told.status} that quotes it`;
    const task = bench.task(REF);
    if (mapping.status) {
      await bench.ask(trial, reply, (provider) => provider.status(task));
      const dir = await bench.room();
      await bench.ask(trial, reply, (provider) => provider.fetch(task, dir));
    }
    await bench.ask(trial, reply, async (provider) => provider.cancel?.(task) ?? null);
    await bench.ask(trial, reply, async (provider) => provider.cost?.(task) ?? null);
    await bench.ask(trial, reply, async (provider) => provider.lookup?.(bench.lost(specimen.intent())) ?? null);
    await bench.ask(trial, reply, async (provider) => provider.check?.() ?? null);
    await bench.ask(trial, reply, async (provider) => provider.balance?.() ?? null);
  }
  if (mapping.status) {
    const word = say({ status: 200, body: put({}, mapping.status.state, quote) });
    await bench.ask('a state that quotes it', word, (provider) => provider.status(bench.task(REF)));
  }
}

/** Addresses to remember, with the credential in them. */
function keeping({ mapping, specimen, watch, own }: Bench): Told {
  const told = specimen.accepted(REF);
  const address = `${own.origin}/kept?key=${watch.quoteInHeader()}`;
  return { ...told, body: Object.values(mapping.submit.keep).reduce((body, at) => put(body, at, address), told.body) };
}
