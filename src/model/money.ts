/**
 * Exact decimal arithmetic on strings like `"0.40"`: money is never a float. Amounts are not negative, differences are
 * not needed: a budget is compared with a sum.
 */
const parse = (amount: string): { units: bigint; scale: number } => {
  const [whole = '', fraction = ''] = amount.split('.');
  return { units: BigInt(whole + fraction), scale: fraction.length };
};

const at = (amount: { units: bigint; scale: number }, scale: number): bigint =>
  amount.units * 10n ** BigInt(scale - amount.scale);

const print = (units: bigint, scale: number): string => {
  const digits = units.toString().padStart(scale + 1, '0');
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
};

const DECIMALS = 12;

const withoutZeros = (decimal: string): string => (decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal);

/** Sum with as many decimals as the most precise amount; `"0"` for none. */
export function add(...amounts: string[]): string {
  const parsed = amounts.map(parse);
  const scale = Math.max(0, ...parsed.map((amount) => amount.scale));
  return print(
    parsed.reduce((sum, amount) => sum + at(amount, scale), 0n),
    scale,
  );
}

/** `a - b`, or `null` when that is negative. */
export function minus(a: string, b: string): string | null {
  const [left, right] = [parse(a), parse(b)];
  const scale = Math.max(left.scale, right.scale);
  const difference = at(left, scale) - at(right, scale);
  return difference < 0n ? null : print(difference, scale);
}

/** Exact product, without zeros at its end. */
export function times(a: string, b: string): string {
  const [left, right] = [parse(a), parse(b)];
  return withoutZeros(print(left.units * right.units, left.scale + right.scale));
}

/**
 * What a JSON number or a text means as an exact decimal, also in the form `4e-7`. A number with more than the twelve decimals
 * that records keep (0.1 + 0.2 of a float) is rounded to them. `null` for what is negative, no number, too large, or not
 * nothing and yet less than that.
 */
export function decimalOf(value: number | string): string | null {
  const written = String(value);
  const [, whole, fraction = '', exponent = '0'] = /^(\d{1,15})(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i.exec(written) ?? [];
  if (whole === undefined) return null;
  // As it is written: an invoice that says 0.40 is found by 0.40.
  if (/^(0|[1-9]\d*)(\.\d{1,12})?$/.test(written)) return written;
  const scale = fraction.length - Number(exponent);
  const exact = BigInt(whole + fraction) * 10n ** BigInt(Math.max(0, -scale));
  const excess = 10n ** BigInt(Math.max(0, scale - DECIMALS));
  const units = (exact + excess / 2n) / excess;
  if (units === 0n && exact !== 0n) return null;
  const decimal = withoutZeros(print(units, Math.min(Math.max(0, scale), DECIMALS)));
  return decimal.split('.')[0]!.length > 15 ? null : decimal;
}

/** Negative, zero or positive as `a` is less than, equal to or more than `b`. */
export function compare(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)];
  const scale = Math.max(left.scale, right.scale);
  const difference = at(left, scale) - at(right, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

export const isZero = (amount: string): boolean => parse(amount).units === 0n;
