import type { Code } from '../../errors.ts';
import type { Provider } from '../provider.ts';
import type { Reply } from './fault-server.ts';
import type { Asked, Bench, How } from './http-bench.ts';
import { half, hang, reset, say, type Told, withoutEnd } from './replies.ts';

/** How free requests are tried. */

/** One promise: an error of that code, or an answer that `fits`. */
export async function expect<T>(
  bench: Bench,
  id: string,
  says: string,
  reply: Reply,
  op: (provider: Provider) => Promise<T>,
  wanted: Code | ((answer: T, asked: Asked<T>) => boolean),
  how: How = {},
): Promise<void> {
  const asked = await bench.ask(id, reply, op, how);
  const { answer, error, what } = asked;
  const isRight = typeof wanted === 'string' ? error?.code === wanted : answer !== null && wanted(answer, asked);
  bench.promise(id, says, isRight, what);
}

/** What every free request must come to when it fails. */
export async function failures<T>(
  bench: Bench,
  group: string,
  op: (provider: Provider) => Promise<T>,
  never: (answer: T) => string | null,
): Promise<void> {
  const trials: [string, Reply, How?][] = [
    ['reset', reset],
    ['silence', hang, { hasty: true }],
    ['cut body', half({ status: 200, body: { certify: 'half of it' } })],
    ['missing chunk', withoutEnd({ status: 200, body: { certify: 'all but the end' } })],
    [
      'a redirect to itself',
      (socket, received, index) => say({ status: 302, headers: { location: received.path } })(socket, received, index),
    ],
    ...[429, 500, 503].map((status): [string, Reply] => [`status ${status}`, say({ status, body: {} })]),
  ];
  const wrong: string[] = [];
  for (const [trial, reply, how] of trials) {
    const { answer, error, what, requests } = await bench.ask(`${group}: ${trial}`, reply, op, how);
    const lie = answer === null ? null : never(answer);
    const isRight =
      lie === null && (answer !== null || error?.code === 'PROVIDER_UNREACHABLE') && requests.length === 1;
    if (!isRight)
      wrong.push(`${trial}: ${lie ?? what}${requests.length > 1 ? `, asked ${requests.length} times` : ''}`);
  }
  bench.promise(
    `${group}/failures`,
    'no answer, half an answer, 429, 5xx or a redirect: unreachable, asked once',
    wrong.length === 0,
    wrong.join('; ') || `${trials.length} trials`,
  );
  await expect(
    bench,
    `${group}/401`,
    'a credential that is not accepted says so',
    say({ status: 401, body: {} }),
    op,
    'CREDENTIAL_REFUSED',
  );
}

export const anything = (answer: unknown): string => `it answered ${JSON.stringify(answer)}`;

export function goodResult({ mapping, specimen }: Bench): Told {
  const shape = mapping.result?.result;
  if (shape === 'bytes') return { status: 200, headers: { 'content-type': specimen.mime }, body: 'certify' };
  const pointer = shape?.files?.[0] ?? shape?.base64 ?? shape?.text;
  return specimen.result(pointer, shape?.files ? specimen.film : 'Y2VydGlmeQ==');
}
