import type { Attempt, Episode } from '../model/episode.ts';
import { type StepView, viewSteps } from '../model/status.ts';

/** What one command may do about an episode. The loop is the same for all of them; only this differs. */
export interface Authority {
  /** What may be sent; `null`: nothing, it only asks and fetches. */
  starts: {
    verb: Attempt['verb'];
    reason: string | null;
    /** Whether a new attempt of this step may be started, as it stands now. */
    mayStart(view: StepView, episode: Episode): boolean;
  } | null;
  /** Steps it is about: what is in flight, held or failed there is reported. `null`: all. */
  steps: readonly string[] | null;
  /** Upper bound of what this command reserves, in the show's currency. */
  maxCost: string | null;
  /** How long accepted tasks are followed, milliseconds. */
  waitMs: number;
}

/** An episode as it stands, or as it would after what the verb records first, and what is authorised then. */
export interface SpendPlan {
  episode: Episode;
  authority: Authority;
}

export const concerns = ({ steps }: Authority, step: string): boolean => steps === null || steps.includes(step);

export type Startable = StepView & { step: NonNullable<StepView['step']> };

/** Steps that would be sent, in the order of the plan. */
export const startable = (episode: Episode, authority: Authority): Startable[] =>
  viewSteps(episode).filter(
    (view): view is Startable =>
      view.step !== null && concerns(authority, view.id) && authority.starts?.mayStart(view, episode) === true,
  );
