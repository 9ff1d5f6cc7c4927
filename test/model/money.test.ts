import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { add, compare, decimalOf, isZero, minus, times } from '../../src/model/money.ts';
import { decimal } from '../../src/model/scalars.ts';

/** Decimals as the ledger takes them: at most 15 digits before the point and 12 after it. */
const amount = fc
  .tuple(
    fc.bigInt({ min: 0n, max: 10n ** 15n - 1n }),
    fc.integer({ min: 0, max: 12 }),
    fc.bigInt({ min: 0n, max: 10n ** 12n - 1n }),
  )
  .map(([whole, places, fraction]) =>
    places === 0 ? `${whole}` : `${whole}.${fraction.toString().padStart(12, '0').slice(0, places)}`,
  );

/** In units of 10^-12: another way to compute the same. */
const picos = (value: string): bigint => {
  const [whole, fraction = ''] = value.split('.');
  return BigInt(whole!) * 10n ** 12n + BigInt(fraction.padEnd(12, '0'));
};

describe('amounts', () => {
  test.each([
    [['0.1', '0.2'], '0.3'],
    [['0.40', '0.6'], '1.00'],
    [['19.99', '0.01'], '20.00'],
    [['0.000000000001', '1'], '1.000000000001'],
    [[], '0'],
    [['5'], '5'],
  ])('%j add up to %s', (amounts, sum) => {
    expect(add(...amounts)).toBe(sum);
  });

  test('add up exactly, in any order', () => {
    fc.assert(
      fc.property(fc.array(amount, { maxLength: 20 }), (amounts) => {
        const expected = amounts.reduce((sum, one) => sum + picos(one), 0n);
        expect(picos(add(...amounts))).toBe(expected);
        expect(picos(add(...[...amounts].reverse()))).toBe(expected);
      }),
    );
  });

  test('add up to an amount that can be recorded and added again', () => {
    fc.assert(
      fc.property(amount, amount, (a, b) => {
        const sum = add(a, b);
        expect(sum).toMatch(/^(0|[1-9]\d*)(\.\d+)?$/);
        expect(add(sum, '0')).toBe(sum);
      }),
    );
  });

  test('compare as numbers, whatever their spelling', () => {
    fc.assert(
      fc.property(amount, amount, (a, b) => {
        const difference = picos(a) - picos(b);
        expect(Math.sign(compare(a, b))).toBe(difference < 0n ? -1 : difference > 0n ? 1 : 0);
      }),
    );
    expect(compare('20', '20.00')).toBe(0);
    expect(compare('20.000000000001', '20')).toBe(1);
    expect(compare('9.9', '10')).toBe(-1);
  });

  test('are nothing only when every digit is 0', () => {
    expect(['0', '0.00', '0.000000000000'].every(isZero)).toBe(true);
    expect(['0.000000000001', '10'].some(isZero)).toBe(false);
  });

  test.each([
    '',
    '-1',
    '+1',
    '1.',
    '.5',
    '01',
    '1e3',
    '1,5',
    ' 1',
    '1 ',
    'NaN',
    '1.0000000000001',
    '9'.repeat(16),
    '٣',
  ])('are not spelled %j', (spelling) => {
    expect(decimal.safeParse(spelling).success).toBe(false);
  });
});

describe('numbers of an answer', () => {
  test.each<[number | string, string | null]>([
    [0.4, '0.4'],
    ['0.40', '0.40'],
    [4e-7, '0.0000004'],
    ['4E-7', '0.0000004'],
    [1.5e3, '1500'],
    ['12.30e1', '123'],
    ['007', '7'],
    [0, '0'],
    [1e21, null],
    [1e-13, null],
    [0.31499999999999995, '0.315'],
    [0.1 + 0.2, '0.3'],
    ['1e300', null],
    ['0e0', '0'],
    [-1, null],
    ['free', null],
    ['', null],
    [Number.NaN, null],
  ])('%s is %s', (value, exact) => expect(decimalOf(value)).toBe(exact));

  test('no number moves by more than a ledger can keep', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (value) => {
        const exact = decimalOf(value);
        // Half of the last place that is kept, and what a double itself cannot tell apart.
        expect(Math.abs(Number(exact) - value)).toBeLessThanOrEqual(5e-13 + Number.EPSILON * value);
      }),
    );
  });

  test('differences and products are exact, and never negative', () => {
    fc.assert(
      fc.property(amount, amount, (a, b) => {
        expect(minus(add(a, b), b)).toSatisfy((left: string) => compare(left, a) === 0);
        if (compare(a, b) < 0) expect(minus(a, b)).toBeNull();
        expect(compare(times(a, '1'), a)).toBe(0);
        expect(times(a, '0.100')).not.toMatch(/\.\d*0$|\.$/);
        expect(compare(times(a, '0.5'), times(b, '0.5'))).toBe(compare(a, b));
      }),
    );
  });
});
