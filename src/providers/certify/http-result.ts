import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ProvidedFile } from '../../model/protocol.ts';
import type { Provider } from '../provider.ts';
import type { Reply } from './fault-server.ts';
import { type Bench, type How, RESULT_BYTES } from './http-bench.ts';
import { goodResult, REF } from './http-free.ts';
import { endless, gzipped, half, hang, say, type Told, withoutEnd } from './replies.ts';
import { BYTES } from './specimen.ts';
import { answerFor, statusesOf } from './synthesis.ts';

/** How the result of a task comes home. Whatever goes wrong here, the task is paid, and is asked for again. */

const HTML: Told = { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Sorry</html>' };

interface Brought {
  files: ProvidedFile[] | 'expired' | null;
  what: string;
  code: string | null;
  dir: string;
  /** Of all that lies in `dir` afterwards. */
  bytes: number;
}

export async function tryResult(bench: Bench): Promise<void> {
  const { mapping, specimen } = bench;
  const shape = mapping.result?.result;
  if (shape === undefined) return;
  const { mime } = specimen;
  const film: Told = { status: 200, headers: { 'content-type': mime }, body: BYTES };

  async function bring(trial: string, reply: Reply, how: How = {}): Promise<Brought> {
    const dir = await bench.room();
    const op = (provider: Provider) => provider.fetch(bench.task(REF), dir);
    const { answer, error, what } = await bench.ask(`fetch: ${trial}`, reply, op, how);
    const names = await readdir(dir);
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(dir, name))).size));
    return { files: answer, what, code: error?.code ?? null, dir, bytes: sizes.reduce((sum, size) => sum + size, 0) };
  }
  const promise = async (
    id: string,
    says: string,
    reply: Reply,
    isRight: (brought: Brought) => boolean,
    how?: How,
  ): Promise<void> => {
    const brought = await bring(id, reply, how);
    bench.promise(`fetch/${id}`, says, isRight(brought), brought.what.replaceAll(brought.dir, '…'));
  };
  const isHome = ({ files, dir, bytes }: Brought): boolean =>
    Array.isArray(files) &&
    files.length > 0 &&
    bytes > 0 &&
    files.every(({ path }) => !relative(dir, path).startsWith('..'));
  const isNone = ({ files }: Brought): boolean => !Array.isArray(files);

  /** The answer tells an address; what is there is `file`. */
  const at =
    (address: string, file: Reply = say(film), pointer = addressed): Reply =>
    (socket, received, index) =>
      (received.path.startsWith('/certify-file/') ? file : say(specimen.result(pointer, address)))(
        socket,
        received,
        index,
      );
  const addressed = shape === 'bytes' ? undefined : shape.files?.[0];
  /** The bytes of the result, wherever they come from. */
  const bytes = (file: Reply): Reply => (shape === 'bytes' ? file : at(specimen.film, file));
  const isDownloaded = shape === 'bytes' || addressed !== undefined;

  for (const pointer of (shape !== 'bytes' && shape.files) || []) {
    await promise(
      `files${pointer.replaceAll('/', '.')}`,
      `a file that is told at ${pointer} comes home`,
      at(specimen.film, say(film), pointer),
      isHome,
    );
  }
  if (shape === 'bytes') {
    await promise('bytes', 'the bytes come home', say(film), isHome);
    await promise('empty', 'no bytes are no result', say({ ...film, body: '' }), isNone);
  } else {
    if (shape.base64)
      await promise(
        'base64',
        'a result in base64 comes home',
        say(specimen.result(shape.base64, BYTES.toString('base64'))),
        isHome,
      );
    if (shape.text) await promise('text', 'a text comes home', say(specimen.result(shape.text, 'certify')), isHome);
    await promise('nothing', 'an answer without a result is none', say(specimen.result()), isNone);
  }
  await tryAnswers();
  if (isDownloaded) await tryDownloads();
  if (addressed !== undefined) await tryAddresses();

  async function tryAnswers(): Promise<void> {
    for (const [index, when] of mapping.result!.expired.entries()) {
      const told = answerFor(when, statusesOf(when, [200])[0]!, specimen.result());
      const says = `its rule ${index + 1} for what has expired: expired`;
      if (!told) bench.promise(`fetch/expired-${index + 1}`, says, null, 'no answer could be made up');
      else await promise(`expired-${index + 1}`, says, say(told), ({ files }) => files === 'expired');
    }
    await promise(
      '404',
      'a task that is not found is no failure: expired, or none',
      say({ status: 404, body: {} }),
      isNone,
    );
    await promise(
      '401',
      'a credential that is not accepted says so',
      say({ status: 401, body: {} }),
      ({ code }) => code === 'CREDENTIAL_REFUSED',
    );
    await promise(
      '500',
      'a broken provider: unreachable',
      say({ status: 500, body: {} }),
      ({ code }) => code === 'PROVIDER_UNREACHABLE' || code === 'PROVIDER_PROTOCOL',
    );
    await promise('web-page', 'a web page is no result', say(HTML), isNone);
    await promise('silence', 'no answer in time: unreachable', hang, ({ code }) => code === 'PROVIDER_UNREACHABLE', {
      hasty: true,
    });
    if (mapping.result!.request && shape !== 'bytes') {
      await promise(
        'redirect',
        'the request for the result is never sent on',
        say({ ...goodResult(bench), status: 307, headers: { location: '/certify-file/x' } }),
        isNone,
      );
    }
  }

  async function tryDownloads(): Promise<void> {
    await promise('cut', 'a download that is cut is none', bytes(half(film)), isNone);
    await promise('cut-chunks', 'a download without its last chunk is none', bytes(withoutEnd(film)), isNone);
    await promise('stalled', 'a download that stops is given up in time', bytes(half(film, 'hang')), isNone, {
      hasty: true,
    });
    if (specimen.isMedia)
      await promise('html', `a web page in the place of a ${specimen.kind} is none`, bytes(say(HTML)), isNone);
    else
      bench.promise('fetch/html', 'a web page in the place of a film is none', null, `a ${specimen.kind} may be one`);
    await promise('compressed', 'compressed bytes that nobody asked for are none', bytes(say(gzipped(film))), isNone);
    await promise(
      'bomb',
      'more bytes than the limit are given up, and take no more room',
      bytes(endless({ status: 200, headers: { 'content-type': mime } })),
      (brought) => isNone(brought) && brought.bytes <= RESULT_BYTES,
    );
    for (const status of [403, 404, 410]) {
      if (shape === 'bytes' && status === 403) continue;
      await promise(
        `gone-${status}`,
        `${status} where the result was: expired`,
        bytes(say({ status })),
        ({ files }) => files === 'expired',
      );
    }
    await promise('broken', 'a 500 where the result was: none', bytes(say({ status: 500 })), isNone);
  }

  async function tryAddresses(): Promise<void> {
    await promise(
      'loop',
      'an address that only sends on is left',
      at(specimen.film, say({ status: 302, headers: { location: '/certify-file/again' } })),
      isNone,
    );
    await promise(
      'climbing',
      'a name that climbs out of its directory does not',
      at(specimen.file('..%2f..%2fcertify')),
      isHome,
    );
    // A mapping may take what is no address for a text; then that text is all that it has.
    const isUnread = (address: string) => (brought: Brought) =>
      isNone(brought) || (shape !== 'bytes' && shape!.text !== undefined && brought.bytes === address.length);
    for (const scheme of ['file:///etc/hostname', 'ftp://127.0.0.1/film', 'javascript:1']) {
      await promise(
        `scheme-${scheme.split(':')[0]}`,
        `${scheme} is no address of a result`,
        at(scheme),
        isUnread(scheme),
      );
    }
    await tryPrivate();
    await tryOthers();
  }

  /** Addresses of private networks, and of this machine but for the server that is named. */
  async function tryPrivate(): Promise<void> {
    const says = (address: string) => `nothing is fetched from ${address}`;
    const { port } = new URL(bench.other.origin);
    const places = [
      '10.0.0.1',
      '[::1]',
      '169.254.169.254',
      '[::ffff:10.0.0.1]',
      '0.0.0.0',
      '2130706433',
      'localhost',
      '127.0.0.1',
    ];
    const addresses = places.map((place) => [place, `http://${place}:${port}/film.mp4`] as const);
    if (mapping.allow_private) {
      bench.promise('fetch/private', 'nothing is fetched from a private address', null, 'the mapping allows it');
      return;
    }
    for (const [place, address] of addresses) {
      const { requests } = bench.other.play({ reply: say(film) });
      await promise(
        `private-${place}`,
        says(place),
        at(address),
        (brought) => isNone(brought) && requests.length === 0,
      );
    }
    const { requests } = bench.other.play({ reply: say(film) });
    const sentOn = say({ status: 302, headers: { location: addresses.at(-1)![1] } });
    await promise(
      'private-redirect',
      'nor where it is sent on to one',
      at(specimen.film, sentOn),
      (brought) => isNone(brought) && requests.length === 0,
    );
  }

  /** Another host, as it is on the Internet: reached, and told nothing. */
  async function tryOthers(): Promise<void> {
    const film2 = `${bench.other.origin}/film.mp4`;
    const sentOn = say({ status: 302, headers: { location: film2 } });
    for (const [id, says, reply] of [
      ['elsewhere', 'a result on another host', at(film2)],
      ['sent-elsewhere', 'a result that is sent on to another host', at(specimen.film, sentOn)],
    ] as const) {
      const { requests } = bench.other.play({ reply: say(film) });
      const brought = await bring(id, reply, { allowPrivate: true });
      const text = requests.map((request) => request.text).join('\n');
      const leak = bench.watch.leak(text) ?? (showsWho(text, mapping.auth) ? 'an Authorization' : null);
      const isRight = isHome(brought) && requests.length === 1 && leak === null;
      bench.promise(
        `fetch/${id}`,
        `${says} comes home, and that host is shown no credential`,
        isRight,
        leak === null ? brought.what.replaceAll(brought.dir, '…') : `it was shown ${leak}`,
      );
    }
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
