import { type Config, providerType } from '../../model/config.ts';
import type { Attempt } from '../../model/episode.ts';
import { needsOf } from '../../model/plan.ts';
import { isAtWork, isHeld, type StepView, viewSteps } from '../../model/status.ts';
import { deliverablesOf } from '../../next.ts';
import { totals } from '../../record.ts';
import { type Shown, show } from '../../show.ts';
import { firstSentAt } from '../../spend/attempts.ts';
import { settledBy, waysOutOf, whyUnknown } from '../../spend/ends.ts';
import { episode } from '../options.ts';
import { oneLine } from '../printable.ts';
import { money, price, span, table } from '../render.ts';
import { clock, minute, type Reader, when } from '../times.ts';
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
  const { currency, budget } = config;
  const { allocation, status } = shown;
  const reader = { zone: config.time_zone, now };
  const views = viewSteps(shown);
  const from = allocation.schedule
    ? `${allocation.schedule}, slot ${when(allocation.slot!, allocation.time_zone)}`
    : `key ${shown.allocation_key}`;
  const cost = money(totals(shown.costs), currency, budget.per_episode);
  const head = `${shown.episode_id}  ${status === 'held' ? 'HELD' : status}   ${oneLine(from)}   ${cost}`;
  const rows = views.map((view) => [
    stateWord(view),
    view.id,
    view.step?.provider ?? view.last?.provider ?? '',
    priceOf(shown, view, config),
    detail(shown, view, reader),
  ]);
  const files = Object.entries(deliverablesOf(shown)).flatMap(([role, file]) =>
    file ? [`  ${role.padEnd(5)}  ${file.path}  ${file.sha256.slice(0, 12)}`] : [],
  );
  const lines = [
    head,
    ...(shown.plan?.title ? [`  ${oneLine(shown.plan.title)}`] : []),
    ...(shown.closed ? [`  closed by ${oneLine(`${shown.closed.by}: ${shown.closed.reason}`)}`] : []),
    ...(rows.length > 0 ? (await table(rows, [3])).split('\n').map((line) => `  ${line}`) : []),
    ...files,
    ...views.flatMap((view) => holdLines(shown, view, config.currency, reader)),
    ...restOfNext(shown).map((command) => `next: ${command}`),
    ...views.flatMap((view) => cancelLine(shown, view)),
  ];
  return `${lines.join('\n')}\n`;
}

function holdLines(shown: Shown, view: StepView, currency: string, reader: Reader): string[] {
  const hold = shown.holds.find(({ step, what }) => step === view.id && what !== 'approval');
  if (!hold) return [];
  const { at_risk, asked, called } = hold;
  const atRisk = at_risk && `${at_risk.amount ?? 'what it cost'}${at_risk.unit === currency ? '' : ` ${at_risk.unit}`}`;
  const ways = waysOutOf(shown.episode_id, view.id, view.last!, { atRisk, now: reader.now });
  const lines = ways.map(({ does, command, means }) => {
    const last = asked && does === 'ask' ? `; last asked ${minute(asked.at, reader)}: ${asked.said}` : '';
    const what = does === 'accepted' ? ` (${[minute(hold.since, reader), ...wordsOf(view.last!)].join(', ')})` : '';
    return [command, `${means}${last}${what}`] as const;
  });
  const width = Math.max(...lines.map(([command]) => command.length));
  const evidence = evidenceOf(called?.evidence ?? {}, view.last!);
  return [
    `${whatIsHeld(view)}. Nothing is sent again until one of these:`,
    ...lines.map(([command, means]) => `  ${command.padEnd(width)}  # ${oneLine(means)}`),
    ...(view.state === 'unknown'
      ? [`  it was sent as ${called!.client_ref}${evidence ? `; it said ${oneLine(evidence)}` : ''}`]
      : []),
  ];
}

/** What it said beside the message, which stands with the step already. */
function evidenceOf(evidence: Record<string, unknown>, { outcome }: Attempt): string {
  const more = Object.entries(evidence).filter(([, value]) => value !== outcome?.message);
  return more.length === 0 ? '' : brief(JSON.stringify(Object.fromEntries(more)), EVIDENCE);
}

const EVIDENCE = 300;
const WORDS = 40;

const brief = (text: string, longest: number): string => (text.length <= longest ? text : `${text.slice(0, longest)}…`);

/** What a person recognises it by in a list of the provider's: the first text that was asked for. */
function wordsOf({ params }: Attempt): string[] {
  const words = Object.values(params).find((value) => typeof value === 'string' && /\p{L}.*\s/u.test(value));
  return typeof words === 'string' ? [`"${brief(words, WORDS)}"`] : [];
}

function whatIsHeld({ id, last, state }: StepView): string {
  const { provider, ref } = last!;
  if (state === 'unknown') return `${provider} may have made and charged ${id}`;
  const by = settledBy(last!);
  return by === null
    ? `${provider} accepted ${id} and no longer has it`
    : `${provider} does not have ${ref}, which ${oneLine(by)} gave for ${id}`;
}

/** What runs can be stopped where its provider has a way to. */
function cancelLine({ episode_id }: Shown, view: StepView): string[] {
  const { id, last } = view;
  const can =
    last !== null && isAtWork(view) && last.ref !== null && (last.sheet.capabilities.cancel ?? 'none') !== 'none';
  return can && last.remote?.state !== 'done' ? [`or stop it: episode cancel ${episode_id} --step ${id}`] : [];
}

/** What is to be done beside the ways out of holds, which stand there with what they mean. */
function restOfNext(shown: Shown): string[] {
  const said = new Set(shown.holds.flatMap((hold) => (hold.what === 'approval' ? [] : hold.commands)));
  return shown.next.filter((command) => !said.has(command));
}

/** `ok` and what is held are what an eye looks for at 23:40; the rest is called what it is. */
function stateWord(view: StepView): string {
  const { state, gate, writtenOff } = view;
  if (writtenOff) return 'written off';
  if (isHeld(view)) return state === 'unknown' ? 'UNKNOWN' : 'LOST';
  if (state === 'succeeded') return gate === 'waiting' ? 'review' : 'ok';
  return state;
}

/** All that was or may be charged for the step, earlier takes included. */
function priceOf(shown: Shown, { id, step, last }: StepView, config: Config): string {
  const rows = shown.costs.filter((row) => row.step === id);
  const isBuiltIn = ['assembly', 'local'].includes(providerType(config, step?.provider ?? '') ?? '');
  const isFree = last ? rows.length === 0 : isBuiltIn;
  return isFree ? 'free' : price(rows, config.currency);
}

function detail(shown: Shown, view: StepView, reader: Reader): string {
  const { state, last, step } = view;
  if (state === 'waiting') return `needs ${view.missing.join(', ')}`;
  if (!last) return step && needsOf(step).length > 0 ? `after ${needsOf(step).join(', ')}` : '';
  return [endOf(shown, view, last, reader), takesOf(shown, view)].filter((part) => part !== '').join('; ');
}

function endOf(shown: Shown, view: StepView, last: Attempt, reader: Reader): string {
  const { state, gate, take, writtenOff } = view;
  if (writtenOff)
    return `by ${last.settlement!.by} ${minute(last.settlement!.at, reader)}: ${last.settlement!.evidence}`;
  switch (state) {
    case 'unknown': {
      const since = firstSentAt(last);
      const again = last.resends?.at(-1);
      const began = `${last.sending_at ? 'sent' : 'started'} ${clock(since, reader)}${again ? `, again ${clock(again.at, reader)}` : ''}`;
      return `${began}, ${whyUnknown(last)}; held ${span(reader.now - Date.parse(since))}`;
    }
    case 'rejected':
      return `by ${last.rejection!.by} ${minute(last.rejection!.at, reader)}: "${last.rejection!.reason}"`;
    case 'failed':
    case 'canceled':
      return last.remote?.reason ?? canceledBy(last, reader) ?? last.outcome?.message ?? last.outcome?.reason ?? '';
    case 'accepted':
    case 'running': {
      const since = last.remote?.at ?? last.outcome?.at ?? last.claim.at;
      const held = isHeld(view) ? `; held ${span(reader.now - Date.parse(since))}` : '';
      const asked = last.cancellation ? `; asked to cancel ${minute(last.cancellation.at, reader)}` : '';
      return `ref ${last.ref}, ${last.remote?.state ?? 'accepted'} since ${minute(since, reader)}${held}${asked}`;
    }
    case 'claimed':
    case 'sending':
      return `by pid ${last.claim.owner.pid} on ${last.claim.owner.host} since ${clock(last.claim.at, reader)}`;
    case 'ready':
      return last.settlement
        ? `${last.settlement.by} says that it was not accepted: ${last.settlement.evidence}`
        : `nothing was bought: ${last.outcome?.message ?? last.outcome?.reason ?? ''}`;
    case 'stale':
      return 'made of what has changed since; still usable';
    default:
      if (!take) return '';
      if (gate === 'waiting') return `waits for approval since ${minute(take.finished_at!, reader)}`;
      return gate === 'approved' ? approval(shown, view.id, take, reader) : `made ${minute(take.finished_at!, reader)}`;
  }
}

const canceledBy = ({ cancellation, remote }: Attempt, reader: Reader): string | null =>
  cancellation && remote?.state === 'canceled' ? `by ${cancellation.by} ${minute(cancellation.at, reader)}` : null;

function approval(shown: Shown, step: string, take: Attempt, reader: Reader): string {
  const found = shown.approvals.findLast((one) => one.step === step && one.attempt_id === take.attempt_id);
  return found ? `approved by ${found.by} ${minute(found.at, reader)}` : '';
}

/** `take 2 (take 1 rejected: "six fingers")`: what became of the ones before. */
function takesOf(shown: Shown, { id, last }: StepView): string {
  if (!last || last.number === 1) return '';
  const attempts = shown.steps.find((record) => record.id === id)!.attempts;
  const rejected = attempts.filter((attempt) => attempt.rejection !== null && attempt !== last);
  const before = rejected.map(({ number, rejection }) => `take ${number} rejected: "${rejection!.reason}"`);
  return `take ${last.number}${before.length > 0 ? ` (${before.join(', ')})` : ''}`;
}
