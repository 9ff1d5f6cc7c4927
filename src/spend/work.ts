import { attemptInFlight } from '../errors.ts';
import { attemptState } from '../model/attempt.ts';
import type { Attempt, Episode } from '../model/episode.ts';
import { type StepView, viewSteps } from '../model/status.ts';
import type { Provider } from '../providers/provider.ts';
import { readEpisode } from '../record.ts';
import { findAttempt } from './attempts.ts';
import { type Authority, concerns, type Startable, startable } from './authority.ts';
import { isFree } from './budget.ts';
import { claim } from './claim.ts';
import { endOf } from './ends.ts';
import { follow } from './follow.ts';
import { gatherInputs } from './inputs.ts';
import { quote } from './quote.ts';
import type { StepResult } from './report.ts';
import { giveBack, type Reserve, takeReserve } from './reserve.ts';
import { send } from './send.ts';
import type { SpendServices } from './spend-services.ts';

/** One piece of work of one command on one step. */
export type Work =
  | { does: 'start'; view: Startable }
  | { does: 'follow'; view: StepView }
  /** Somebody else is sending it. */
  | { does: 'report'; view: StepView };

/** The command that works: what it may do, until when, and how others know its claims. */
export interface Command {
  episodeId: string;
  authority: Authority;
  token: string;
  /** Milliseconds since the epoch. */
  deadline: number;
  /** Whether a start at this provider is out of the question by now. */
  isOver(provider: string): boolean;
  /** This command claimed the step: whatever comes of it, it is its doing. */
  claimed(step: string): void;
}

export function findWork(episode: Episode, authority: Authority): Work[] {
  const starting = new Map(startable(episode, authority).map((view) => [view.id, view]));
  return viewSteps(episode).flatMap((view): Work[] => {
    if (!concerns(authority, view.id)) return [];
    if (view.state === 'accepted' || view.state === 'running') return [{ view, does: 'follow' }];
    if (view.state === 'claimed' || view.state === 'sending') return [{ view, does: 'report' }];
    const start = starting.get(view.id);
    return start ? [{ view: start, does: 'start' }] : [];
  });
}

/**
 * Does it to its end. `null`: the record changed under it, look again. Throws what the caller must be told; the record
 * says the same.
 */
export async function workOn(
  services: SpendServices,
  command: Command,
  episode: Episode,
  work: Work,
): Promise<StepResult['verdict']> {
  const { view } = work;
  switch (work.does) {
    case 'report': {
      const { attempt_id, claim: held } = view.last!;
      throw attemptInFlight(command.episodeId, view.id, attempt_id, `pid ${held.owner.pid} on ${held.owner.host}`);
    }
    case 'follow':
      await followHome(services, command, view, view.last!, await services.provider(view.last!.provider));
      return 'replay';
    case 'start': {
      const provider = await services.provider(work.view.step.provider);
      const begun = await start(services, command, episode, work.view, provider);
      if (!begun) return null;
      command.claimed(view.id);
      await send(services, targetOf(command, view, begun.attempt), provider, begun.reserve);
      await followHome(services, command, view, await reread(services, command, begun.attempt), provider);
      return 'proceed';
    }
  }
}

const targetOf = ({ episodeId }: Command, view: StepView, attempt: Attempt) => ({
  episodeId,
  step: view.id,
  role: view.step?.role ?? null,
  attempt,
});

async function followHome(
  services: SpendServices,
  command: Command,
  view: StepView,
  attempt: Attempt,
  provider: Provider,
): Promise<void> {
  if (['accepted', 'running'].includes(attemptState(attempt)))
    await follow(services, targetOf(command, view, attempt), provider, command.deadline);
  const end = endOf(await reread(services, command, attempt), command.episodeId, view.id);
  if (end) throw end;
}

async function reread(services: SpendServices, { episodeId }: Command, attempt: Attempt): Promise<Attempt> {
  const episode = await services.store.view((view) => readEpisode(view, episodeId));
  return findAttempt(episode, attempt.attempt_id)!;
}

/** Everything that is read and asked before the claim, and the claim. */
async function start(
  services: SpendServices,
  { episodeId, authority, token, isOver }: Command,
  episode: Episode,
  { step }: Startable,
  provider: Provider,
): Promise<{ attempt: Attempt; reserve: Reserve } | null> {
  const { port, root, config } = services;
  const { verb, reason, mayStart } = authority.starts!;
  const sheet = await provider.describe();
  const inputs = await gatherInputs(services, step, viewSteps(episode));
  const quoted = await quote(step, provider, sheet, config.currency);
  // While that was asked, the provider may have refused for want of funds, or a person stopped us.
  if (isOver(step.provider)) return null;
  const reserve = isFree(sheet) ? [] : await takeReserve(port, root, episode);
  let attempt: Attempt | null = null;
  try {
    const request = { episodeId, step, planSha256: episode.plan_sha256!, verb, reason, token, sheet, quote: quoted };
    const answer = await claim(services, { ...request, inputs, maxCost: authority.maxCost, mayStart });
    attempt = answer.verdict === 'proceed' ? answer.attempt : null;
  } finally {
    if (!attempt) await giveBack(port, root, reserve);
  }
  return attempt && { attempt, reserve };
}
