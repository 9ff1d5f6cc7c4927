import type { Mapping } from '../http/mapping.ts';
import { type Bench, RESULT_BYTES } from './http-bench.ts';
import { type Brought, Fetching, isExpired, isHome, isNone } from './http-fetching.ts';
import { goodResult } from './http-free.ts';
import { endless, gzipped, HTML, half, hang, say, withoutEnd } from './replies.ts';
import { BYTES } from './specimen.ts';
import { answerFor, statusesOf } from './synthesis.ts';

/** How the result of a task comes home. Whatever goes wrong here, the task is paid, and is asked for again. */
export async function tryResult(bench: Bench): Promise<void> {
  const mapped = bench.mapping.result;
  if (mapped === undefined) return;
  const fetching = new Fetching(bench, mapped.result);
  await tryShapes(fetching);
  await tryExpired(fetching, mapped);
  await tryAnswers(fetching);
  if (mapped.request && mapped.result !== 'bytes') await tryRedirect(fetching);
  if (mapped.result === 'bytes' || fetching.addressed !== undefined) {
    await tryDownloads(fetching);
    await tryGone(fetching);
  }
  if (fetching.addressed !== undefined) {
    await tryAddresses(fetching);
    await tryPrivate(fetching);
    await tryOthers(fetching);
  }
}

/** A result comes home in each shape in which the mapping may find it, and only where there is one. */
async function tryShapes(fetching: Fetching): Promise<void> {
  const { shape, film } = fetching;
  const { specimen } = fetching.bench;
  if (shape === 'bytes') {
    await fetching.promise('bytes', 'the bytes come home', say(film), isHome);
    await fetching.promise('empty', 'no bytes are no result', say({ ...film, body: '' }), isNone);
    return;
  }
  for (const pointer of shape.files ?? []) {
    const id = `files${pointer.replaceAll('/', '.')}`;
    const says = `a file that is told at ${pointer} comes home`;
    await fetching.promise(id, says, fetching.at(specimen.film, say(film), pointer), isHome);
  }
  if (shape.base64) {
    const told = specimen.result(shape.base64, BYTES.toString('base64'));
    await fetching.promise('base64', 'a result in base64 comes home', say(told), isHome);
  }
  if (shape.text) {
    await fetching.promise('text', 'a text comes home', say(specimen.result(shape.text, 'certify')), isHome);
  }
  await fetching.promise('nothing', 'an answer without a result is none', say(specimen.result()), isNone);
}

/** Each rule of the mapping for what has expired. */
async function tryExpired(fetching: Fetching, { expired }: NonNullable<Mapping['result']>): Promise<void> {
  const { bench } = fetching;
  for (const [index, when] of expired.entries()) {
    const told = answerFor(when, statusesOf(when, [200])[0]!, bench.specimen.result());
    const id = `expired-${index + 1}`;
    const says = `its rule ${index + 1} for what has expired: expired`;
    if (!told) bench.promise(`fetch/${id}`, says, null, 'no answer could be made up');
    else await fetching.promise(id, says, say(told), isExpired);
  }
}

/** Answers in the place of a result. */
async function tryAnswers(fetching: Fetching): Promise<void> {
  await fetching.promise(
    '404',
    'a task that is not found is no failure: expired, or none',
    say({ status: 404, body: {} }),
    isNone,
  );
  await fetching.promise(
    '401',
    'a credential that is not accepted says so',
    say({ status: 401, body: {} }),
    ({ code }) => code === 'CREDENTIAL_REFUSED',
  );
  await fetching.promise(
    '500',
    'a broken provider: unreachable',
    say({ status: 500, body: {} }),
    ({ code }) => code === 'PROVIDER_UNREACHABLE' || code === 'PROVIDER_PROTOCOL',
  );
  await fetching.promise('web-page', 'a web page is no result', say(HTML), isNone);
  await fetching.promise(
    'silence',
    'no answer in time: unreachable',
    hang,
    ({ code }) => code === 'PROVIDER_UNREACHABLE',
    { hasty: true },
  );
}

async function tryRedirect(fetching: Fetching): Promise<void> {
  const told = { ...goodResult(fetching.bench), status: 307, headers: { location: '/certify-file/x' } };
  await fetching.promise('redirect', 'the request for the result is never sent on', say(told), isNone);
}

/** Downloads that are not whole, not what they should be, or too much. */
async function tryDownloads(fetching: Fetching): Promise<void> {
  const { bench, film } = fetching;
  const { specimen } = bench;
  const promise = (id: string, says: string, file: Parameters<Fetching['bytes']>[0], how = {}) =>
    fetching.promise(id, says, fetching.bytes(file), isNone, how);
  await promise('cut', 'a download that is cut is none', half(film));
  await promise('cut-chunks', 'a download without its last chunk is none', withoutEnd(film));
  await promise('stalled', 'a download that stops is given up in time', half(film, 'hang'), { hasty: true });
  if (specimen.isMedia) await promise('html', `a web page in the place of a ${specimen.kind} is none`, say(HTML));
  else bench.promise('fetch/html', 'a web page in the place of a film is none', null, `a ${specimen.kind} may be one`);
  await promise('compressed', 'compressed bytes that nobody asked for are none', say(gzipped(film)));
  await fetching.promise(
    'bomb',
    'more bytes than the limit are given up, and take no more room',
    fetching.bytes(endless({ status: 200, headers: { 'content-type': specimen.mime } })),
    (brought) => isNone(brought) && brought.bytes <= RESULT_BYTES,
  );
}

/** What is no longer where it was, and what cannot be had just now. */
async function tryGone(fetching: Fetching): Promise<void> {
  for (const status of [403, 404, 410]) {
    if (fetching.shape === 'bytes' && status === 403) continue;
    const says = `${status} where the result was: expired`;
    await fetching.promise(`gone-${status}`, says, fetching.bytes(say({ status })), isExpired);
  }
  await fetching.promise('broken', 'a 500 where the result was: none', fetching.bytes(say({ status: 500 })), isNone);
}

/** Addresses that lead nowhere, out of their directory, or to what is no web at all. */
async function tryAddresses(fetching: Fetching): Promise<void> {
  const { shape } = fetching;
  const { specimen } = fetching.bench;
  const again = say({ status: 302, headers: { location: '/certify-file/again' } });
  await fetching.promise('loop', 'an address that only sends on is left', fetching.at(specimen.film, again), isNone);
  const climbing = fetching.at(specimen.file('..%2f..%2fcertify'));
  await fetching.promise('climbing', 'a name that climbs out of its directory does not', climbing, isHome);
  // A mapping may take what is no address for a text; then that text is all that it has.
  const isText = shape !== 'bytes' && shape.text !== undefined;
  for (const address of ['file:///etc/hostname', 'ftp://127.0.0.1/film', 'javascript:1']) {
    await fetching.promise(
      `scheme-${address.split(':')[0]}`,
      `${address} is no address of a result`,
      fetching.at(address),
      (brought) => isNone(brought) || (isText && brought.bytes === address.length),
    );
  }
}

const PRIVATE = [
  '10.0.0.1',
  '[::1]',
  '169.254.169.254',
  '[::ffff:10.0.0.1]',
  '0.0.0.0',
  '2130706433',
  'localhost',
  '127.0.0.1',
];

/** Addresses of private networks, and of this machine but for the server that is named. */
async function tryPrivate(fetching: Fetching): Promise<void> {
  const { bench, film } = fetching;
  const { mapping, other, specimen } = bench;
  if (mapping.allow_private) {
    bench.promise('fetch/private', 'nothing is fetched from a private address', null, 'the mapping allows it');
    return;
  }
  const at = (place: string): string => `http://${place}:${new URL(other.origin).port}/film.mp4`;
  for (const place of PRIVATE) {
    const { requests } = other.play({ reply: say(film) });
    const isUnasked = (brought: Brought): boolean => isNone(brought) && requests.length === 0;
    await fetching.promise(`private-${place}`, `nothing is fetched from ${place}`, fetching.at(at(place)), isUnasked);
  }
  const { requests } = other.play({ reply: say(film) });
  const sentOn = say({ status: 302, headers: { location: at(PRIVATE.at(-1)!) } });
  await fetching.promise(
    'private-redirect',
    'nor where it is sent on to one',
    fetching.at(specimen.film, sentOn),
    (brought) => isNone(brought) && requests.length === 0,
  );
}

/** Another host, as it is on the Internet: reached, and told nothing. */
async function tryOthers(fetching: Fetching): Promise<void> {
  const { bench, film } = fetching;
  const { mapping, other, specimen, watch } = bench;
  const elsewhere = `${other.origin}/film.mp4`;
  const sentOn = say({ status: 302, headers: { location: elsewhere } });
  for (const [id, says, reply] of [
    ['elsewhere', 'a result on another host', fetching.at(elsewhere)],
    ['sent-elsewhere', 'a result that is sent on to another host', fetching.at(specimen.film, sentOn)],
  ] as const) {
    const { requests } = other.play({ reply: say(film) });
    const brought = await fetching.bring(id, reply, { allowPrivate: true });
    const text = requests.map((request) => request.text).join('\n');
    const leak = watch.leak(text) ?? (showsWho(text, mapping.auth) ? 'an Authorization' : null);
    bench.promise(
      `fetch/${id}`,
      `${says} comes home, and that host is shown no credential`,
      isHome(brought) && requests.length === 1 && leak === null,
      leak === null ? brought.what : `it was shown ${leak}`,
    );
  }
}

/** A token that is signed for a request is none of the credentials, and opens the same door. */
const showsWho = (text: string, auth: Bench['mapping']['auth']): boolean => {
  const names = ['authorization', ...(auth.type === 'header' ? [auth.name] : [])];
  return (
    names.some((name) => new RegExp(`^${name}:`, 'im').test(text)) ||
    (auth.type === 'query' && text.includes(`${auth.name}=`))
  );
};
