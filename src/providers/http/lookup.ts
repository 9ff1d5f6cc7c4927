import { providerProtocol } from '../../errors.ts';
import type { Lookup } from '../../model/protocol.ts';
import type { Lost } from '../provider.ts';
import { type Answer, isExactNumber, looksLike } from './answer.ts';
import { type Client, refuseNo, restOf } from './client.ts';
import type { Mapping } from './mapping.ts';
import { isMatch } from './match.ts';
import { find } from './pointer.ts';
import { paramsIn, type Values } from './template.ts';

type Mapped = NonNullable<Mapping['lookup']>;

/** Two clocks may differ that much: what is older than that before the claim is not ours. */
const SKEW_MS = 5 * 60_000;
/** A submission ends long before: what was made later is another's. */
const LONGEST_SEND_MS = 60 * 60_000;

/** The time in which a lost submission can have been accepted, as requests name it. */
export function windowOf(claimedAt: string) {
  const from = Date.parse(claimedAt) - SKEW_MS;
  const to = Date.parse(claimedAt) + LONGEST_SEND_MS;
  return {
    from,
    to,
    start: new Date(from).toISOString(),
    end: new Date(to).toISOString(),
    start_seconds: Math.floor(from / 1000),
    end_seconds: Math.ceil(to / 1000),
  };
}

/** Asks a provider for a submission whose answer was lost. Free; proves as much as the mapping says. */
export async function lookup(client: Client, lost: Lost, values: Values): Promise<Lookup> {
  const mapped = client.mapping.lookup!;
  return mapped.list ? inList(client, mapped, lost, values) : single(client, mapped, values);
}

async function single(client: Client, mapped: Mapped, values: Values): Promise<Lookup> {
  const answer = await client.ask('lookup', mapped.request, values);
  if (mapped.absent.some((when) => looksLike(answer, when)) || answer.status === 404) return absent(true);
  refuseNo(client, 'lookup', answer);
  // Only what the mapping takes for absence is one: a web page is neither a task nor the lack of one.
  if (find(answer.json, mapped.ref).length === 0)
    throw providerProtocol(client.name, 'lookup', 'it says neither a task nor that there is none');
  return verdictOn(client, mapped, [answer.json], values, true);
}

async function inList(client: Client, mapped: Mapped, lost: Lost, values: Values): Promise<Lookup> {
  const list = mapped.list!;
  const { from, to } = windowOf(lost.claimed_at);
  const items: unknown[] = [];
  let page: string | undefined;
  let complete = false;
  const pages = new Set<string | undefined>();
  // A page that comes again is no way on.
  for (let read = 0; read < list.pages && !complete && !pages.has(page); read += 1) {
    pages.add(page);
    const isAddress = page !== undefined && URL.canParse(page);
    const request = isAddress ? { ...mapped.request, kept: 'page' } : mapped.request;
    const answer = await client.ask('lookup', request, isAddress ? { ...values, kept: { page } } : { ...values, page });
    refuseNo(client, 'lookup', answer);
    const found = itemsIn(client, answer, list.items);
    const times = found.map((item) => timeOf(item, list.made_at));
    items.push(...found.filter((_, index) => times[index] === null || (times[index]! >= from && times[index]! <= to)));
    const isBeyond = list.newest_first && times.some((time) => time !== null && time < from);
    page = nextPage(answer, list.next);
    complete = page === undefined || isBeyond;
  }
  return verdictOn(client, mapped, items, values, complete);
}

/** Nothing is absent from what is no list. Throws `PROVIDER_PROTOCOL` (76). */
function itemsIn(client: Client, { json }: Answer, pointer: string): unknown[] {
  const lists = find(json, pointer.split('/*')[0]!);
  if (lists.length === 0 || lists.some((list) => typeof list !== 'object' || list === null))
    throw providerProtocol(client.name, 'lookup', 'it answered no list where its mapping looks for one');
  return find(json, pointer).flat();
}

/** A cursor; of a whole address what it asks for. */
function nextPage({ json }: Answer, pointer: string | undefined): string | undefined {
  const next = pointer === undefined ? undefined : find(json, pointer)[0];
  if (typeof next === 'number') return String(next);
  if (typeof next !== 'string' || next === '') return undefined;
  return next;
}

/** A number this large is milliseconds: as seconds it would be after the year 5000. */
const FIRST_MS = 1e11;

function timeOf(item: unknown, pointer: string | undefined): number | null {
  const at = pointer === undefined ? undefined : find(item, pointer)[0];
  const ms =
    typeof at === 'number' ? (at > FIRST_MS ? at : 1000 * at) : typeof at === 'string' ? Date.parse(at) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

function verdictOn(
  client: Client,
  mapped: Mapped,
  items: readonly unknown[],
  values: Values,
  complete: boolean,
): Lookup {
  const rest = restOf(values, paramsIn(client.mapping.submit.request));
  const holds = (item: unknown, matchings: Mapped['match']): boolean =>
    matchings.every((matching) => isMatch(item, matching, values, rest));
  const candidates = items.flatMap((item) => {
    const ref = find(item, mapped.ref)[0];
    if ((typeof ref !== 'string' && !isExactNumber(ref)) || !holds(item, mapped.match)) return [];
    // Of a list only what says so itself is ours; a single answer was asked for by our own reference.
    const isExact = holds(item, mapped.exact) && (mapped.list === undefined || mapped.exact.length > 0);
    return [{ ref: String(ref), match: isExact ? ('exact' as const) : ('probable' as const) }];
  });
  // Lists move on between two pages, and show an item on both.
  const once = [...new Map(candidates.map((candidate) => [candidate.ref, candidate])).values()];
  const exact = once.filter(({ match }) => match === 'exact');
  if (exact.length === 1) return { found: 'present', refs: exact, complete };
  if (once.length > 0) return { found: 'ambiguous', refs: exact.length > 0 ? exact : once, complete };
  return absent(complete);
}

const absent = (complete: boolean): Lookup => ({ found: 'absent', refs: [], complete });
