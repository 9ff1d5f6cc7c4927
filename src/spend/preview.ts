import { EpisodeError } from '../errors.ts';
import { add } from '../model/money.ts';
import type { Plan, Step } from '../model/plan.ts';
import { quote } from './quote.ts';
import type { SpendServices } from './services.ts';

export interface Priced {
  step: string;
  provider: string;
  kind: string;
  /** What would be reserved; `amount: null` when nobody says. */
  worst_case: { amount: string | null; unit: string; basis: string };
}

export interface Preview {
  steps: Priced[];
  /** Of the steps with a price in the show's currency. */
  worst_case: string;
  /** Steps whose price nobody says. */
  unpriced: string[];
}

/** The worst case of each step. Starts no task and writes nothing; a provider that cannot be asked leaves its step unpriced. */
export async function price(
  services: Pick<SpendServices, 'provider' | 'config' | 'note'>,
  steps: readonly Step[],
): Promise<Preview> {
  const priced: Priced[] = [];
  for (const step of steps) priced.push(await priceStep(services, step));
  const inCurrency = priced.filter(
    ({ worst_case }) => worst_case.amount !== null && worst_case.unit === services.config.currency,
  );
  return {
    steps: priced,
    worst_case: add(...inCurrency.map(({ worst_case }) => worst_case.amount!)),
    unpriced: priced.filter((one) => !inCurrency.includes(one)).map(({ step }) => step),
  };
}

async function priceStep(services: Pick<SpendServices, 'provider' | 'config' | 'note'>, step: Step): Promise<Priced> {
  const { id, provider: name, kind } = step;
  const { currency } = services.config;
  if (step.estimate) return { step: id, provider: name, kind, worst_case: { ...step.estimate, basis: 'plan' } };
  try {
    const provider = await services.provider(name);
    const { amount, unit, basis } = await quote(step, provider, await provider.describe(), currency);
    return { step: id, provider: name, kind, worst_case: { amount, unit, basis } };
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    services.note(`${name} cannot be asked for the price of ${id}: ${error.message}`);
    return { step: id, provider: name, kind, worst_case: { amount: null, unit: currency, basis: 'unknown' } };
  }
}

/** Every step of the plan with its worst case. */
export const pricePlan = (
  services: Pick<SpendServices, 'provider' | 'config' | 'note'>,
  plan: Plan,
): Promise<Preview> => price(services, plan.steps);
