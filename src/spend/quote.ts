import type { Step } from '../model/plan.ts';
import type { Sheet } from '../model/sheet.ts';
import type { Provider } from '../providers/provider.ts';
import { isFree, type Quote } from './budget.ts';

/** The worst case of a step: what its plan says, else the provider's own upper bound; `amount: null` when nobody says. */
export async function quote(step: Step, provider: Provider, sheet: Sheet, currency: string): Promise<Quote> {
  const quantities = step.quantity ?? {};
  if (isFree(sheet)) return { amount: '0', about: null, unit: currency, basis: 'free', quantities };
  if (step.estimate) return { ...step.estimate, about: null, basis: 'plan', quantities };
  const estimate = await provider.estimate?.(step.kind, step.params ?? {});
  const amount = estimate?.max ?? (estimate?.basis === 'quoted' ? estimate.amount : null) ?? null;
  const { unit = currency, basis = 'unknown', amount: about = null } = estimate ?? {};
  return { amount, about, unit, basis, quantities };
}
