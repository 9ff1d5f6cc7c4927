import * as z from 'zod/mini';
import { decimal, name } from '../../model/scalars.ts';
import { Capabilities } from '../../model/sheet.ts';
import { pointer, When } from './when.ts';

/**
 * A mapping file: how to speak `episode-provider/1` with one HTTP API, as data. Its text is explained in
 * docs/mappings.md, and docs/mapping.schema.json is made of this schema. Paths, model names and state words are the
 * provider's: who edits them needs no new version of this program.
 */

/** Text with `{params.model}` and the like in it; `{params.seed?}` may be missing, `{params.seed|seed}` is the first there is. */
const template = z.string();

/** JSON whose strings are templates. `{"$rest": "params"}` among its members: every parameter not used elsewhere in the request. */
const jsonTemplate = z.unknown();

/** Where a text or number is found in an answer. */
const Source = z.union([pointer, z.strictObject({ header: z.string() }), z.strictObject({ text: template })]);
export type Source = z.infer<typeof Source>;

/** A price. Numbers become exact decimals as they are written. */
const Amount = z.strictObject({
  at: Source,
  /** Taken away from it, e.g. what was used of a limit. */
  less: z.optional(Source),
  /** One of it is that many units, e.g. `"0.01"`. */
  times: z.optional(decimal),
  unit: z.union([z.strictObject({ at: Source }), z.string()]),
  basis: z.optional(z.enum(['quoted', 'reported', 'derived'])),
});
export type Amount = z.infer<typeof Amount>;

const Body = z.union([
  z.strictObject({ json: jsonTemplate }),
  z.strictObject({
    /** multipart/form-data (RFC 7578). A value that is no text is sent as JSON; `file` names an input. */
    multipart: z.array(
      z.union([
        z.strictObject({ name: z.string(), value: jsonTemplate }),
        z.strictObject({
          name: z.string(),
          file: template,
          filename: z.optional(template),
          mime: z.optional(z.string()),
        }),
        /** One part for each parameter not used elsewhere. */
        z.strictObject({ rest: z.literal('params') }),
      ]),
    ),
  }),
]);
export type Body = z.infer<typeof Body>;

const Request = z.strictObject({
  method: z._default(z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']), 'GET'),
  /** One of `servers`. */
  server: name,
  /** RFC 6570: `{ref}` is encoded, `{+params.model}` keeps its slashes. */
  path: z.string().check(z.regex(/^\//, 'a path from its "/" on')),
  /** An address that the provider gave with the task, used when it is on the same server. */
  kept: z.optional(name),
  query: z.optional(z.record(z.string(), template)),
  headers: z.optional(z.record(z.string(), template)),
  body: z.optional(Body),
  timeout_seconds: z.optional(z.number().check(z.positive(), z.maximum(900))),
});
export type Request = z.infer<typeof Request>;

const Auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), token: template }),
  z.strictObject({ type: z.literal('header'), name: z.string(), value: template }),
  z.strictObject({ type: z.literal('query'), name: z.string(), value: template }),
  /** A token of RFC 7519, signed anew for each request, as `Authorization: Bearer`. */
  z.strictObject({
    type: z.literal('jwt-hs256'),
    issuer: template,
    secret: template,
    seconds: z._default(z.int().check(z.minimum(30), z.maximum(3600)), 1800),
  }),
]);
export type Auth = z.infer<typeof Auth>;

const Files = z.strictObject({
  /** Addresses or `data:` URLs of files; of the pointers the first that finds any counts. */
  files: z.optional(z.array(pointer).check(z.minLength(1))),
  /** Base64 of one file. */
  base64: z.optional(pointer),
  /** A text, or a list of texts that belong together: becomes `output.txt`. */
  text: z.optional(pointer),
});

const Refusal = z.strictObject({
  when: When,
  /** `insufficient_funds`, `throttled`, `invalid_input`, `auth`, `content_rejected`, or a word of the provider's. */
  reason: name,
  billable: z._default(z.enum(['no', 'unknown']), 'no'),
});

const Submit = z.strictObject({
  request: Request,
  /** What the answer of a success looks like beside its 2xx status. */
  accepted: z.optional(z.array(When)),
  /** Looked at before the table of statuses, in order. Only what the provider documents as "not processed". */
  refused: z._default(z.array(Refusal), []),
  /** The task's reference; where the provider takes one from us, that. */
  ref: z.optional(Source),
  /** What else to remember of the answer, by the name that `kept` uses. */
  keep: z._default(z.record(name, pointer), {}),
  cost: z.optional(Amount),
  /** Of a provider that answers with the result itself: the bytes, or JSON that holds it. */
  result: z.optional(z.union([z.literal('bytes'), Files])),
  /** Filled with a number derived from the attempt when the step says none, so that a lookup can tell it. */
  seed: z.optional(z.strictObject({ param: z.string(), kinds: z.array(z.string()) })),
});

const remoteState = z.enum(['queued', 'running', 'done', 'error', 'canceled', 'not_found', 'expired']);

const Status = z.strictObject({
  request: Request,
  state: pointer,
  /** The provider's word -> ours. A word that is not here is a broken promise (76). */
  states: z.record(z.string(), remoteState),
  /** Before `state` is looked at; what a 404 means by itself is `not_found`. */
  when: z._default(z.array(z.strictObject({ when: When, state: remoteState })), []),
  /** A part of `of`: 1, or 100 for percent. */
  progress: z.optional(z.strictObject({ at: pointer, of: z.union([z.literal(1), z.literal(100)]) })),
  reason: z.optional(z.array(pointer)),
  /** Whether a failure is charged, where the provider says so. */
  billable: z.optional(z.enum(['yes', 'no', 'unknown'])),
  cost: z.optional(Amount),
  /** `done` may still be a failure, which only the result tells. */
  ask_result: z._default(z.boolean(), false),
});

const Result = z.strictObject({
  /** Without one, the answer to `status` holds the result. */
  request: z.optional(Request),
  result: z.union([z.literal('bytes'), Files]),
  failed: z._default(z.array(z.strictObject({ when: When, reason: z.optional(z.string()) })), []),
  expired: z._default(z.array(When), []),
});

const Matching = z.strictObject({ at: pointer, equals: jsonTemplate });

const Lookup = z.strictObject({
  request: Request,
  /** A list, page by page; without it the answer itself is the task. */
  list: z.optional(
    z.strictObject({
      items: pointer,
      /** Of the next page: a cursor, which becomes `{page}` of the request, or its whole address. */
      next: z.optional(pointer),
      pages: z._default(z.int().check(z.minimum(1), z.maximum(100)), 20),
      /** When an item was made, RFC 3339 or seconds since the epoch; what was made before the claim is not ours. */
      made_at: z.optional(pointer),
      /** Newest first: the list need not be read beyond the claim. */
      newest_first: z._default(z.boolean(), false),
    }),
  ),
  ref: pointer,
  /** What makes an item a likely one. Of an object, every member that is named must be the same. */
  match: z._default(z.array(Matching), []),
  /** What proves that it is ours. */
  exact: z._default(z.array(Matching), []),
  /** That there is no such task; 404 by itself for a single one. */
  absent: z._default(z.array(When), []),
});

const Cancel = z.strictObject({
  request: Request,
  /** In order; what fits none and is 2xx was requested only. */
  when: z._default(z.array(z.strictObject({ when: When, state: remoteState, definite: z.boolean() })), []),
});

const Cost = z.strictObject({
  request: Request,
  /** The row of this task in a list. */
  items: z.optional(z.strictObject({ at: pointer, match: z.array(Matching) })),
  amount: Amount,
});

export const Mapping = z.strictObject({
  $schema: z.optional(z.string()),
  format: z.literal(1),
  provider: name,
  version: z.string(),
  /** The provider's own description of what is written here. */
  documentation: z.optional(z.string()),
  kinds: z.array(z.string()).check(z.minLength(1)),
  /** Address of each server; `servers` of the provider in pipeline.json can name others. */
  servers: z.record(
    name,
    z.string().check(z.regex(/^https?:\/\/[^/?#]+(\/[^?#]*[^/?#])?$/, 'an address without "/" at its end')),
  ),
  /** Names for the variables that `env` in pipeline.json lists, in that order: `{credential.key}`. */
  credentials: z._default(z.array(name), []),
  auth: Auth,
  headers: z._default(z.record(z.string(), template), {}),
  /** Whether results may come from private addresses. Those that `servers` names may. */
  allow_private: z._default(z.boolean(), false),
  /** Parameters without which nothing is sent. */
  required: z._default(z.array(z.string()), []),
  /** Parts of other values: `{variables.app}`. */
  variables: z._default(z.record(name, z.strictObject({ of: template, matches: z.string() })), {}),
  capabilities: Capabilities,
  submit: Submit,
  status: z.optional(Status),
  result: z.optional(Result),
  cancel: z.optional(Cancel),
  lookup: z.optional(Lookup),
  cost: z.optional(Cost),
  balance: z.optional(z.strictObject({ request: Request, amount: Amount })),
  check: z.optional(z.strictObject({ request: Request })),
  /** Where answers that are no success say why, the first that is a text. */
  message: z._default(z.array(pointer), []),
  limits: z._default(
    z.strictObject({
      result_bytes: z.optional(z.int().check(z.minimum(1))),
      result_seconds: z.optional(z.int().check(z.minimum(1), z.maximum(7200))),
    }),
    {},
  ),
});
export type Mapping = z.infer<typeof Mapping>;
