import { looksLike } from '../http/answer.ts';
import { closedOrigin, type Reply } from './fault-server.ts';
import type { Bench, How, Submitted } from './http-bench.ts';
import { REF } from './made-up.ts';
import {
  cutHead,
  endless,
  gzipped,
  HTML,
  half,
  hang,
  hangUp,
  inARow,
  raw,
  reset,
  say,
  type Told,
  withoutEnd,
} from './replies.ts';
import { answerFor, asAnswer, statusesOf } from './synthesis.ts';

/** A submission and everything that can go wrong with it (DESIGN 7, the table of outcomes). */

/** What becomes of an answer that is cut off: a result that can be asked for again is accepted as soon as its head says so. */
const cutMeans = ({ mapping: { submit, status } }: Bench): string =>
  submit.result === 'bytes' && typeof submit.ref === 'object' && status ? 'accepted' : 'unknown';

/** What a success is that holds nothing: under a reference of our own its head alone says so. */
const emptyMeans = (bench: Bench): string => {
  const { ref } = bench.mapping.submit;
  return typeof ref === 'object' && 'text' in ref ? cutMeans(bench) : 'unknown';
};

/** What a whole success is. */
const successOf = ({ mapping }: Bench): string => (mapping.submit.result === undefined ? 'accepted' : 'completed');

/** One trial is one promise: the outcome it must have, and how many requests may have arrived. */
async function expect(
  bench: Bench,
  id: string,
  says: string,
  reply: Reply,
  wanted: string,
  how: How & { arrived?: number } = {},
): Promise<Submitted> {
  const seen = await bench.submit(id, serving(bench, reply), how);
  const arrived = seen.requests.filter(({ path }) => !isFile(path)).length;
  const isRight = seen.outcome?.outcome === wanted && (how.arrived === undefined || arrived === how.arrived);
  bench.promise(`submit/${id}`, `${says}: ${wanted}`, isRight, `${seen.what}, ${arrived} arrived`);
  return seen;
}

const isFile = (path: string): boolean => path.startsWith('/certify-file/');

/** Results lie beside the answers. */
export const serving =
  ({ specimen: { mime } }: Bench, reply: Reply): Reply =>
  (socket, received, index) =>
    isFile(received.path)
      ? say({ status: 200, headers: { 'content-type': mime }, body: 'certify' })(socket, received, index)
      : reply(socket, received, index);

/** `false` when nothing of the rest can be tried. */
export async function tryAccepted(bench: Bench): Promise<boolean> {
  const { specimen, mapping } = bench;
  const wanted = successOf(bench);
  const { accepted, outcome, requests, what } = await expect(
    bench,
    'accepted',
    'a success as the mapping describes it',
    say(specimen.accepted(REF)),
    wanted,
  );
  const { ref } = mapping.submit;
  const isGiven = ref !== undefined && !(typeof ref === 'object' && 'text' in ref);
  if (outcome?.outcome === 'accepted') {
    bench.promise(
      'submit/reference',
      'the reference is the one that was given, and announced before the outcome',
      accepted[0] === outcome.ref && (!isGiven || outcome.ref === REF),
      `${outcome.ref}, announced ${accepted.join(', ') || 'none'}`,
    );
    const again = await bench.submit('reference of another', say(specimen.accepted(`${REF}-2`)));
    const other = again.outcome?.outcome === 'accepted' ? again.outcome.ref : null;
    bench.promise(
      'submit/reference-once',
      'two submissions never get one reference',
      other !== null && other !== outcome.ref,
      `${outcome.ref} and ${other ?? again.what}`,
    );
  }
  if (requests.length > 0) return true;
  bench.promise('submit/sends', 'a request can be made of "required" and what it names', false, what);
  return false;
}

export async function tryConnections(bench: Bench): Promise<void> {
  const success = bench.specimen.accepted(REF);
  const dead = bench.at(await closedOrigin());
  // 63 characters is the most that DNS takes: nobody has to be asked for it.
  const nameless = bench.at(`http://${'certify'.repeat(10)}.invalid`);
  const secure = bench.at(bench.own.origin.replace('http:', 'https:'));
  const nothing = { arrived: 0 };
  await expect(bench, 'refused', 'the connection is refused', hang, 'released', { ...nothing, servers: dead });
  await expect(bench, 'no-name', 'the name is not found', hang, 'released', { ...nothing, servers: nameless });
  await expect(bench, 'no-tls', 'TLS cannot be agreed on', hang, 'released', {
    ...nothing,
    servers: secure,
    scene: { atConnect: (socket) => void socket.end('this is no TLS\r\n\r\n') },
  });
  bench.promise(
    'submit/connect-timeout',
    'no connection in time: released',
    null,
    'it takes a network that swallows packets',
  );
  await expect(bench, 'reset-unread', 'it is reset before it is read', hang, 'unknown', {
    scene: { atConnect: (socket) => void socket.once('data', () => socket.resetAndDestroy()) },
  });
  const cut = cutMeans(bench);
  await expect(bench, 'reset', 'it is reset after it was read', reset, 'unknown', { arrived: 1 });
  await expect(bench, 'hung-up', 'it is hung up on without an answer', hangUp, 'unknown', { arrived: 1 });
  await expect(bench, 'silence', 'there is no answer in time', hang, 'unknown', { arrived: 1, hasty: true });
  await expect(bench, 'stalled', 'the answer stops half-way', half(success, 'hang'), cut, { arrived: 1, hasty: true });
  await expect(bench, 'cut-head', 'the head of the answer is cut', cutHead(success), 'unknown', { arrived: 1 });
  await expect(bench, 'cut-body', 'the body is shorter than it says', half(success), cut, { arrived: 1 });
  await expect(bench, 'cut-chunks', 'the last chunk is missing', withoutEnd(success), cut, { arrived: 1 });
  await expect(bench, 'cut-refusal', 'a refusal is cut', half(REFUSAL), 'unknown', { arrived: 1 });
  await expect(bench, 'garbage', 'the answer is no HTTP', raw('\u0000\u0001 garbage\r\n\r\n'), 'unknown', {
    arrived: 1,
  });
  await expect(bench, 'upgrade', 'the protocol is changed', raw(UPGRADE), 'unknown', { arrived: 1 });
  await expect(
    bench,
    'two-answers',
    'a second answer follows the first, and does not count',
    inARow(success, REFUSAL),
    successOf(bench),
    { arrived: 1 },
  );
  await expect(
    bench,
    'early-hints',
    'an interim answer (1xx) comes first',
    inARow({ status: 103 }, success),
    successOf(bench),
  );
}

const REFUSAL: Told = { status: 400, body: { certify: 'refused, at some length' } };
const UPGRADE = 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: certify\r\n\r\n';

/** Successes that are none. */
export async function trySuccesses(bench: Bench): Promise<void> {
  const { specimen, mapping } = bench;
  const isTask = mapping.submit.result === undefined;
  const json = (body: unknown): Told => ({ status: 200, body });
  const empty = emptyMeans(bench);
  await expect(bench, 'html', 'a success that is a web page', say(HTML), 'unknown');
  await expect(bench, 'empty', 'a success without a body', say({ status: 200 }), empty);
  await expect(bench, 'no-content', 'a success with status 204', say({ status: 204 }), empty);
  await expect(bench, 'no-json', 'a success whose JSON breaks off', say(broken(specimen.accepted(REF))), 'unknown');
  await expect(bench, 'other-json', 'a success that says something else', say(json({ certify: 'hello' })), 'unknown');
  await expect(bench, 'enormous', 'a success that never ends', endless(HTML), 'unknown');
  if (isTask && typeof mapping.submit.ref === 'string') {
    for (const [id, value] of [
      ['null', null],
      ['empty', ''],
      ['object', { certify: true }],
      ['beyond-2-53', 2 ** 53 + 2],
    ] as const) {
      await expect(
        bench,
        `ref-${id}`,
        `a reference that cannot be one (${id})`,
        say(specimen.accepted(value)),
        'unknown',
      );
    }
    await expect(bench, 'ref-number', 'a reference that is a number', say(specimen.accepted(4711)), 'accepted');
    await expect(bench, 'no-ref', 'a success without a reference', say(specimen.accepted(REF, false)), 'unknown');
    await expect(
      bench,
      'compressed',
      'a success in a form nobody asked for',
      say(gzipped(specimen.accepted(REF))),
      'unknown',
    );
  }
}

const broken = ({ body, ...told }: Told): Told => {
  const text = Buffer.isBuffer(body) ? '{"certify":' : (JSON.stringify(body) ?? '{}').slice(0, -1);
  return { ...told, headers: { 'content-type': 'application/json' }, body: text };
};

const RELEASED = [400, 401, 402, 403, 404, 405, 410, 413, 414, 415, 422, 431, 451];
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** The whole table of statuses, each with a body that says nothing. */
export async function tryStatuses(bench: Bench): Promise<void> {
  const rows: [string, string, number[], string][] = [
    ['released', 'a clean 400 401 402 403 404 405 410 413 414 415 422 431 451', RELEASED, 'released'],
    [
      'other-4xx',
      'any other 4xx but 429',
      range(400, 499).filter((one) => !RELEASED.includes(one) && one !== 429),
      'unknown',
    ],
    ['5xx', 'any 5xx, and what is beyond', [...range(500, 530), 599, 600, 999], 'unknown'],
    ['3xx', 'any 3xx, never followed', range(300, 308), 'unknown'],
  ];
  for (const [id, says, statuses, wanted] of rows) {
    const wrong: string[] = [];
    for (const status of statuses) {
      const headers = { location: '/certify-redirect', 'retry-after': '30' };
      const { outcome, what, requests } = await bench.submit(`status ${status}`, say({ status, headers, body: {} }));
      const isRight = outcome?.outcome === wanted && requests.length === 1;
      if (!isRight) wrong.push(`${status}: ${what}${requests.length === 1 ? '' : `, ${requests.length} arrived`}`);
    }
    const seen = wrong.length > 0 ? wrong.slice(0, 8).join('; ') : `${statuses.length} statuses`;
    bench.promise(`table/${id}`, `${says}: ${wanted}`, wrong.length === 0, seen);
  }
  await try429(bench);
  await tryBroken(bench);
}

/** Nothing was done only where the mapping says that the provider says so. */
async function try429(bench: Bench): Promise<void> {
  const told = { status: 429, headers: { 'retry-after': '30' }, body: {} };
  const rule = bench.mapping.submit.refused.find(({ when }) => looksLike(asAnswer(told), when));
  const { outcome, what } = await bench.submit('status 429', say(told));
  const isRight =
    outcome?.outcome === 'released' ? rule?.reason === outcome.reason : !rule && outcome?.outcome === 'unknown';
  const says = rule ? `429, which it documents as not processed: released (${rule.reason})` : '429: unknown';
  bench.promise('table/429', says, isRight, what);
}

/** A server that broke may have done it before. */
async function tryBroken(bench: Bench): Promise<void> {
  const { specimen, mapping } = bench;
  const bodies = [specimen.accepted(REF), ...mapping.submit.refused.map(({ when }) => answerFor(when, 400))];
  const wrong: string[] = [];
  for (const told of bodies) {
    if (!told) continue;
    const { outcome, what } = await bench.submit('status 503, whatever it says', say({ ...told, status: 503 }));
    if (outcome?.outcome !== 'unknown') wrong.push(what);
  }
  bench.promise(
    'table/5xx-says',
    'a 5xx that says otherwise: unknown',
    wrong.length === 0,
    wrong.join('; ') || 'unknown',
  );
}

/** Each rule of the mapping, as it wants an answer to look. */
export async function tryRules(bench: Bench): Promise<void> {
  for (const [index, { when, reason, billable }] of bench.mapping.submit.refused.entries()) {
    const id = `rules/${index + 1}-${reason}`;
    const says = `its rule ${index + 1}: released (${reason}), billable ${billable}`;
    const tried: string[] = [];
    const wrong: string[] = [];
    for (const status of statusesOf(when, [200, 400, 403, 429])) {
      const told = answerFor(when, status);
      if (!told) continue;
      const { outcome, what } = await bench.submit(`rule ${index + 1}`, say(told));
      tried.push(String(status));
      const isRight = outcome?.outcome === 'released' && outcome.reason === reason && outcome.billable === billable;
      if (!isRight) wrong.push(`${status}: ${what}`);
    }
    if (tried.length === 0) bench.promise(id, says, null, 'no answer could be made up that its pattern fits');
    else bench.promise(id, says, wrong.length === 0, wrong.join('; ') || `status ${tried.join(', ')}`);
  }
}
