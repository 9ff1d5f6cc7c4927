import { budgetExceeded, budgetMissing, type EpisodeError, unpriced } from '../errors.ts';
import { type Config, mayCharge } from '../model/config.ts';
import type { CostRow } from '../model/episode.ts';
import { weekOfEpisode } from '../model/episode-id.ts';
import { add, compare } from '../model/money.ts';
import type { Sheet } from '../model/sheet.ts';

/** Whether the attempt is free by the provider's own word. */
export const isFree = (sheet: Sheet): boolean => sheet.capabilities.pure === true;

/** The worst case of one attempt: what is reserved before it is sent. */
export interface Quote {
  /** `null`: nobody says. */
  amount: string | null;
  /** What the provider thinks that it will be, and does not promise. */
  about: string | null;
  unit: string;
  basis: string;
  quantities: Record<string, string>;
}

export interface Purchase {
  episodeId: string;
  step: string;
  provider: string;
  free: boolean;
  quote: Quote;
}

/** What is already promised: rows of the episode, of its week (the episode's included), of this command. */
interface Promised {
  episode: readonly CostRow[];
  week: readonly CostRow[];
  run: readonly CostRow[];
}

const counts = (row: CostRow): boolean => row.state !== 'released';

/** What a row takes from a budget in `currency`: the charge, or its worst case when it was charged in another unit. */
const amountIn = (row: CostRow, currency: string): string | null => {
  const known = row.unit === currency ? row : row.worst_case?.unit === currency ? row.worst_case : null;
  return counts(row) ? (known?.amount ?? null) : null;
};

/** What bounds a purchase. */
interface Bound {
  /** As a sentence calls it. */
  what: string;
  /** The setting of pipeline.json, or the option. */
  bound: string;
  cap: string | null;
  rows: readonly CostRow[];
  /** The command that shows what counts. */
  counted: string;
}

/** Names come from a plan: `constructor` is one like any other. */
const capOf = (caps: Record<string, string> | undefined, name: string): string | null =>
  caps && Object.hasOwn(caps, name) ? caps[name]! : null;

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
  const { episodeId, step, provider, free, quote } = purchase;
  if (free) return null;
  const { budget, currency } = config;
  if (budget.per_episode === undefined && maxCost === null && mayCharge(config).includes(provider)) {
    return budgetMissing(provider);
  }
  const ofEpisode = { rows: promised.episode, counted: `episode cost ${episodeId}` };
  const ofWeek = { rows: promised.week, counted: `episode cost --week ${weekOfEpisode(episodeId)}` };
  const bounds: Bound[] = [
    {
      what: `the budget of ${episodeId}`,
      bound: 'budget.per_episode',
      cap: budget.per_episode ?? null,
      ...ofEpisode,
    },
    { what: 'the budget of its week', bound: 'budget.per_week', cap: budget.per_week ?? null, ...ofWeek },
    { what: '--max-cost', bound: '--max-cost', cap: maxCost, rows: promised.run, counted: '' },
  ];
  const price = quote.unit === currency ? quote.amount : null;
  if (price === null) {
    const capped = bounds.some(({ cap }) => cap !== null);
    const bounded = isQuantityCapped(quote, config);
    // A quantity with a cap bounds a budget, and never the sum that this very command was told to keep to.
    return capped && (maxCost !== null || !bounded)
      ? unpriced(episodeId, step, whyUnpriced(provider, quote, currency), bounded ? '--max-cost' : 'budget')
      : refuseQuantity(purchase, promised, config);
  }
  for (const { what, cap, rows, ...named } of bounds) {
    if (cap === null) continue;
    const before = sum(rows.map((row) => amountIn(row, currency)));
    if (compare(add(before, price), cap) <= 0) continue;
    return budgetExceeded(
      `step ${step} may cost ${price} ${currency}; with ${before} before it, that exceeds ${what}, ${cap} ${currency}`,
      named,
      { episode_id: episodeId, step, cap, before, worst_case: price, currency },
    );
  }
  return refuseQuantity(purchase, promised, config);
}

function whyUnpriced(provider: string, { amount, unit, about }: Quote, currency: string): string {
  if (amount !== null) return `${provider} may charge ${amount} ${unit}, and a budget in ${currency} counts no ${unit}`;
  const guess = about === null ? '' : `, for its estimate of ${about} ${unit} is no upper bound`;
  return `nobody says what ${provider} may charge at most${guess}`;
}

const isQuantityCapped = ({ quantities }: Quote, { budget }: Config): boolean =>
  Object.keys(quantities).some(
    (name) => capOf(budget.quantities?.per_episode, name) !== null || capOf(budget.quantities?.per_week, name) !== null,
  );

function refuseQuantity({ episodeId, step, quote }: Purchase, promised: Promised, config: Config): EpisodeError | null {
  const caps = config.budget.quantities;
  for (const [name, wanted] of Object.entries(quote.quantities)) {
    const bounds: Bound[] = [
      {
        what: `the cap of ${episodeId}`,
        bound: `budget.quantities.per_episode.${name}`,
        cap: capOf(caps?.per_episode, name),
        rows: promised.episode,
        counted: `episode cost ${episodeId} --csv`,
      },
      {
        what: 'the cap of its week',
        bound: `budget.quantities.per_week.${name}`,
        cap: capOf(caps?.per_week, name),
        rows: promised.week,
        counted: `episode cost --week ${weekOfEpisode(episodeId)} --csv`,
      },
    ];
    for (const { what, cap, rows, ...named } of bounds) {
      if (cap === null) continue;
      const before = sum(rows.map((row) => (counts(row) ? capOf(row.quantities, name) : null)));
      if (compare(add(before, wanted), cap) <= 0) continue;
      return budgetExceeded(
        `step ${step} takes ${wanted} ${name}; with ${before} before it, that exceeds ${what}, ${cap}`,
        named,
        { episode_id: episodeId, step, quantity: name, cap, before, worst_case: wanted },
      );
    }
  }
  return null;
}

const sum = (amounts: (string | null)[]): string => add(...amounts.filter((amount) => amount !== null));
