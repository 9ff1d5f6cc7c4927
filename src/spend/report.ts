import type { EpisodeError } from '../errors.ts';
import type { CostRow, Episode } from '../model/episode.ts';
import { isHeld, type StepView, viewSteps } from '../model/status.ts';
import { nextCommands } from '../next.ts';
import { totals } from '../record.ts';

export interface StepResult {
  step: string;
  state: StepView['state'];
  /** Given up by a person without knowing; its state stays `unknown`. */
  written_off: boolean;
  /** `null` for a step this command had nothing to do with. */
  verdict: 'proceed' | 'replay' | 'inflight' | 'unknown' | null;
  attempt_id: string | null;
  ref: string | null;
}

export interface RunResult {
  episode: Episode;
  steps: StepResult[];
  /** What went wrong, step by step; the records say the same. */
  failures: EpisodeError[];
}

/** How the steps stand, and what this command did about each. */
export const stepResults = (episode: Episode, verdicts: ReadonlyMap<string, StepResult['verdict']>): StepResult[] =>
  viewSteps(episode).map((view) => ({
    step: view.id,
    state: view.state,
    written_off: view.writtenOff,
    verdict: isHeld(view) ? 'unknown' : (verdicts.get(view.id) ?? null),
    attempt_id: view.last?.attempt_id ?? null,
    ref: view.last?.ref ?? null,
  }));

/** What the paid verbs, `reconcile` and `settle` answer. */
export interface SpendReport {
  episode_id: string;
  status: Episode['status'];
  steps: (StepResult & { cost: Pick<CostRow, 'state' | 'amount' | 'unit'> | null })[];
  /** In the show's currency; other units are in `other_units`, never added. */
  cost: {
    currency: string;
    settled: string;
    reserved: string;
    possible: string;
    other_units?: ReturnType<typeof totals>;
  };
  next: string[];
}

export interface SpendAnswer {
  report: SpendReport;
  failures: EpisodeError[];
}

export function reportOf({ episode, steps, failures }: RunResult, currency: string): SpendAnswer {
  const sums = totals(episode.costs);
  const { settled = '0', reserved = '0', possible = '0' } = sums.find((total) => total.unit === currency) ?? {};
  const others = sums.filter((total) => total.unit !== currency);
  const costOf = (attemptId: string | null) => {
    const row = episode.costs.find((candidate) => candidate.attempt_id === attemptId);
    return row ? { state: row.state, amount: row.amount, unit: row.unit } : null;
  };
  return {
    report: {
      episode_id: episode.episode_id,
      status: episode.status,
      steps: steps.map((step) => ({ ...step, cost: costOf(step.attempt_id) })),
      cost: { currency, settled, reserved, possible, ...(others.length > 0 && { other_units: others }) },
      next: nextCommands(episode, refusedByBudget(failures)),
    },
    failures,
  };
}

/**
 * Steps that a budget refused: until a person raises it, as the error says, the same is refused again. `--max-cost` is a
 * bound of one command only. The record knows nothing of it, for nothing was sent.
 */
const refusedByBudget = (failures: readonly EpisodeError[]): ReadonlySet<string> =>
  new Set(
    failures.flatMap(({ code, details: { step, bound } }) =>
      ['BUDGET_EXCEEDED', 'UNPRICED'].includes(code) && bound !== '--max-cost' ? [String(step)] : [],
    ),
  );
