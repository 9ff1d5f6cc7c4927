import { resolve } from 'node:path';
import { type AllocateRequest, allocate } from '../../allocate.ts';
import { weekAt } from '../../clock.ts';
import { checkZones, readPlan, refusalOfPlan } from '../../config.ts';
import { EpisodeError, keyHasTwin, scheduleFileMissing, unstableKey, usage } from '../../errors.ts';
import type { Config, Schedule } from '../../model/config.ts';
import { nearestName } from '../../model/issues.ts';
import type { Plan } from '../../model/plan.ts';
import { isCalendarDate, weekOfDate } from '../../model/week.ts';
import { ancestors } from '../../process-identity.ts';
import type { DerivedSlot, NamedSchedule } from '../../schedulers/slot.ts';
import type { Context } from '../context.ts';
import { instant, text, week } from '../options.ts';
import { statement } from '../statement.ts';
import type { Verb } from '../verbs.ts';

const LONGEST_KEY = 512;

export const verb: Verb = {
  define(command) {
    command
      .option('--key <key>', 'stable identity of the run that asks, e.g. scheduled-run:2026-08-07')
      .option('--schedule <name>', 'the slot of now of a schedule in pipeline.json')
      .option('--week <week>', 'ISO week, e.g. 2026-W32; else that of the slot, else that of now')
      .option('--slot <time>', 'the scheduled instant with offset, or its date')
      .option('--plan <file>', 'a plan file; part of what makes two requests the same')
      .option('--issued-at <time>', 'when the request was first made, with offset')
      .option('--key-is-stable <reason>', 'a key that looks as if it changed on a retry is really kept');
  },
  examples: [
    'episode allocate --schedule friday',
    'episode allocate --key "scheduled-run:2026-08-07" --slot 2026-08-07',
    'episode allocate --key "extra:launch" --week 2026-W32 --plan plans/extra.json',
  ],
  exits: [10, 64, 65, 73, 74, 75, 77, 78],
  async run(context, { options }) {
    const request = await readRequest(context, options);
    const made = await allocate({ store: context.writing(), port: context.port, root: context.root() }, request);
    const original = `original episode ${made.episode_id}, created ${made.created_at}; now: ${made.status}`;
    const early = request.source === 'schedule' && Date.parse(request.slot!) > context.port.now();
    return {
      document: made,
      text: `${made.episode_id}\n`,
      notes: made.verdict === 'replay' ? [original] : early ? [`allocated early, for the slot ${request.slot}`] : [],
      committed: made.verdict === 'proceed',
    };
  },
};

async function readRequest(context: Context, options: Record<string, unknown>): Promise<AllocateRequest> {
  const config = await context.configWithoutZones();
  const key = text(options, 'key');
  const schedule = text(options, 'schedule');
  if ((key === null) === (schedule === null)) {
    throw usage('give either --key or --schedule', 'allocate', 'episode allocate --help');
  }
  const issuedAt = text(options, 'issuedAt');
  const asked: Asked = {
    week: week(options),
    slot: readSlot(text(options, 'slot')),
    plan: await readGivenPlan(context, text(options, 'plan')),
    keyIsStable: text(options, 'keyIsStable') === null ? null : statement(options, 'keyIsStable'),
    issuedAt: issuedAt === null ? null : rfc3339(instant(issuedAt, '--issued-at')),
  };
  return schedule === null
    ? typed(context, config, key!, asked)
    : scheduled(context, checkZones(config), schedule, asked);
}

interface Asked {
  week: string | null;
  slot: GivenSlot | null;
  plan: { name: string; plan: Plan } | null;
  keyIsStable: string | null;
  issuedAt: string | null;
}

/** `--slot`, whose week depends on a zone only when it is an instant. */
type GivenSlot = { date: string } | { atMs: number; given: string };

function readSlot(given: string | null): GivenSlot | null {
  if (given === null) return null;
  if (given.length !== 'YYYY-MM-DD'.length) return { atMs: instant(given, '--slot', 'or a date: 2026-08-07'), given };
  if (!isCalendarDate(given)) throw usage(`--slot ${given} is no date of the calendar`, given, 'write 2026-08-07');
  return { date: given };
}

async function readGivenPlan({ port, cwd }: Context, name: string | null): Promise<Asked['plan']> {
  return name === null ? null : { name, plan: await readPlan(port.disk, resolve(cwd, name), name) };
}

async function typed(context: Context, config: Config, key: string, asked: Asked): Promise<AllocateRequest> {
  if (key.length > LONGEST_KEY || /[\u0000-\u001f\u007f-\u009f]/.test(key)) {
    throw usage(`a key has at most ${LONGEST_KEY} characters and no control characters`, '--key');
  }
  const zone = (): string => checkZones(config).time_zone;
  const now = context.port.now();
  const fromSlot = asked.slot && (await weekOfSlot(asked.slot, zone));
  const contradicted = fromSlot && contradiction(asked, fromSlot);
  if (contradicted) throw contradicted;
  const week = fromSlot ?? asked.week;
  return {
    ...common(asked),
    source: 'typed',
    key,
    week,
    currentWeek: () => weekAtOrRefuse(now, config),
    byClock: week === null,
    schedule: null,
    slot: asked.slot && ('date' in asked.slot ? asked.slot.date : rfc3339(asked.slot.atMs)),
    timeZone: config.time_zone,
    schedulePlan: null,
    refuseNew: async () => (await refusalOf(key, asked, context)) ?? refusalOfGiven(asked, config),
  };
}

/** A zone that cannot be counted in is a fault of `pipeline.json`, found when it is needed. */
async function weekAtOrRefuse(now: number, config: Config): Promise<string> {
  try {
    return await weekAt(now, config.time_zone);
  } catch (error) {
    checkZones(config);
    throw error;
  }
}

async function refusalOf(key: string, { keyIsStable }: Asked, context: Context): Promise<EpisodeError | null> {
  const { twinOf, whyUnstable } = await import('../../schedulers/unstable.ts');
  const twin = twinOf(key);
  if (twin !== null) return keyHasTwin(key, twin);
  if (keyIsStable !== null) return null;
  const why = whyUnstable(key, context.env, context.port.now(), ancestors);
  return why === null ? null : unstableKey(key, why);
}

const refusalOfGiven = async ({ plan }: Asked, config: Config): Promise<EpisodeError | null> =>
  plan && refusalOfPlan(plan.plan, plan.name, config);

async function scheduled(context: Context, config: Config, name: string, asked: Asked): Promise<AllocateRequest> {
  const schedule = scheduleOf(config, name);
  const named = { name, schedule, zone: schedule.time_zone ?? config.time_zone };
  const now = context.port.now();
  const derived = await deriveSlot(named, asked.slot, now);
  const plan = asked.plan === null && schedule.plan ? await planOfSchedule(context, config, schedule.plan) : null;
  return {
    ...common(asked),
    source: 'schedule',
    key: derived.key,
    // The key says which release it is, so only a week that was asked for can contradict it.
    week: asked.week,
    currentWeek: () => derived.week,
    byClock: asked.slot === null,
    schedule: name,
    slot: derived.slot,
    timeZone: named.zone,
    schedulePlan: plan?.plan ?? null,
    refuseNew: async () =>
      contradiction(asked, derived.week) ?? (await refusalOfGiven(asked, config)) ?? (await plan?.refusal()) ?? null,
  };
}

function scheduleOf(config: Config, name: string): Schedule {
  if (Object.hasOwn(config.schedules, name)) return config.schedules[name]!;
  const known = Object.keys(config.schedules);
  const nearest = nearestName(name, known);
  throw new EpisodeError('CONFIGURATION', `pipeline.json has no schedule ${name}`, {
    subject: name,
    hints: [
      ...(nearest === null ? [] : [`episode allocate --schedule ${nearest}  # is that one meant?`]),
      known.length > 0 ? `there is ${known.join(', ')}` : 'add "schedules": { … } to pipeline.json',
    ],
  });
}

async function deriveSlot(named: NamedSchedule, given: GivenSlot | null, now: number): Promise<DerivedSlot> {
  const { currentSlot, slotAtInstant, slotOnDate } = await import('../../schedulers/slot.ts');
  if (given !== null)
    return 'date' in given ? slotOnDate(named, given.date) : slotAtInstant(named, given.atMs, given.given);
  const derived = currentSlot(named, now);
  if (derived) return derived;
  throw new EpisodeError('SLOT_UNKNOWN', `schedule ${named.name} has had no slot yet`, {
    subject: named.name,
    hints: [`its expression is "${named.schedule.cron}", in ${named.zone}`],
  });
}

/** Frozen when the episode is made: whatever is wrong with it later says nothing against a retry. */
async function planOfSchedule(
  { port, root }: Context,
  config: Config,
  path: string,
): Promise<{ plan: Plan | null; refusal: () => Promise<EpisodeError | null> }> {
  try {
    const plan = await readPlan(port.disk, `${root()}/${path}`, path);
    return { plan, refusal: () => refusalOfPlan(plan, path, config) };
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    return { plan: null, refusal: async () => (error.code === 'FILE_NOT_FOUND' ? scheduleFileMissing(path) : error) };
  }
}

const common = ({ plan, keyIsStable, issuedAt }: Asked) => ({ plan: plan?.plan ?? null, keyIsStable, issuedAt });

const rfc3339 = (atMs: number): string => new Date(atMs).toISOString().replace('.000Z', 'Z');

const weekOfSlot = async (slot: GivenSlot, zone: () => string): Promise<string> =>
  'date' in slot ? weekOfDate(slot.date) : weekAt(slot.atMs, zone());

/** A request that names a slot and another week than the slot's; `null` when both say the same. */
function contradiction({ week, slot }: Asked, fromSlot: string): EpisodeError | null {
  const given = slot === null ? 'of now' : 'date' in slot ? slot.date : slot.given;
  if (week === null || week === fromSlot) return null;
  return usage(
    `--week ${week} contradicts the slot ${given}, which lies in ${fromSlot}`,
    week,
    'leave one of them out',
  );
}
