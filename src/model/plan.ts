import * as z from 'zod/mini';
import { decimal, name, showPath } from './scalars.ts';

/** The built-in provider that makes the deliverable out of clips: free, local, in every show. */
export const ASSEMBLY = 'assembly';

/** What a step is given: the output of another step, or a file of the show. `name` is what the provider sees. */
const StepInput = z.lazy(() =>
  z.union([z.strictObject({ name: name, step: name }), z.strictObject({ name: name, file: showPath })]),
);
type StepInput = z.infer<typeof StepInput>;

/** `video, image, audio` outputs are decoded before they count; `text` and `file` are only hashed. */
export const Kind = z.enum(['video', 'image', 'audio', 'text', 'file']);
export type Kind = z.infer<typeof Kind>;

const step = () => ({
  id: name,
  provider: name,
  kind: Kind,
  params: z.optional(z.record(z.string(), z.unknown())),
  inputs: z.optional(z.array(StepInput)),
  needs: z.optional(z.array(name)),
  /** A person must approve the output before anything that needs it starts. */
  review: z.optional(z.boolean()),
  role: z.optional(z.enum(['media', 'cover'])),
  /** The worst case that is reserved before the step is sent. */
  estimate: z.optional(z.strictObject({ amount: decimal, unit: z.string() })),
  /** What budgets in quantities count, e.g. `{ "video_seconds": "8" }`. */
  quantity: z.optional(z.record(name, decimal)),
});
const Step = z.lazy(() => z.strictObject(step()));
export type Step = z.infer<typeof Step>;

const head = () => ({ format: z.literal(1), title: z.optional(z.string().check(z.maxLength(500))) });

/** A plan file: what it says and is not known is a mistake. */
export const Plan = z.lazy(() =>
  z.strictObject({ ...head(), steps: z.array(Step).check(z.minLength(1), z.maxLength(500)) }),
);
export type Plan = z.infer<typeof Plan>;

/** A plan in a record: what a later version added is kept, and it was a plan that can be carried out. */
export const RecordedPlan = z.lazy(() =>
  z
    .looseObject({ ...head(), steps: z.array(z.looseObject(step())).check(z.minLength(1)) })
    .check(z.refine((plan) => faultsOfSteps(plan.steps).length === 0, 'steps that fit together')),
);

/** Steps that must be usable before `step` starts: what it names in `needs` and what its inputs come from. */
export function needsOf(step: Step): string[] {
  const fromInputs = (step.inputs ?? []).flatMap((input) => ('step' in input ? [input.step] : []));
  return [...new Set([...(step.needs ?? []), ...fromInputs])];
}

/** What a step is given, in order. An assembly without `inputs` joins what it needs, in the order of `needs`. */
export function inputsOf(step: Step): StepInput[] {
  if (step.inputs) return step.inputs;
  return step.provider === ASSEMBLY ? needsOf(step).map((id) => ({ name: id, step: id })) : [];
}

/** Every reason why the plan cannot be carried out; empty when it can. `providers`: the names that may be used. */
export function faultsOfPlan({ steps }: Plan, providers: ReadonlySet<string>): string[] {
  const known = [...providers].sort().join(', ');
  const unknown = steps.filter((step) => !providers.has(step.provider));
  return [
    ...unknown.map((step) => `step ${step.id}: no provider "${step.provider}" (there is ${known})`),
    ...faultsOfSteps(steps),
  ];
}

function faultsOfSteps(steps: readonly Step[]): string[] {
  const ids = new Set(steps.map((step) => step.id));
  const faults: string[] = [];
  for (const [index, step] of steps.entries()) {
    if (steps.findIndex((other) => other.id === step.id) < index) faults.push(`step ${step.id} is there twice`);
    for (const need of needsOf(step))
      if (!ids.has(need)) faults.push(`step ${step.id} needs ${need}, which is not in the plan`);
    const names = inputsOf(step).map((input) => input.name);
    const twice = names.find((input, position) => names.indexOf(input) < position);
    if (twice) faults.push(`step ${step.id} has two inputs named ${twice}`);
  }
  for (const role of ['media', 'cover'] as const) {
    const having = steps.filter((step) => step.role === role).map((step) => step.id);
    if (having.length > 1) faults.push(`role ${role} is claimed by ${having.join(' and ')}`);
  }
  const cycle = findCycle(steps);
  if (cycle) faults.push(`steps need each other in a circle: ${cycle.join(' -> ')}`);
  return faults;
}

function findCycle(steps: readonly Step[]): string[] | null {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const done = new Set<string>();
  const visit = (id: string, path: string[]): string[] | null => {
    const seen = path.indexOf(id);
    if (seen >= 0) return [...path.slice(seen), id];
    if (done.has(id)) return null;
    for (const need of needsOf(byId.get(id)!)) {
      const cycle = byId.has(need) ? visit(need, [...path, id]) : null;
      if (cycle) return cycle;
    }
    done.add(id);
    return null;
  };
  for (const step of steps) {
    const cycle = visit(step.id, []);
    if (cycle) return cycle;
  }
  return null;
}
