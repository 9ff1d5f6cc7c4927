import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { EpisodeError } from '../../errors.ts';
import type { Check } from '../../model/protocol.ts';
import { PROTOCOL, type Sheet } from '../../model/sheet.ts';
import type { Provider, Submission, Task } from '../provider.ts';
import { presentable, redaction } from '../redact.ts';
import { isPrivateLiteral, placeOf } from './address.ts';
import { type Answer, price } from './answer.ts';
import { type ClientOptions, createClient, refuseNo, wordsOf } from './client.ts';
import { lookup, windowOf } from './lookup.ts';
import type { Mapping } from './mapping.ts';
import { submit } from './submit.ts';
import { askStatus, bringResult, cancelTask, costOf } from './task.ts';
import type { Values } from './template.ts';
import { valuesOf } from './values.ts';

export interface HttpProviderOptions
  extends Pick<ClientOptions, 'name' | 'mapping' | 'now' | 'interrupted' | 'timeoutMs'> {
  /** Addresses in the place of the mapping's, by its names. */
  servers: Readonly<Record<string, string>>;
  /** By the names that the mapping gives them; all secrets. */
  credentials: Readonly<Record<string, string>>;
  /** Whether results may come from any private address. */
  allowPrivate: boolean;
}

/** What a mapping promises of itself follows from what it says how to do. */
export function sheetOf(name: string, mapping: Mapping): Sheet {
  const { capabilities, servers, headers, variables, submit: sent } = mapping;
  return {
    protocol: PROTOCOL,
    provider: name,
    version: mapping.version,
    kinds: mapping.kinds,
    // Of what a submission is built by: sent again, it must be the same.
    mapping_sha256: createHash('sha256')
      .update(canonicalize({ servers, headers, variables, submit: sent })!)
      .digest('hex'),
    capabilities: {
      ...capabilities,
      announces_sending: true,
      lookup: { ...capabilities.lookup, supported: mapping.lookup !== undefined },
      cancel: mapping.cancel ? (capabilities.cancel ?? 'before_start') : 'none',
      cost: mapping.cost ? (capabilities.cost ?? 'reported') : 'none',
      balance: mapping.balance !== undefined,
      pure: false,
    },
  };
}

/**
 * A provider that is spoken to over HTTP as its mapping file says. It makes one paid request a submission, on a connection
 * of its own, after `sending` was made durable; nothing is ever sent again and no redirect of it followed.
 * Beside the errors of `Provider`: `CREDENTIAL_REFUSED` (78).
 */
export function createHttpProvider(options: HttpProviderOptions): Provider {
  const { name, mapping, credentials, allowPrivate, now, interrupted, timeoutMs } = options;
  const servers = { ...mapping.servers, ...options.servers };
  const named = new Set(
    Object.values(servers)
      .map((server) => new URL(server))
      .filter((url) => isPrivateLiteral(url.hostname))
      .map(placeOf),
  );
  const client = createClient({
    name,
    mapping,
    servers,
    redact: redaction(credentials),
    reach: { allowPrivate: allowPrivate || mapping.allow_private, named },
    now,
    interrupted,
    timeoutMs,
  });
  const { variables } = mapping;
  const seedParam = (kind: string): string | undefined =>
    mapping.submit.seed?.kinds.includes(kind) ? mapping.submit.seed.param : undefined;
  const about = (intent: Omit<Task, 'ref' | 'checkpoint' | 'claimed_at'>, more: Values): Values =>
    valuesOf(intent, { ...more, credential: { ...credentials }, variables, seedParam: seedParam(intent.kind) });
  const aboutTask = (asked: Task): Values =>
    about(asked, { ref: asked.ref, kept: asked.checkpoint ?? {}, window: windowOf(asked.claimed_at) });
  const aboutNothing: Values = { credential: credentials };

  const leftIn = (answer: Answer) => {
    const left = mapping.balance && price(mapping.balance.amount, answer, aboutNothing);
    return left?.amount ? { amount: left.amount, unit: left.unit } : null;
  };
  const balance = async () => {
    const answer = await client.ask('balance', mapping.balance!.request, aboutNothing);
    refuseNo(client, 'balance', answer);
    return leftIn(answer);
  };

  const provider: Provider = {
    name,
    describe: async () => sheetOf(name, mapping),
    submit: (submission: Submission, events) =>
      submit(client, submission, about(submission, { inputs: submission.inputs }), events),
    status: (asked) => askStatus(client, aboutTask(asked)),
    fetch: (asked, outputDir) => bringResult(client, asked, aboutTask(asked), outputDir),
    async check(): Promise<Check> {
      const request = mapping.check?.request ?? mapping.balance?.request;
      if (!request) return { auth: 'unknown' };
      let answer: Answer;
      try {
        answer = await client.ask('check', request, aboutNothing);
        // A key that may run models need not be one that sees the account.
        if (answer.status === 403 && !mapping.check) return { auth: 'unknown' };
        if (answer.status === 403)
          return { auth: 'bad', message: presentable(wordsOf(answer, mapping), client.redact) };
        refuseNo(client, 'check', answer);
      } catch (error) {
        if (error instanceof EpisodeError && error.code === 'CREDENTIAL_REFUSED')
          return { auth: 'bad', message: String(error.details.why) };
        throw error;
      }
      const left = mapping.check && mapping.balance ? await balance().catch(nothingIfUntold) : leftIn(answer);
      return { auth: 'ok', ...(left && { balance: left }) };
    },
  };
  if (mapping.lookup) {
    provider.lookup = (lost) => lookup(client, lost, about(lost, { window: windowOf(lost.claimed_at) }));
  }
  if (mapping.cancel) {
    provider.cancel = async (asked) => {
      // Some delete what is done and paid for when they are told to cancel it.
      const { state } = await askStatus(client, aboutTask(asked));
      const isOver = state === 'done' || state === 'error' || state === 'canceled';
      return isOver ? { state, definite: true } : cancelTask(client, aboutTask(asked));
    };
  }
  if (mapping.cost) provider.cost = (asked) => costOf(client, aboutTask(asked));
  if (mapping.balance) provider.balance = balance;
  return provider;
}

/** A key that may run models need not be one that sees the account. */
function nothingIfUntold(error: unknown): null {
  if (error instanceof EpisodeError) return null;
  throw error;
}
