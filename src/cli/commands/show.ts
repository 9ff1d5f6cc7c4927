import type { Config } from '../../model/config.ts';
import type { Attempt } from '../../model/episode.ts';
import { needsOf } from '../../model/plan.ts';
import { type StepView, viewSteps } from '../../model/status.ts';
import { deliverablesOf } from '../../next.ts';
import { totals } from '../../record.ts';
import { type Shown, show } from '../../show.ts';
import { episode } from '../options.ts';
import { clock, money, price, span, table, when } from '../render.ts';
import type { Verb } from '../verbs.ts';

export const verb: Verb = {
  define(command) {
    command.argument('<id>', 'the episode');
  },
  examples: ['episode show 2026-W32-0', 'episode show 2026-W32-0 --json'],
  exits: [64, 65, 66, 78],
  async run(context, { args }) {
    const id = episode(args[0]);
    const shown = await show({ store: context.reading(), port: context.port }, id);
    return { document: shown, text: await showText(shown, await context.config(), context.port.now()) };
  },
};

async function showText(shown: Shown, config: Config, now: number): Promise<string> {
  const { time_zone: zone, currency, budget } = config;
  const { allocation, status } = shown;
  const from = allocation.schedule
    ? `${allocation.schedule}, slot ${when(allocation.slot!, allocation.time_zone)}`
    : `key ${shown.allocation_key}`;
  const head = `${shown.episode_id}  ${status === 'held' ? 'HELD' : status}   ${from}   ${money(totals(shown.costs), currency, budget.per_episode)}`;
  const title = shown.plan?.title ? [`  ${shown.plan.title}`] : [];
  const rows = viewSteps(shown).map((view) => [
    '',
    stateWord(view),
    view.id,
    view.step?.provider ?? '',
    priceOf(shown, view, currency),
    detail(view, zone, now),
  ]);
  const steps = rows.length > 0 ? [await table(rows)] : [];
  const files = Object.entries(deliverablesOf(shown)).flatMap(([role, file]) =>
    file ? [`  ${role.padEnd(5)}  ${file.path}  ${file.sha256.slice(0, 12)}`] : [],
  );
  const holds = shown.holds
    .filter((hold) => hold.what === 'unknown')
    .flatMap(({ step, commands }) => holdLines(shown, step, commands));
  const other = holds.length > 0 ? [] : shown.next.map((command) => `next: ${command}`);
  return `${[head, ...title, ...steps, ...files, ...holds, ...other].join('\n')}\n`;
}

const holdLines = (shown: Shown, step: string, commands: string[]): string[] => {
  const provider = viewSteps(shown).find((view) => view.id === step)!.last!.provider;
  return [
    `${provider} may have made and charged ${step}. Nothing is sent again until one of these:`,
    ...commands.map((command) => `  ${command}`),
  ];
};

/** `ok` and `UNKNOWN` are what an eye looks for at 23:40; the rest is called what it is. */
function stateWord({ state, gate, writtenOff }: StepView): string {
  if (state === 'succeeded') return gate === 'waiting' ? 'review' : 'ok';
  return state === 'unknown' && !writtenOff ? 'UNKNOWN' : writtenOff ? 'written off' : state;
}

function priceOf(shown: Shown, { last }: StepView, currency: string): string {
  return last
    ? price(
        shown.costs.find((row) => row.attempt_id === last.attempt_id),
        currency,
      )
    : '';
}

function detail(view: StepView, zone: string, now: number): string {
  const { state, last, step } = view;
  if (state === 'waiting') return `needs ${view.missing.join(', ')}`;
  if (!last) return step && needsOf(step).length > 0 ? `after ${needsOf(step).join(', ')}` : '';
  const parts = [endOf(view, last, zone, now), takes(last)].filter((part) => part !== '');
  return parts.join('; ');
}

function endOf({ state, gate, take }: StepView, last: Attempt, zone: string, now: number): string {
  if (state === 'unknown') {
    const sent = last.sending_at ?? last.claim.at;
    return `sent ${clock(sent, zone)}, ${last.outcome?.message ?? last.outcome?.reason ?? 'no answer'}; held ${span(now - Date.parse(sent))}`;
  }
  if (state === 'rejected') return `rejected by ${last.rejection!.by}: "${last.rejection!.reason}"`;
  if (state === 'failed' || state === 'canceled')
    return last.remote?.reason ?? last.outcome?.message ?? last.outcome?.reason ?? '';
  if (state === 'accepted' || state === 'running')
    return `ref ${last.ref}, ${last.remote?.state ?? 'accepted'} since ${clock(last.remote?.at ?? last.claim.at, zone)}`;
  if (state === 'stale') return 'made of what has changed since; still usable';
  if (!take) return last.outcome?.message ?? '';
  return `${gate === 'waiting' ? 'waits for approval since' : gate === 'approved' ? 'approved, made' : 'made'} ${clock(take.finished_at!, zone)}`;
}

const takes = ({ number }: Attempt): string => (number > 1 ? `take ${number}` : '');
