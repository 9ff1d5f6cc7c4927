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

/** Sum with as many decimals as the most precise amount; `"0"` for none. */
export function add(...amounts: string[]): string {
  const parsed = amounts.map(parse);
  const scale = Math.max(0, ...parsed.map((amount) => amount.scale));
  const digits = parsed
    .reduce((sum, amount) => sum + at(amount, scale), 0n)
    .toString()
    .padStart(scale + 1, '0');
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Negative, zero or positive as `a` is less than, equal to or more than `b`. */
export function compare(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)];
  const scale = Math.max(left.scale, right.scale);
  const difference = at(left, scale) - at(right, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

export const isZero = (amount: string): boolean => parse(amount).units === 0n;
