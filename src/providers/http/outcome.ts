import type { SubmitOutcome } from '../../model/protocol.ts';
import { presentable } from '../redact.ts';
import { type Answer, looksLike } from './answer.ts';
import { type Client, whyNot, wordsOf } from './client.ts';
import type { Exchange, Head } from './exchange.ts';

/** Statuses that say that nothing was accepted, when the answer is whole (DESIGN 7), and what they mean. */
const RELEASED: Record<number, string> = {
  400: 'invalid_input',
  401: 'auth',
  402: 'insufficient_funds',
  403: 'auth',
  404: 'invalid_input',
  405: 'invalid_input',
  410: 'invalid_input',
  413: 'invalid_input',
  414: 'invalid_input',
  415: 'invalid_input',
  422: 'invalid_input',
  431: 'invalid_input',
  451: 'content_rejected',
};

const EXCERPT = 2_000;
/** Redacted before it is cut: half a secret would not be recognised. */
const LOOKED_AT = 64 * 1024;

export const excerptOf = ({ text }: Answer, { redact }: Client, characters = EXCERPT): string =>
  redact.text(text.slice(0, LOOKED_AT)).slice(0, characters);

const TOLD_HEADERS = ['content-type', 'retry-after', 'request-id', 'x-request-id', 'cf-ray', 'date'];

/** What an answer said, for whoever has to find out later what it meant. */
export function evidenceOf(answer: Answer, client: Client): Record<string, unknown> {
  const { redact } = client;
  return { ...redact.json(headOf(answer)), body: excerptOf(answer, client) };
}

const headOf = ({ status, headers }: Head) => ({
  status,
  headers: Object.fromEntries(
    TOLD_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  ),
});

/** A submission that was not answered in whole. */
export function withoutAnswer(got: Exclude<Exchange, { how: 'answered' }>, { redact }: Client): SubmitOutcome {
  const message = presentable(whyNot(got), redact);
  if (got.how === 'not-sent') {
    return { outcome: 'released', reason: 'not_sent', message, billable: 'no', evidence: { code: got.code } };
  }
  const evidence = got.head && (redact.json(headOf(got.head)) as Record<string, unknown>);
  return { outcome: 'unknown', reason: got.reason, message, ...(evidence && { evidence }) };
}

/** An answer that is no acceptance: the mapping's rules first, then the table of statuses; `null` for a success. */
export function refusalIn(answer: Answer, client: Client): SubmitOutcome | null {
  const { mapping, redact } = client;
  const message = presentable(wordsOf(answer, mapping), redact);
  const evidence = evidenceOf(answer, client);
  const released = (reason: string, billable: 'no' | 'unknown'): SubmitOutcome => {
    const retryAfter = secondsOf(answer.headers['retry-after'], client.now());
    const later = retryAfter !== null && { retry_after: retryAfter };
    return { outcome: 'released', reason, message, billable, evidence, ...later };
  };
  const { status } = answer;
  // A broken server may have done what it was asked before it broke, whatever it says.
  const rule = status < 500 && mapping.submit.refused.find(({ when }) => looksLike(answer, when));
  if (rule) return released(rule.reason, rule.billable);
  if (RELEASED[status]) return released(RELEASED[status], 'no');
  const isSuccess = status >= 200 && status < 300;
  if (!isSuccess) {
    const reason = status >= 300 && status < 400 ? 'redirect' : `http_${status}`;
    return { outcome: 'unknown', reason, message, evidence };
  }
  const { accepted } = mapping.submit;
  if (accepted && !accepted.some((when) => looksLike(answer, when)))
    return { outcome: 'unknown', reason: 'not_confirmed', message, evidence };
  return null;
}

/** `Retry-After` (RFC 9110): seconds, or a date. */
function secondsOf(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000));
}
