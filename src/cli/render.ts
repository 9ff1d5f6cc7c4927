import type { EpisodeError } from '../errors.ts';
import type { CostRow, Total } from '../model/episode.ts';
import { add, isZero } from '../model/money.ts';
import { oneLine } from './printable.ts';
import type { Answer } from './verbs.ts';

/** How things look to people: one place for errors, money and tables. */

/** `what, on which thing`, then what to type next, one line each. */
export const errorText = ({ message, code, hints }: Pick<EpisodeError, 'message' | 'code' | 'hints'>): string =>
  [`episode: ${message} [${code}]`, ...hints.map((hint) => `  ${hint}`)].map(oneLine).join('\n');

/** Several at once: what is to be done about more than one of them is said once. */
export function errorTexts({ error = null, further = [] }: Pick<Answer, 'error' | 'further'>): string[] {
  const said = new Set<string>();
  return [...(error ? [error] : []), ...further].map(({ message, code, hints }) => {
    const news = hints.filter((hint) => !said.has(hint));
    for (const hint of news) said.add(hint);
    return errorText({ message, code, hints: news });
  });
}

export const errorDocument = ({ code, message, subject, hints, details }: EpisodeError) => ({
  code,
  message,
  subject,
  hints,
  details,
});

/** `13 h 56 min`, in the two largest units. */
export function span(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.max(0, Math.floor(ms / 1000))} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `0.40`, `<=0.40` while one of the rows is not settled, `?` when nobody says, `0` when all was released. */
export function price(rows: readonly CostRow[], currency: string): string {
  const counted = rows.filter((row) => row.state !== 'released');
  if (counted.length === 0) return rows.length === 0 ? '' : '0';
  if (counted.some((row) => row.amount === null)) return '?';
  const atMost = counted.some((row) => row.state !== 'settled') ? '<=' : '';
  const units = [...new Set(counted.map((row) => row.unit))];
  const sums = units.map((unit) => {
    const sum = add(...counted.flatMap((row) => (row.unit === unit ? [row.amount!] : [])));
    return unit === currency ? sum : `${sum} ${unit}`;
  });
  return `${atMost}${sums.join(' + ')}`;
}

/** `1.20 settled + up to 0.40 possible, of 20.00 USD`. */
export function money(totals: readonly Total[], currency: string, budget?: string): string {
  const total = totals.find(({ unit }) => unit === currency);
  const parts = [`${total?.settled ?? '0'} settled`];
  if (total && !isZero(total.reserved)) parts.push(`up to ${total.reserved} running`);
  if (total && !isZero(total.possible)) parts.push(`up to ${total.possible} possible`);
  if (total && total.unpriced > 0) parts.push(`${total.unpriced} unpriced`);
  return `${parts.join(' + ')}${budget === undefined ? '' : `, of ${budget}`} ${currency}`;
}

/** `3.20 USD` when all is settled, one part for each unit. */
export function charged(totals: readonly Total[], currency: string): string {
  const others = totals.filter(({ unit }) => unit !== currency).map(({ unit }) => unit);
  const parts = [currency, ...others].map((unit) => {
    const total = totals.find((one) => one.unit === unit);
    const settled = !total || (isZero(total.reserved) && isZero(total.possible) && total.unpriced === 0);
    return settled ? `${total?.settled ?? '0'} ${unit}` : money(totals, unit);
  });
  return parts.join(', ');
}

/** Columns of text, each as wide as its widest cell and each cell on one line; the last one as it is. */
export async function table(rows: readonly (readonly string[])[], right: readonly number[] = []): Promise<string> {
  if (rows.length === 0) return '';
  const { default: Table } = await import('cli-table3');
  const nothing = { mid: '', top: '', bottom: '', left: '', right: '', middle: '  ' };
  const chars = {
    ...{ 'top-mid': '', 'top-left': '', 'top-right': '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
    ...{ 'left-mid': '', 'mid-mid': '', 'right-mid': '', ...nothing },
  };
  const drawn = new Table({
    chars,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    colAligns: rows[0]!.map((_, column) => (right.includes(column) ? 'right' : 'left')),
  });
  drawn.push(...rows.map((row) => row.map(oneLine)));
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
