import { assert, asyncProperty, json, jsonValue } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { format, parseStrict } from '../../src/json/strict-json.ts';

const parse = (text: string | Buffer) => parseStrict(Buffer.from(text as string));
const fault = (text: string | Buffer) => parse(text).then((value) => `read as ${JSON.stringify(value)}`, String);

describe('strict JSON', () => {
  it.each<[string, string | Buffer, string]>([
    ['nothing', '', 'it is empty (0 bytes)'],
    ['NUL alone', Buffer.alloc(100), 'it holds only NUL bytes'],
    ['NUL at the end', '{}\n\0\0', 'it holds NUL bytes'],
    ['a byte order mark', '\uFEFF{}', 'it starts with a byte order mark'],
    ['UTF-16, little end first', Buffer.from('\uFEFF{}', 'utf16le'), 'it is UTF-16, not UTF-8'],
    ['UTF-16, big end first', Buffer.from('\uFEFF{}', 'utf16le').swap16(), 'it is UTF-16, not UTF-8'],
    ['UTF-16 without a mark', Buffer.from('{}', 'utf16le'), 'it holds NUL bytes'],
    ['Latin-1', Buffer.from('{"name":"Zoë"}', 'latin1'), 'it is not UTF-8'],
    ['half a character', Buffer.from('{"name":"Zoë').subarray(0, -1), 'it is not UTF-8'],
    ['merge markers', '<<<<<<< HEAD\n{}\n=======\n{"a":1}\n>>>>>>> theirs\n', 'it holds merge conflict markers'],
    ['a name twice', '{"a":1,\n"a":2}', 'the field "a" is there twice (line 2)'],
    ['a name twice, once in escapes', '{"a":1,"\\u0061":2}', 'the field "a" is there twice (line 1)'],
    ['a name twice deep inside', '[{"x":[{"a":1,"a":1}]}]', 'the field "a" is there twice (line 1)'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}', 'the field "__proto__" is there twice (line 1)'],
    ['1e400', '{"a": 1e400}', 'the number 1e400 is too large (line 1)'],
    ['-1e400', '[-1e400]', 'the number -1e400 is too large (line 1)'],
    ['2^53 + 1', '[9007199254740993]', 'the number 9007199254740993 cannot be kept exactly (line 1)'],
    [
      '2^53, which 2^53 + 1 becomes',
      '[9007199254740992]',
      'the number 9007199254740992 cannot be kept exactly (line 1)',
    ],
    [
      'a long integer in a list of lists',
      '[[\n12345678901234567890]]',
      'the number 12345678901234567890 cannot be kept exactly (line 2)',
    ],
    [
      'a fraction with more digits than a float has',
      '[0.12345678901234567890]',
      'the number 0.12345678901234567890 cannot be kept exactly (line 1)',
    ],
    ['a number that becomes nothing', '[1e-400]', 'the number 1e-400 cannot be kept exactly (line 1)'],
  ])('refuses %s', async (_, text, message) => {
    expect(await fault(text)).toBe(`Error: ${message}`);
  });

  it.each(['{"a":1', '{"a":1}}', "{'a':1}", '{"a":1,}', '// a\n{}', '{"a":NaN}', '"a\nb"', '{"a":01}'])(
    'refuses %j as no JSON, or cut off',
    async (text) => expect(await fault(text)).toMatch(/^Error: it is not JSON, or cut off \(/),
  );

  it.each<[string, unknown]>([
    ['{ "a": [1, 2.5, -0.25, 1e3, 1.10], "b": null }', { a: [1, 2.5, -0.25, 1000, 1.1], b: null }],
    [
      ' [ 9007199254740991, -9007199254740991, 0.1, 100e-2, 5E0 ] ',
      [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0.1, 1, 5],
    ],
    ['"========"', '========'],
    ['"\\ud83c\\udfac"', '🎬'],
  ])('reads %s as anybody would', async (text, value) => expect(await parse(text)).toEqual(value));

  it('keeps a field called __proto__ as a field', async () => {
    const value = (await parse('{"__proto__": {"polluted": true}}')) as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(format(value)).toBe('{\n  "__proto__": {\n    "polluted": true\n  }\n}\n');
  });

  it('gives back to the letter what it wrote, and reads what it gave back', async () => {
    await assert(
      asyncProperty(jsonValue(), async (value) => {
        const text = format(value);
        expect(format(await parse(text))).toBe(text);
      }),
    );
  });

  it('reads any JSON as JSON.parse does, or says what would be lost', async () => {
    await assert(
      asyncProperty(json(), async (text) => {
        const value = await parse(text).catch((error: Error) => error);
        if (!(value instanceof Error)) expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
        else expect(value.message).toMatch(/twice|cannot be kept exactly|too large/);
      }),
    );
  });
});

it('half a character is refused, and what only looks like one is not', async () => {
  await expect(parseStrict(Buffer.from('{"title":"\\ud800"}'))).rejects.toThrow('it holds half a character (\\ud800)');
  await expect(parseStrict(Buffer.from('{"title":"\\ud83d\\ude00"}'))).resolves.toEqual({ title: '😀' });
  await expect(parseStrict(Buffer.from('{"title":"\\\\ud800"}'))).resolves.toEqual({ title: '\\ud800' });
});
