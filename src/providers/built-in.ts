import type { Config } from '../model/config.ts';
import { ASSEMBLY, inputsOf, type Plan, type Step } from '../model/plan.ts';
import { faultsOfAssembly } from './assembly/params.ts';
import { faultsOfLocal } from './local/params.ts';

/**
 * What the built-in providers object to in a plan, before anything of it is made. They are asked what they would say of
 * the submission itself: what passes here is not refused there for the same reason.
 */
export function faultsOfBuiltIn({ steps }: Plan, { providers }: Config): string[] {
  const kinds = new Map(steps.map(({ id, kind }) => [id, kind]));
  const wanted = (step: Step) => ({
    kind: step.kind,
    params: step.params ?? {},
    inputs: inputsOf(step).map((input) => ({
      name: input.name,
      kind: 'step' in input ? kinds.get(input.step) : undefined,
    })),
  });
  const faultsOf = (step: Step): string[] => {
    const { provider } = step;
    if (provider === ASSEMBLY) return faultsOfAssembly(provider, wanted(step));
    const type = Object.hasOwn(providers, provider) ? providers[provider]!.type : provider;
    return type === 'local' ? faultsOfLocal(provider, wanted(step)) : [];
  };
  return steps.flatMap((step) => faultsOf(step).map((fault) => `step ${step.id}: ${fault}`));
}
