import { EpisodeError } from '../errors.ts';
import type { CostRow, Episode } from '../model/episode.ts';
import { add } from '../model/money.ts';
import type { Step } from '../model/plan.ts';
import { type StepView, viewSteps } from '../model/status.ts';
import { faultsOfStep } from '../providers/built-in.ts';
import { type SpendPlan, startable } from './authority.ts';
import { isFree, type Purchase, type Quote, refusePurchase } from './budget.ts';
import { promised } from './claim.ts';
import { quote as quoteOf } from './quote.ts';
import type { SpendServices } from './spend-services.ts';

interface WorstCase {
  /** What would be reserved; `null` when nobody says. */
  amount: string | null;
  unit: string;
  basis: string;
}

interface Priced {
  step: string;
  provider: string;
  kind: string;
  worst_case: WorstCase;
}

export interface Pricing {
  steps: Priced[];
  /** Of the steps with a price in the show's currency. */
  worst_case: string;
  /** Steps whose price nobody says. */
  unpriced: string[];
}

type Asked = Pick<SpendServices, 'provider' | 'config' | 'note'>;

/** The worst case of each step. Starts no task and writes nothing; a provider that cannot be asked leaves its step unpriced. */
export async function price(services: Asked, steps: readonly Step[]): Promise<Pricing> {
  const priced: Priced[] = [];
  for (const step of steps) {
    const { id, provider, kind } = step;
    const worst_case = step.estimate
      ? { ...step.estimate, basis: 'plan' }
      : worstCase((await ask(services, step)).quote);
    priced.push({ step: id, provider, kind, worst_case });
  }
  return { steps: priced, ...sumOf(priced, services.config.currency) };
}

function sumOf(priced: readonly Pick<Priced, 'step' | 'worst_case'>[], currency: string) {
  const inCurrency = priced.filter(({ worst_case }) => worst_case.amount !== null && worst_case.unit === currency);
  return {
    worst_case: add(...inCurrency.map(({ worst_case }) => worst_case.amount!)),
    unpriced: priced.filter((one) => !inCurrency.includes(one)).map(({ step }) => step),
  };
}

const worstCase = ({ amount, unit, basis }: Quote): WorstCase => ({ amount, unit, basis });

/** What a provider says of a step; `refusal` when it cannot be asked. */
async function ask(
  services: Asked,
  step: Step,
): Promise<{ quote: Quote; free: boolean; refusal: EpisodeError | null }> {
  const { currency } = services.config;
  try {
    const provider = await services.provider(step.provider);
    const sheet = await provider.describe();
    return { quote: await quoteOf(step, provider, sheet, currency), free: isFree(sheet), refusal: null };
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    services.note(`${step.provider} cannot be asked about ${step.id}: ${error.message}`);
    const said = step.estimate
      ? { ...step.estimate, basis: 'plan' }
      : { amount: null, unit: currency, basis: 'unknown' };
    return { quote: { ...said, about: null, quantities: step.quantity ?? {} }, free: false, refusal: error };
  }
}

/** What a command would do about one step. */
export interface Foreseen {
  step: string;
  state: StepView['state'];
  would: 'start' | 'refuse' | 'follow' | 'stay';
  /** Why it would be refused. */
  why: string | null;
  worst_case: WorstCase | null;
}

interface Preview {
  episode_id: string;
  status: Episode['status'];
  dry_run: true;
  steps: Foreseen[];
  worst_case: { currency: string; amount: string; unpriced: string[] };
}

/** What `run` would do with this plan right now, step by step, budgets included. Writes nothing and sends nothing. */
export async function preview(
  services: Asked & Pick<SpendServices, 'store'>,
  { episode, authority }: SpendPlan,
): Promise<Preview> {
  const { store, config } = services;
  const rows = await store.view((view) => promised(view, episode, config));
  const run: CostRow[] = [];
  const foreseen = new Map<string, Foreseen>();
  for (const { id, state, step } of startable(episode, authority)) {
    const { quote, free, refusal } = await ask(services, step);
    // A plan of before the version that looks at this.
    const [fault] = faultsOfStep(step, episode.plan!, config);
    const purchase: Purchase = {
      episodeId: episode.episode_id,
      step: id,
      provider: step.provider,
      free,
      quote,
    };
    const counted = { episode: [...rows.episode, ...run], week: [...rows.week, ...run], run };
    const refused = fault ?? (refusal ?? refusePurchase(purchase, counted, config, authority.maxCost))?.message ?? null;
    if (refused === null && !free) run.push(rowOf(purchase));
    foreseen.set(id, {
      step: id,
      state,
      would: refused === null ? 'start' : 'refuse',
      why: refused,
      worst_case: worstCase(quote),
    });
  }
  const steps = viewSteps(episode).map((view) => foreseen.get(view.id) ?? without(view));
  const starting = [...foreseen.values()].flatMap(({ step, would, worst_case }) =>
    would === 'start' && worst_case ? [{ step, worst_case }] : [],
  );
  const { worst_case: amount, unpriced } = sumOf(starting, config.currency);
  return {
    episode_id: episode.episode_id,
    status: episode.status,
    dry_run: true,
    steps,
    worst_case: { currency: config.currency, amount, unpriced },
  };
}

const without = ({ id, state }: StepView): Foreseen => ({
  step: id,
  state,
  would: state === 'accepted' || state === 'running' ? 'follow' : 'stay',
  why: null,
  worst_case: null,
});

const rowOf = ({ step, provider, quote: { amount, unit, basis, quantities } }: Purchase): CostRow => ({
  attempt_id: '',
  step,
  provider,
  state: 'reserved',
  amount,
  unit,
  basis,
  quantities,
  at: '',
});
