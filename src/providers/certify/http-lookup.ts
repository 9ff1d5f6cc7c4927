import type { Lookup } from '../../model/protocol.ts';
import { find } from '../http/pointer.ts';
import type { Provider } from '../provider.ts';
import type { Reply } from './fault-server.ts';
import type { Bench } from './http-bench.ts';
import { expect, failures } from './http-free.ts';
import { HTML, say, type Told } from './replies.ts';
import { answerFor, put, statusesOf } from './synthesis.ts';

/** Finding a submission whose answer was lost: nothing is adopted that is not ours, and nothing is absent unless it is seen to be. */

const provesAbsence = ({ found, complete }: Lookup): boolean => found === 'absent' && complete === true;
/** Where our own reference is the task's, that is what it says. */
const isPresent = ({ found, refs = [] }: Lookup, pointer: string, item: unknown): boolean =>
  found === 'present' && refs.length === 1 && refs[0]!.ref === find(item, pointer)[0] && refs[0]!.match !== 'probable';

export async function tryLookup(bench: Bench): Promise<void> {
  const { mapping, specimen } = bench;
  const mapped = mapping.lookup;
  if (!mapped) return;
  const ours = specimen.intent();
  const theirs = specimen.intent();
  const madeAt = new Date(bench.now()).toISOString();
  const ask = (provider: Provider) => provider.lookup!(bench.lost(ours));
  const our = (ref: string, marks = { match: true, exact: true }) => specimen.item(ref, ours, marks, madeAt);
  const other = specimen.item(
    'certify-other',
    { ...theirs, params: others(theirs.params) },
    { match: true, exact: true },
    madeAt,
  );
  const proves = mapping.capabilities.lookup?.proves;

  const told = (...items: unknown[]): Told => ({
    status: 200,
    body: mapped.list ? listOf(mapped.list.items, items) : items[0],
  });
  const promise = (id: string, says: string, reply: Reply, wanted: Parameters<typeof expect<Lookup>>[5]) =>
    expect(bench, `lookup/${id}`, says, reply, ask, wanted);

  if (proves?.present !== false) {
    await promise('ours', 'what is ours is present, by what proves it', say(told(our('certify-ours'))), (found) =>
      isPresent(found, mapped!.ref, our('certify-ours')),
    );
  }
  await promise(
    'another',
    'what is somebody else’s is not adopted',
    say(told(other)),
    ({ found }) => found !== 'present',
  );
  await promise(
    'likely',
    'what is only like ours is not adopted',
    say(told(our('certify-like', { match: true, exact: false }))),
    ({ found }) => found !== 'present' || (!mapped.list && mapped.exact.length === 0),
  );
  if (mapped.list) {
    await promise(
      'two',
      'two that are ours are ambiguous',
      say(told(our('certify-1'), our('certify-2'))),
      ({ found }) => found === 'ambiguous',
    );
    await promise('nothing', 'an empty list: absent', say(told()), provesAbsence);
    await tryPages();
  } else {
    await promise('404', 'not found: absent', say({ status: 404, body: {} }), provesAbsence);
  }
  for (const [index, when] of mapped.absent.entries()) {
    const none = answerFor(when, statusesOf(when, [200])[0]!);
    const says = `its rule ${index + 1} for absence: absent`;
    if (!none) bench.promise(`lookup/absent-${index + 1}`, says, null, 'no answer could be made up');
    else await promise(`absent-${index + 1}`, says, say(none), provesAbsence);
  }
  await tryNoProof();
  await failures(bench, 'lookup', ask, (found) => (provesAbsence(found) ? 'it takes that for absence' : null));

  /** What looks like nothing and is no proof of it. */
  async function tryNoProof(): Promise<void> {
    const answers: [string, Told][] = [
      ['a web page', HTML],
      ['an empty answer', { status: 200 }],
      ['other JSON', { status: 200, body: { certify: 'hello' } }],
      ['null', { status: 200, body: 'null', headers: { 'content-type': 'application/json' } }],
      ...(mapped!.list
        ? [
            ['null for a list', { status: 200, body: put({}, mapped!.list.items.replace(/\/\*$/, ''), null) }] as [
              string,
              Told,
            ],
          ]
        : []),
    ];
    const wrong: string[] = [];
    for (const [what, answer] of answers) {
      const asked = await bench.ask(`lookup: ${what}`, say(answer), ask);
      const { found } = asked.answer ?? {};
      if (found === 'present' || (asked.answer && provesAbsence(asked.answer))) wrong.push(`${what}: ${asked.what}`);
    }
    const seen = wrong.join('; ') || answers.map(([what]) => what).join(', ');
    bench.promise('lookup/no-proof', 'an answer that is no list, or no task, proves nothing', wrong.length === 0, seen);
  }

  async function tryPages(): Promise<void> {
    const { next, pages } = mapped!.list!;
    if (next === undefined) return;
    const page = (items: unknown[], cursor?: string): Told => {
      const { status, body } = told(...items);
      return { status, body: cursor === undefined ? body : put(body, next, cursor) };
    };
    const onSecond: Reply = (socket, received, index) =>
      say(index === 0 ? page([other], 'certify-page-2') : page([our('certify-ours')]))(socket, received, index);
    if (proves?.present !== false)
      await promise('second-page', 'what is ours is found on the second page', onSecond, (found) =>
        isPresent(found, mapped!.ref, our('certify-ours')),
      );
    const endless: Reply = (socket, received, index) =>
      say(page([other], `certify-page-${index + 2}`))(socket, received, index);
    await promise(
      'endless',
      `a list without end is left after ${pages} pages, and proves nothing`,
      endless,
      (found, { requests }) => found.found !== 'present' && !provesAbsence(found) && requests.length <= pages,
    );
    const brokenLater: Reply = (socket, received, index) =>
      say(index === 0 ? page([], 'certify-page-2') : { status: 500, body: {} })(socket, received, index);
    await promise('broken-page', 'a second page that fails: unreachable', brokenLater, 'PROVIDER_UNREACHABLE');
    const elsewhere: Reply = (socket, received, index) =>
      say(index === 0 ? page([], `${bench.other.origin}/next`) : page([]))(socket, received, index);
    const { requests } = bench.other.play({ reply: say(page([])) });
    await bench.ask('lookup: a next page elsewhere', elsewhere, ask, { allowPrivate: true });
    const leak = bench.watch.leak(requests.map(({ text }) => text).join('\n'));
    bench.promise(
      'lookup/next-elsewhere',
      'a next page on another host is shown no credential',
      leak === null && requests.length === 0,
      `${requests.length} requests there`,
    );
  }
}

/** Values that nobody else asked for. */
const others = (params: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.keys(params).map((name) => [name, 'certify/somebody-else']));

const listOf = (pointer: string, items: readonly unknown[]): unknown => {
  const at = pointer.replace(/\/\*$/, '');
  return put({}, at, items);
};
