import { EpisodeError } from '../../errors.ts';
import type { Price, ProvidedFile, SubmitOutcome } from '../../model/protocol.ts';
import type { Submission, SubmitEvents } from '../provider.ts';
import { presentable } from '../redact.ts';
import { type Answer, answerOf, price, read } from './answer.ts';
import type { Client } from './client.ts';
import { exchange, type Head, type Sent } from './exchange.ts';
import { bytesTo, filesOf, Gone, isEmpty, providedFile } from './files.ts';
import { evidenceOf, refusalIn, withoutAnswer } from './outcome.ts';
import { find } from './pointer.ts';
import { Missing, type Values } from './template.ts';

/** A sync provider may take its time; the lease of a claim is longer. */
const SYNC_SECONDS = 600;

/**
 * One submission: everything that can be refused is refused before `sending` is durable, then one request on a connection
 * of its own. Throws what `events` and the disk throw; everything else is an outcome.
 */
export async function submit(
  client: Client,
  submission: Submission,
  values: Values,
  events: SubmitEvents,
): Promise<SubmitOutcome> {
  const { mapping } = client;
  let sent: Sent;
  try {
    const missing = mapping.required.find((param) => submission.params[param] === undefined);
    if (missing) throw new Missing(`params.${missing}`);
    if (!mapping.kinds.includes(submission.kind)) throw new Missing(`a kind it makes (${mapping.kinds.join(', ')})`);
    sent = await client.build(mapping.submit.request, values);
  } catch (error) {
    if (error instanceof EpisodeError || !(error instanceof Error)) throw error;
    const message = presentable(error.message, client.redact);
    return { outcome: 'released', reason: 'invalid_input', message, billable: 'no' };
  }
  if (mapping.submit.result !== undefined && mapping.submit.request.timeout_seconds === undefined) {
    sent = { ...sent, timeoutMs: client.atMost(1000 * SYNC_SECONDS) };
  }
  await events.sending();
  return mapping.submit.result === 'bytes'
    ? forBytes(client, submission, values, sent, events)
    : forJson(client, submission, values, sent, events);
}

async function forJson(
  client: Client,
  submission: Submission,
  values: Values,
  sent: Sent,
  events: SubmitEvents,
): Promise<SubmitOutcome> {
  const { mapping } = client;
  const got = await exchange(sent);
  if (got.how !== 'answered') return withoutAnswer(got, client);
  const answer = answerOf(got);
  const refused = refusalIn(answer, client);
  if (refused) return refused;
  const evidence = evidenceOf(answer, client);
  if (answer.json === undefined) {
    return { outcome: 'unknown', reason: 'not_json', message: 'a success whose answer is no JSON', evidence };
  }
  const ref = referenceIn(client, answer, values);
  const cost = mapping.submit.cost && price(mapping.submit.cost, answer, values);
  if (mapping.submit.result === undefined) {
    if (ref === undefined)
      return { outcome: 'unknown', reason: 'no_ref', message: 'a success without a reference', evidence };
    await events.accepted(ref, keptOf(client, answer));
    return { outcome: 'accepted', ref, ...(cost && { cost }) };
  }
  if (ref !== undefined && mapping.status) await events.accepted(ref, keptOf(client, answer));
  return bringHome(client, ref, evidence, async () => ({
    files: await filesOf(
      client,
      answer,
      mapping.submit.result as Exclude<typeof mapping.submit.result, 'bytes' | undefined>,
      { kind: submission.kind, values },
      submission.output_dir,
    ),
    cost,
  }));
}

async function forBytes(
  client: Client,
  submission: Submission,
  values: Values,
  sent: Sent,
  events: SubmitEvents,
): Promise<SubmitOutcome> {
  const { mapping } = client;
  let ref: string | undefined;
  const keepBody = bytesTo(client, { outputDir: submission.output_dir, kind: submission.kind }, async (head: Head) => {
    ref = referenceIn(client, { ...head, text: '', json: undefined }, values);
    // From here on the result can be had again without paying, where the provider keeps it.
    if (ref !== undefined && mapping.status) await events.accepted(ref);
  });
  const got = await exchange({ ...sent, keepBody });
  if (got.how !== 'answered') {
    if (ref !== undefined && mapping.status) return { outcome: 'accepted', ref };
    return withoutAnswer(got, client);
  }
  const answer = answerOf(got);
  if (got.file === null || (await isEmpty(got.file))) {
    if (ref !== undefined && mapping.status) return { outcome: 'accepted', ref };
    const evidence = evidenceOf(answer, client);
    return (
      refusalIn(answer, client) ?? {
        outcome: 'unknown',
        reason: 'no_result',
        message: 'a success without the result',
        evidence,
      }
    );
  }
  const cost = mapping.submit.cost && price(mapping.submit.cost, answer, values);
  const files = [providedFile(got.file, got.headers)];
  return { outcome: 'completed', files, ...(ref !== undefined && { ref }), ...(cost && { cost }) };
}

/** What was paid for and cannot be brought here is still the provider's: asked for again where it has a reference. */
async function bringHome(
  { mapping, redact }: Client,
  ref: string | undefined,
  evidence: Record<string, unknown>,
  bring: () => Promise<{ files: ProvidedFile[]; cost: Price | undefined }>,
): Promise<SubmitOutcome> {
  try {
    const { files, cost } = await bring();
    return { outcome: 'completed', files, ...(ref !== undefined && { ref }), ...(cost && { cost }) };
  } catch (error) {
    if (!(error instanceof EpisodeError || error instanceof Gone)) throw error;
    const message = presentable(error.message, redact);
    if (ref !== undefined && mapping.status) return { outcome: 'accepted', ref };
    const told = { ...evidence, ...(ref !== undefined && { ref }) };
    return { outcome: 'unknown', reason: 'result_not_fetched', message, evidence: told };
  }
}

const referenceIn = ({ mapping }: Client, answer: Answer, values: Values): string | undefined =>
  mapping.submit.ref === undefined ? undefined : read(mapping.submit.ref, answer, values);

/** What the mapping wants remembered, e.g. addresses. */
function keptOf({ mapping, redact }: Client, { json }: Answer): Record<string, unknown> | undefined {
  const entries = Object.entries(mapping.submit.keep).flatMap(([name, pointer]) => {
    const found = find(json, pointer)[0];
    // One by one: a name that the mapping chose is none of the fields that are kept as they are.
    return found === undefined || found === null ? [] : [[name, redact.json([found])[0]] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
