import { decimalOf, minus, times } from '../../model/money.ts';
import type { Amount, Mapping } from '../http/mapping.ts';
import type { Provider } from '../provider.ts';
import type { Bench } from './http-bench.ts';
import { anything, expect, failures } from './http-free.ts';
import { REF } from './made-up.ts';
import { HTML, hang, say } from './replies.ts';
import { put } from './synthesis.ts';

/** What a task cost, and what the account has. */

export async function tryCost(bench: Bench): Promise<void> {
  const { specimen } = bench;
  const { cost } = bench.mapping;
  if (!cost) return;
  const ask = (provider: Provider) => provider.cost!(bench.task(REF));
  const row = specimen.amount(cost.amount).body;
  const told = { status: 200, body: cost.items ? listOf(cost.items, row) : row };
  const wanted = wantedOf(cost.amount, specimen.told);
  const says = 'the price is the one that is written';
  await expect(bench, 'cost/amount', says, say(told), ask, ({ amount }) => amount === wanted);
  await expect(
    bench,
    'cost/none',
    'a price that nobody says is unknown, never 0',
    say({ status: 200, body: {} }),
    ask,
    ({ amount }) => amount === null,
  );
  await expect(bench, 'cost/html', 'a web page is no price', say(HTML), ask, ({ amount }) => amount === null);
  await failures(bench, 'cost', ask, anything);
}

export async function tryBalance(bench: Bench): Promise<void> {
  const { specimen } = bench;
  const { balance } = bench.mapping;
  if (!balance) return;
  const ask = async (provider: Provider) => ({ left: await provider.balance!() });
  const told = specimen.amount(balance.amount);
  const wanted = wantedOf(balance.amount, specimen.told);
  const says = 'the balance is the one that is written';
  await expect(bench, 'balance/amount', says, say(told), ask, ({ left }) => left?.amount === wanted);
  await expect(
    bench,
    'balance/none',
    'a balance that nobody says is unknown, never 0',
    say({ status: 200, body: {} }),
    ask,
    ({ left }) => left === null,
  );
  await failures(bench, 'balance', ask, ({ left }) => (left === null ? null : anything(left)));
}

const listOf = ({ at, match }: NonNullable<NonNullable<Mapping['cost']>['items']>, row: unknown): unknown => {
  const marked = match.reduce<unknown>((item, { at: mark }) => put(item, mark, REF), row);
  return put({}, at, at.endsWith('/*') ? marked : [marked]);
};

function wantedOf({ less, times: factor }: Amount, told: { whole: number; less: number }): string | null {
  const left = minus(String(told.whole), less === undefined ? '0' : String(told.less));
  return left === null || factor === undefined ? left : decimalOf(times(left, factor)) && times(left, factor);
}

export async function tryCheck(bench: Bench): Promise<void> {
  const { mapping, specimen } = bench;
  const { balance } = mapping;
  const check = (provider: Provider) => provider.check!();
  const good = balance ? specimen.amount(balance.amount) : { status: 200, body: {} };
  const hasRequest = mapping.check !== undefined || balance !== undefined;
  if (!hasRequest) {
    await expect(
      bench,
      'check/none',
      'where nothing can be asked, it says that it does not know',
      hang,
      check,
      ({ auth }) => auth === 'unknown',
    );
    return;
  }
  await expect(bench, 'check/ok', 'an accepted credential is ok', say(good), check, ({ auth }) => auth === 'ok');
  const refused = say({ status: 401, body: {} });
  await expect(bench, 'check/401', '401 is a bad credential', refused, check, ({ auth }) => auth === 'bad');
  const [means, expected] = mapping.check
    ? ['is a bad credential', 'bad']
    : ['to what is left there says nothing of the credential', 'unknown'];
  const forbidden = say({ status: 403, body: {} });
  await expect(bench, 'check/403', `403 ${means}`, forbidden, check, ({ auth }) => auth === expected);
  await expect(
    bench,
    'check/500',
    'a broken provider says nothing of the credential',
    say({ status: 500, body: {} }),
    check,
    'PROVIDER_UNREACHABLE',
  );
}
