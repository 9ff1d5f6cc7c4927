import type { MediaKind } from '../../media/verify.ts';
import { restOf } from '../http/client.ts';
import type { Amount, Mapping, Source } from '../http/mapping.ts';
import { fillJson, Missing, paramsIn, type Values } from '../http/template.ts';
import { endingOf, valuesOf } from '../http/values.ts';
import type { Told } from './replies.ts';
import { answerFor, put } from './synthesis.ts';

/** A made-up intent, as much of it as a mapping asks for. */
export interface Intent {
  attempt_id: string;
  client_ref: string;
  kind: string;
  params: Record<string, unknown>;
}

/** With a slash, since models have an owner; a word, since anything else would need to be known. */
const PARAM = 'certify/made-up';

/** What the requests of a mapping name and do not mark with `?`. */
function namedIn(mapping: Mapping, prefix: 'params' | 'inputs'): Set<string> {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node === 'string') {
      for (const [, first] of node.matchAll(/\{\+?([\w.-]+)[^{}?]*\}/g)) {
        const [head, name] = first!.split('.');
        if (head === prefix && name !== undefined) names.add(name);
      }
    } else if (typeof node === 'object' && node !== null) for (const inner of Object.values(node)) visit(inner);
  };
  visit([mapping.submit.request, mapping.variables]);
  return names;
}

const MEDIA: Record<MediaKind, string> = { video: 'video/mp4', image: 'image/png', audio: 'audio/mpeg' };
const MIME: Record<string, string> = { ...MEDIA, text: 'text/plain' };

/** What a price is told to be, and what is taken away from it. */
const WHOLE = 40;
const LESS = 3;

/** Answers that a provider would give if it were as its mapping says. */
export function specimenOf(mapping: Mapping, origin: string, given: Record<string, unknown>) {
  const kind = mapping.kinds[0]!;
  const mime = MIME[kind] ?? 'application/octet-stream';
  const named = new Set([...mapping.required, ...namedIn(mapping, 'params')]);
  const params = { ...Object.fromEntries([...named].map((name) => [name, PARAM])), ...given };
  let made = 0;

  const withSource = (told: Told, source: Source, value: unknown): Told => {
    if (typeof source === 'string') return { ...told, body: put(told.body, source, value) };
    return 'header' in source ? { ...told, headers: { ...told.headers, [source.header]: String(value) } } : told;
  };
  const withAmount = (told: Told, amount: Amount | undefined): Told => {
    if (!amount) return told;
    const whole = withSource(told, amount.at, WHOLE);
    const less = amount.less === undefined ? whole : withSource(whole, amount.less, LESS);
    return typeof amount.unit === 'string' ? less : withSource(less, amount.unit.at, 'USD');
  };
  const file = (name: string): string => `${origin}/certify-file/${name}`;
  const film = file(`film${endingOf(mime)}`);

  /** What is sent for an intent, as a provider that echoes it gives it back. */
  const sent = (intent: Intent): { values: Values; rest: Record<string, unknown> } => {
    const { seed } = mapping.submit;
    const seedParam = seed?.kinds.includes(intent.kind) ? seed.param : undefined;
    const values = valuesOf(intent, { credential: {}, variables: mapping.variables, seedParam });
    return { values, rest: restOf(values, paramsIn(mapping.submit.request)) };
  };

  return {
    kind,
    mime,
    film,
    file,
    isMedia: Object.hasOwn(MEDIA, kind),
    inputs: [...namedIn(mapping, 'inputs')],
    /** Another one at each call. */
    intent(): Intent {
      made += 1;
      return { attempt_id: `certify-attempt-${made}`, client_ref: `certify-ref-${made}`, kind, params };
    },

    /** The answer of a success to a submission. `isWhole: false`: the same without what it is for. */
    accepted(ref: unknown, isWhole = true): Told {
      const { submit } = mapping;
      const rule = submit.accepted?.[0];
      let told: Told = (rule && answerFor(rule, 200)) ?? { status: 200, body: {} };
      for (const [name, pointer] of Object.entries(submit.keep)) {
        told = { ...told, body: put(told.body, pointer, `${origin}/${mapping.submit.request.server}/kept/${name}`) };
      }
      told = withAmount(told, submit.cost);
      if (submit.ref !== undefined && isWhole) told = withSource(told, submit.ref, ref);
      if (submit.result === 'bytes') {
        return isWhole ? { ...told, headers: { ...told.headers, 'content-type': mime }, body: BYTES } : told;
      }
      if (submit.result !== undefined && isWhole) {
        const { files, base64, text } = submit.result;
        if (files) told = { ...told, body: put(told.body, files[0]!, film) };
        else if (base64) told = { ...told, body: put(told.body, base64, BYTES.toString('base64')) };
        else if (text) told = { ...told, body: put(told.body, text, 'certify') };
      }
      return told;
    },

    /** What asking about a task is answered with while the provider calls its state so. */
    status(word: unknown): Told {
      const mapped = mapping.status!;
      let told: Told = { status: 200, body: put({}, mapped.state, word) };
      if (mapped.progress) told = { ...told, body: put(told.body, mapped.progress.at, mapped.progress.of / 2) };
      return withAmount(told, mapped.cost);
    },

    /** The word for done, if it has one. */
    done: Object.entries(mapping.status?.states ?? {}).find(([, state]) => state === 'done')?.[0],

    /** The answer in which a result is told, with `value` at that pointer. */
    result(pointer?: string, value?: unknown): Told {
      const told: Told =
        mapping.result?.request === undefined && mapping.status ? this.status(this.done) : { status: 200, body: {} };
      return pointer === undefined ? told : { ...told, body: put(told.body, pointer, value) };
    },

    /** A task in a list, or alone: with these of its marks. */
    item(ref: string, intent: Intent, marks: { match: boolean; exact: boolean }, madeAt: string): unknown {
      const lookup = mapping.lookup!;
      const { values, rest } = sent(intent);
      let item: unknown = put({}, lookup.ref, ref);
      const { made_at } = lookup.list ?? {};
      if (made_at !== undefined) item = put(item, made_at, madeAt);
      for (const { at, equals } of marks.match ? lookup.match : []) item = put(item, at, filled(equals, values, rest));
      for (const { at, equals } of lookup.exact) {
        item = put(item, at, marks.exact ? filled(equals, values, rest) : 'certify-of-another');
      }
      return item;
    },

    amount: (amount: Amount): Told => withAmount({ status: 200, body: {} }, amount),
    told: { whole: WHOLE, less: LESS },
  };
}

export type Specimen = ReturnType<typeof specimenOf>;

export const BYTES = Buffer.from('made up by episode provider certify, and no film\n'.repeat(40));

function filled(template: unknown, values: Values, rest: Record<string, unknown>): unknown {
  try {
    return fillJson(template, values, rest);
  } catch (error) {
    if (error instanceof Missing) return undefined;
    throw error;
  }
}
