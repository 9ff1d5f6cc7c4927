import { resolve } from 'node:path';
import { type AllocateRequest, allocate } from '../../allocate.ts';
import { checkZones, loadPlan } from '../../config.ts';
import { EpisodeError, unstableKey, usage, weekUnknown } from '../../errors.ts';
import type { Config } from '../../model/config.ts';
import { weekOfDate, weekOfInstant } from '../../model/week.ts';
import type { Context } from '../context.ts';
import { instant, text, week } from '../options.ts';
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
    const notes = [`original episode ${made.episode_id}, created ${made.created_at}; now: ${made.status}`];
    return {
      document: made,
      text: `${made.episode_id}\n`,
      notes: made.verdict === 'replay' ? notes : [],
      committed: made.verdict === 'proceed',
    };
  },
};

async function readRequest(context: Context, options: Record<string, unknown>): Promise<AllocateRequest> {
  const config = await context.configWithoutZones();
  const key = text(options, 'key');
  const schedule = text(options, 'schedule');
  const slot = text(options, 'slot');
  const reason = text(options, 'keyIsStable');
  const issuedAt = text(options, 'issuedAt');
  if ((key === null) === (schedule === null)) {
    throw usage('give either --key or --schedule', 'allocate', 'episode allocate --help');
  }
  if (issuedAt !== null) instant(issuedAt, '--issued-at');
  const asked = { plan: text(options, 'plan'), week: week(options), slot, reason, issuedAt };
  return schedule === null ? typed(context, config, key!, asked) : scheduled(context, config, schedule, asked);
}

interface Asked {
  plan: string | null;
  week: string | null;
  slot: string | null;
  reason: string | null;
  issuedAt: string | null;
}

async function typed(context: Context, config: Config, key: string, asked: Asked): Promise<AllocateRequest> {
  if (key.length > LONGEST_KEY || /[\u0000-\u001f\u007f]/.test(key)) {
    throw usage(`a key has at most ${LONGEST_KEY} characters and no control characters`, '--key');
  }
  const now = context.port.now();
  const fromSlot = asked.slot === null ? null : weekOfSlot(asked.slot, () => checkZones(config).time_zone);
  return {
    ...(await common(context, config, asked, config.time_zone)),
    source: 'typed',
    key,
    week: agreed(asked.week, fromSlot, asked.slot),
    currentWeek: () => weekOfInstant(now, checkZones(config).time_zone),
    schedule: null,
    slot: asked.slot,
    schedulePlan: null,
    refuseNew: await refusalOf(key, asked.reason, context),
  };
}

async function refusalOf(key: string, reason: string | null, context: Context): Promise<EpisodeError | null> {
  if (reason !== null) return null;
  const { whyUnstable } = await import('../../schedulers/unstable.ts');
  const why = whyUnstable(key, context.env, context.port.now());
  return why === null ? null : unstableKey(key, why);
}

async function scheduled(context: Context, unchecked: Config, name: string, asked: Asked): Promise<AllocateRequest> {
  const config = checkZones(unchecked);
  const schedule = config.schedules[name];
  if (!schedule) {
    const known = Object.keys(config.schedules);
    throw new EpisodeError('CONFIGURATION', `pipeline.json has no schedule ${name}`, {
      subject: name,
      hints: [known.length > 0 ? `there is ${known.join(', ')}` : 'add "schedules": { … } to pipeline.json'],
    });
  }
  const zone = schedule.time_zone ?? config.time_zone;
  const { currentSlot, slotGiven } = await import('../../schedulers/slot.ts');
  const now = context.port.now();
  const derived =
    asked.slot === null ? currentSlot(name, schedule, zone, now) : slotGiven(name, schedule, zone, asked.slot);
  if (!derived) throw new EpisodeError('SLOT_UNKNOWN', `schedule ${name} had no slot yet`, { subject: name });
  if (derived.atMs > now) context.talk.note(`allocated early for slot ${derived.slot}`);
  return {
    ...(await common(context, config, asked, zone)),
    source: 'schedule',
    key: derived.key,
    week: agreed(asked.week, derived.week, derived.slot),
    currentWeek: () => derived.week,
    schedule: name,
    slot: derived.slot,
    schedulePlan: schedule.plan
      ? await loadPlan(context.port.disk, `${context.root()}/${schedule.plan}`, schedule.plan, config)
      : null,
    refuseNew: null,
  };
}

async function common({ port, cwd }: Context, config: Config, { plan, reason, issuedAt }: Asked, timeZone: string) {
  return {
    plan: plan === null ? null : await loadPlan(port.disk, resolve(cwd, plan), plan, config),
    issuedAt,
    keyIsStable: reason,
    timeZone,
  };
}

function weekOfSlot(slot: string, zone: () => string): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(slot)) return weekOfInstant(instant(slot, '--slot'), zone());
  const found = weekOfDate(slot);
  if (found === null) throw usage(`--slot ${slot} is no date of the calendar`, slot);
  return found;
}

function agreed(asked: string | null, fromSlot: string | null, slot: string | null): string | null {
  if (asked !== null && fromSlot !== null && asked !== fromSlot) {
    throw weekUnknown(asked, `the slot ${slot} lies in ${fromSlot}`);
  }
  return fromSlot ?? asked;
}
