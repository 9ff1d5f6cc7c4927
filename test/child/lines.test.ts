import fc from 'fast-check';
import { expect, it } from 'vitest';
import { lines } from '../../src/child/lines.ts';
import { MAX_LINE_BYTES, readMessage } from '../../src/providers/exec/messages.ts';
import { redaction } from '../../src/providers/redact.ts';

async function* stream(chunks: Iterable<Buffer>) {
  yield* chunks;
}

async function read(chunks: Iterable<Buffer>, maxBytes = MAX_LINE_BYTES): Promise<string[]> {
  const said: string[] = [];
  for await (const { bytes, end } of lines(stream(chunks), maxBytes)) said.push(`${end}:${bytes.toString('utf8')}`);
  return said;
}

/** Cuts at the given places, which fall inside characters too. */
function cut(bytes: Buffer, places: number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

it('lines are the same however the stream is cut', async () => {
  const line = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\n', ''));
  await fc.assert(
    fc.asyncProperty(fc.array(line), line, fc.array(fc.nat()), async (whole, tail, places) => {
      const bytes = Buffer.from([...whole.map((text) => `${text}\n`), tail].join(''));
      const expected = whole.map((text) => `newline:${text}`);
      expect(await read(cut(bytes, places))).toEqual(tail === '' ? expected : [...expected, `tail:${tail}`]);
    }),
    { numRuns: 300 },
  );
});

it('a line may have 1 MiB and not a byte more, whatever the cut; the next line is read again', async () => {
  const longest = Buffer.alloc(MAX_LINE_BYTES, 'x');
  const said = await read([longest, Buffer.from('\n'), longest, Buffer.from('y'), Buffer.from('\nnext\n')]);
  expect(said.map((line) => line.length)).toEqual(['newline:'.length + MAX_LINE_BYTES, 'overlong:'.length, 12]);
  expect(said.at(-1)).toBe('newline:next');
});

it('a line without end is noticed as soon as it is too long', async () => {
  let taken = 0;
  function* endless() {
    for (;;) {
      taken += 1;
      yield Buffer.alloc(65_536, 'x');
    }
  }
  for await (const line of lines(stream(endless()), MAX_LINE_BYTES)) {
    expect(line.end).toBe('overlong');
    break;
  }
  expect(taken).toBe(17);
});

it('a reference is never changed by bytes that are not UTF-8', () => {
  const bytes = Buffer.concat([
    Buffer.from('{"event":"accepted","seq":1,"ref":"a'),
    Buffer.from([0xff]),
    Buffer.from('"}'),
  ]);
  expect(() => readMessage({ bytes, end: 'newline' }, 1)).toThrow('a line that is not UTF-8');
});

it('any line of an adapter is a message or a breach', () => {
  const event = fc.record({
    event: fc.constantFrom('sending', 'accepted', 'checkpoint', 'progress'),
    seq: fc.anything(),
  });
  const answer = fc.record({ id: fc.constantFrom(1, 2, '1'), ok: fc.anything(), result: fc.anything() });
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.oneof(event, answer).map((value) => JSON.stringify(value)),
  );
  fc.assert(
    fc.property(text, fc.constantFrom('newline' as const, 'tail' as const), (line, end) => {
      try {
        readMessage({ bytes: Buffer.from(line), end }, 1);
      } catch (error) {
        expect((error as Error).constructor.name).toBe('Breach');
      }
    }),
    { numRuns: 2_000 },
  );
});

const secret = fc.oneof(fc.string({ unit: 'binary', minLength: 12 }), fc.string({ minLength: 12 }));
const strict = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
const ascii = (text: string) => text.replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
it.each<[string, (text: string) => string]>([
  ['plainly', (text) => text],
  ['in base64', (text) => Buffer.from(text).toString('base64')],
  ['in base64url', (text) => Buffer.from(text).toString('base64url')],
  ['in a URL', encodeURIComponent],
  ['in a URL, strictly', strict],
  ['in a path', (text) => encodeURIComponent(text).replaceAll('%2F', '/')],
  ['in a form', (text) => `${new URLSearchParams({ text })}`],
  ['in JSON', JSON.stringify],
  ['in ASCII JSON', (text) => ascii(JSON.stringify(text))],
])('a secret is found %s', (_where, encode) => {
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
      const said = encode(before + value + after);
      const redacted = redaction({ HOUSE_KEY: value }).text(said);
      expect(redacted).toContain('[HOUSE_KEY]');
      expect(redacted).not.toContain(value);
    }),
    { numRuns: 100 },
  );
});

it('references and paths are kept byte for byte, and short settings are not secrets', () => {
  const redact = redaction({ REGION: 'eu-west', DEBUG: '1' });
  expect(redact.json({ ref: 'eu-west-91', text: 'eu-west 1', refs: [{ ref: 'eu-west' }], 'eu-west': 1 })).toEqual({
    ref: 'eu-west-91',
    text: '[REGION] 1',
    refs: [{ ref: 'eu-west' }],
    '[REGION]': 1,
  });
});
