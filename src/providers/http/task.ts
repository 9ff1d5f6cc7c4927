import { providerProtocol } from '../../errors.ts';
import type { Cancellation, Price, ProvidedFile, RemoteStatus } from '../../model/protocol.ts';
import type { Task } from '../provider.ts';
import { presentable } from '../redact.ts';
import { type Answer, looksLike, messageOf, price } from './answer.ts';
import { type Client, refuseNo } from './client.ts';
import { bytesTo, filesOf, Gone, isEmpty, providedFile } from './files.ts';
import type { Mapping } from './mapping.ts';
import { isMatch } from './match.ts';
import { find } from './pointer.ts';
import type { Values } from './template.ts';

/** What is asked about an accepted task. All of it is free. */

const GONE = [404, 410];

/** Where the provider has none of these, the mapping does not say it has. */
const part = <T>(mapped: T | undefined, { name }: Client, op: string): T => {
  if (mapped === undefined) throw providerProtocol(name, op, 'its mapping does not say how');
  return mapped;
};

export async function askStatus(client: Client, values: Values): Promise<RemoteStatus> {
  const mapped = part(client.mapping.status, client, 'status');
  const answer = await client.ask('status', mapped.request, values);
  const told = stateIn(client, mapped, answer);
  const reason = messageOf(answer, mapped.reason ?? client.mapping.message);
  const cost = mapped.cost && price(mapped.cost, answer, values);
  const progress = mapped.progress && find(answer.json, mapped.progress.at).map(Number)[0];
  const known: RemoteStatus = {
    state: told,
    ...(progress !== undefined && Number.isFinite(progress) && { progress: progress / mapped.progress!.of }),
    ...(cost && { cost }),
  };
  if (told === 'done' && mapped.ask_result) {
    const failure = await failureOf(client, values);
    if (failure) return { ...known, state: 'error', ...failure, ...(mapped.billable && { billable: mapped.billable }) };
  }
  if (told !== 'error' && told !== 'canceled') return known;
  return {
    ...known,
    ...(reason !== undefined && { reason: presentable(reason, client.redact) }),
    ...(mapped.billable && { billable: mapped.billable }),
  };
}

function stateIn(client: Client, mapped: NonNullable<Mapping['status']>, answer: Answer): RemoteStatus['state'] {
  const rule = mapped.when.find(({ when }) => looksLike(answer, when));
  if (rule) return rule.state;
  if (GONE.includes(answer.status)) return 'not_found';
  refuseNo(client, 'status', answer);
  const word = find(answer.json, mapped.state)[0];
  if (typeof word === 'string' && Object.hasOwn(mapped.states, word)) return mapped.states[word]!;
  const shown = presentable(JSON.stringify(word) ?? 'nothing', client.redact);
  throw providerProtocol(client.name, 'status', `it says ${shown}, which is in no "states" of its mapping`);
}

/** A task that is done and failed all the same. */
async function failureOf(client: Client, values: Values): Promise<{ reason: string } | null> {
  const mapped = part(client.mapping.result, client, 'fetch');
  const answer = await client.ask('fetch', part(mapped.request, client, 'fetch'), values);
  const failed = mapped.failed.find(({ when }) => looksLike(answer, when));
  if (!failed) return null;
  const reason = failed.reason ?? messageOf(answer, client.mapping.message) ?? `status ${answer.status}`;
  return { reason: presentable(reason, client.redact) };
}

export async function bringResult(
  client: Client,
  task: Task,
  values: Values,
  outputDir: string,
): Promise<ProvidedFile[] | 'expired'> {
  const { mapping, name } = client;
  const mapped = part(mapping.result, client, 'fetch');
  const request = mapped.request ?? part(mapping.status, client, 'fetch').request;
  const keepBody = mapped.result === 'bytes' ? bytesTo(client, { outputDir, kind: task.kind }) : undefined;
  const answer = await client.ask('fetch', request, values, keepBody);
  if (mapped.expired.some((when) => looksLike(answer, when))) return 'expired';
  const failed = mapped.failed.find(({ when }) => looksLike(answer, when));
  if (!failed && GONE.includes(answer.status)) return 'expired';
  refuseNo(client, 'fetch', answer);
  if (failed) throw providerProtocol(name, 'fetch', 'it said that the task is done, and that it failed');
  if (mapped.result === 'bytes') {
    if (answer.file !== null && !(await isEmpty(answer.file))) return [providedFile(answer.file, answer.headers)];
    throw providerProtocol(
      name,
      'fetch',
      `it answered ${answer.headers['content-type'] ?? 'something'} where the result was expected`,
    );
  }
  try {
    return await filesOf(client, answer, mapped.result, { kind: task.kind, values }, outputDir);
  } catch (error) {
    if (error instanceof Gone) return 'expired';
    throw error;
  }
}

export async function cancelTask(client: Client, values: Values): Promise<Cancellation> {
  const mapped = part(client.mapping.cancel, client, 'cancel');
  const answer = await client.ask('cancel', mapped.request, values);
  const rule = mapped.when.find(({ when }) => looksLike(answer, when));
  if (rule) return { state: rule.state, definite: rule.definite };
  if (GONE.includes(answer.status)) return { state: 'not_found', definite: false };
  refuseNo(client, 'cancel', answer);
  return { state: 'requested', definite: false };
}

export async function costOf(client: Client, values: Values): Promise<Price & { final?: boolean }> {
  const mapped = part(client.mapping.cost, client, 'cost');
  const answer = await client.ask('cost', mapped.request, values);
  refuseNo(client, 'cost', answer);
  const rows = mapped.items ? find(answer.json, mapped.items.at).flat() : [answer.json];
  const row = rows.find(
    (candidate) => mapped.items?.match.every((matching) => isMatch(candidate, matching, values, {})) ?? true,
  );
  const found = row === undefined ? undefined : price(mapped.amount, { ...answer, json: row }, values);
  return found ? { ...found, final: true } : { amount: null, unit: 'unknown' };
}
