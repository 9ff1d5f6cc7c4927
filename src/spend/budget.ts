import { budgetExceeded, budgetMissing, type EpisodeError, unpriced } from '../errors.ts';
import { type Config, mayCharge } from '../model/config.ts';
import type { CostRow } from '../model/episode.ts';
import { add, compare } from '../model/money.ts';
import type { Sheet } from '../model/protocol.ts';

/** The worst case of one attempt: what is reserved before it is sent. */
export interface Quote {
  /** `null`: nobody says. */
  amount: string | null;
  unit: string;
  basis: string;
  quantities: Record<string, string>;
}

export interface Purchase {
  episodeId: string;
  step: string;
  provider: string;
  sheet: Sheet;
  quote: Quote;
}

/** What is already promised: rows of the episode, of its week (the episode's included), of this command. */
export interface Promised {
  episode: readonly CostRow[];
  week: readonly CostRow[];
  run: readonly CostRow[];
}

const counts = (row: CostRow): boolean => row.state !== 'released';

/** Whether the attempt is free by the provider's own word. */
export const isFree = (sheet: Sheet): boolean => sheet.capabilities.pure === true;

/**
 * The reason why this purchase must not be made, or `null`. Reserved, settled and possible charges all count; an unknown
 * outcome counts at its upper bound. `maxCost` bounds what one command reserves.
 */
export function refusePurchase(
  purchase: Purchase,
  promised: Promised,
  config: Config,
  maxCost: string | null,
): EpisodeError | null {
  const { episodeId, step, provider, sheet, quote } = purchase;
  if (isFree(sheet)) return null;
  const { budget } = config;
  if (budget.per_episode === undefined && maxCost === null && mayCharge(config).includes(provider)) {
    return budgetMissing(provider);
  }
  const capped = [budget.per_episode, budget.per_week, maxCost].some((cap) => cap !== undefined && cap !== null);
  const caps = budget.quantities;
  const quantityCapped = Object.keys(quote.quantities).some(
    (name) => caps?.per_episode?.[name] !== undefined || caps?.per_week?.[name] !== undefined,
  );
  const priced = quote.amount !== null && quote.unit === config.currency;
  if (capped && !priced && !quantityCapped) return unpriced(episodeId, step, provider);

  const money: [string, string | null | undefined, readonly CostRow[]][] = [
    [`the budget of ${episodeId}`, budget.per_episode, promised.episode],
    ['the budget of its week', budget.per_week, promised.week],
    ['--max-cost', maxCost, promised.run],
  ];
  for (const [what, cap, rows] of money) {
    if (!priced || cap === undefined || cap === null) continue;
    const before = sum(
      rows.filter((row) => row.unit === config.currency).map((row) => (counts(row) ? row.amount : null)),
    );
    const after = add(before, quote.amount!);
    if (compare(after, cap) <= 0) continue;
    return budgetExceeded(
      `step ${step} may cost ${quote.amount} ${config.currency}; with ${before} before it, that exceeds ${what}, ${cap} ${config.currency}`,
      { episode_id: episodeId, step, cap, before, worst_case: quote.amount, currency: config.currency },
    );
  }
  return refuseQuantity(purchase, promised, config);
}

function refuseQuantity({ episodeId, step, quote }: Purchase, promised: Promised, config: Config): EpisodeError | null {
  const caps = config.budget.quantities;
  for (const [name, wanted] of Object.entries(quote.quantities)) {
    const bounds: [string, string | undefined, readonly CostRow[]][] = [
      [`the cap of ${episodeId}`, caps?.per_episode?.[name], promised.episode],
      ['the cap of its week', caps?.per_week?.[name], promised.week],
    ];
    for (const [what, cap, rows] of bounds) {
      if (cap === undefined) continue;
      const before = sum(rows.map((row) => (counts(row) ? (row.quantities[name] ?? null) : null)));
      if (compare(add(before, wanted), cap) <= 0) continue;
      return budgetExceeded(
        `step ${step} takes ${wanted} ${name}; with ${before} before it, that exceeds ${what}, ${cap}`,
        {
          episode_id: episodeId,
          step,
          quantity: name,
          cap,
          before,
        },
      );
    }
  }
  return null;
}

const sum = (amounts: (string | null)[]): string => add(...amounts.filter((amount) => amount !== null));
