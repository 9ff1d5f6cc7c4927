import { decimalOf, minus, times } from '../../model/money.ts';
import type { Amount, Mapping } from '../http/mapping.ts';
import type { Provider } from '../provider.ts';
import type { Bench } from './http-bench.ts';
import { anything, expect, failures, HTML, REF } from './http-free.ts';
import { hang, say } from './replies.ts';
import { put } from './synthesis.ts';

/** What a task cost, and what the account has. */

export async function tryAccount(bench: Bench): Promise<void> {
  const { mapping, specimen } = bench;
  const { cost, balance } = mapping;
  if (cost) {
    const ask = (provider: Provider) => provider.cost!(bench.task(REF));
    const row = specimen.amount(cost.amount).body;
    const told = { status: 200, body: cost.items ? listOf(cost.items, row) : row };
    await expect(
      bench,
      'cost/amount',
      'the price is the one that is written',
      say(told),
      ask,
      ({ amount }) => amount === wantedOf(cost.amount, specimen.told),
    );
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
  if (balance) {
    const ask = async (provider: Provider) => ({ left: await provider.balance!() });
    await expect(
      bench,
      'balance/amount',
      'the balance is the one that is written',
      say(specimen.amount(balance.amount)),
      ask,
      ({ left }) => left?.amount === wantedOf(balance.amount, specimen.told),
    );
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
  await tryCheck(bench, balance);
}

const listOf = ({ at, match }: NonNullable<NonNullable<Mapping['cost']>['items']>, row: unknown): unknown => {
  const marked = match.reduce<unknown>((item, { at: mark }) => put(item, mark, REF), row);
  return put({}, at, at.endsWith('/*') ? marked : [marked]);
};

function wantedOf({ less, times: factor }: Amount, told: { whole: number; less: number }): string | null {
  const left = minus(String(told.whole), less === undefined ? '0' : String(told.less));
  return left === null || factor === undefined ? left : decimalOf(times(left, factor)) && times(left, factor);
}

async function tryCheck(bench: Bench, balance: Mapping['balance']): Promise<void> {
  const { mapping, specimen } = bench;
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
  for (const status of [401, 403]) {
    await expect(
      bench,
      `check/${status}`,
      `${status} is a bad credential`,
      say({ status, body: {} }),
      check,
      ({ auth }) => auth === 'bad',
    );
  }
  await expect(
    bench,
    'check/500',
    'a broken provider says nothing of the credential',
    say({ status: 500, body: {} }),
    check,
    'PROVIDER_UNREACHABLE',
  );
}
