import { type Config, providerType } from '../model/config.ts';
import { inputsOf, type Plan, type Step } from '../model/plan.ts';
import { faultsOfAssembly } from './assembly/params.ts';
import { faultsOfLocal } from './local/params.ts';

/** What the built-in providers object to in a plan, before anything of it is made. */
export const faultsOfBuiltIn = (plan: Plan, config: Config): string[] =>
  plan.steps.flatMap((step) => faultsOfStep(step, plan, config).map((fault) => `step ${step.id}: ${fault}`));

/**
 * The same of one step. They are asked what they would say of the submission itself: what passes here is not refused there
 * for the same reason.
 */
export function faultsOfStep(step: Step, { steps }: Plan, config: Config): string[] {
  const kinds = new Map(steps.map(({ id, kind }) => [id, kind]));
  const wanted = {
    kind: step.kind,
    params: step.params ?? {},
    inputs: inputsOf(step).map((input) => ({
      name: input.name,
      kind: 'step' in input ? kinds.get(input.step) : undefined,
    })),
  };
  switch (providerType(config, step.provider)) {
    case 'assembly':
      return faultsOfAssembly(step.provider, wanted);
    case 'local':
      return faultsOfLocal(step.provider, wanted);
    default:
      return [];
  }
}
