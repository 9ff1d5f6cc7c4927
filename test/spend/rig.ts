import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { CostRow, Episode, History } from '../../src/model/episode.ts';
import type { Step } from '../../src/model/plan.ts';
import type { SpendReport } from '../../src/spend/report.ts';
import { checkLedger } from '../ledger-check.ts';
import { type Answer, episode, makeShow, type Ran, type RunOptions, start, temporaryDirectory } from '../rig.ts';
import { type LineOptions, runLine } from '../run-line.ts';

export const ADAPTER = fileURLToPath(new URL('../../fixtures/bin/adapter.mjs', import.meta.url));

/** Answers with the result itself: two short processes a step instead of five. */
export const SYNC = { sheet: { capabilities: { submit: 'sync' } } };
/** Gives no promise about when it sends. */
export const SILENT = { sheet: { capabilities: { submit: 'sync', announces_sending: false } } };

/** The episode that a house's first allocation makes. */
export const ID = '2026-W32-0';

/** A step of a plan that costs 0.40 USD at most. */
export const step = (id: string, more: Partial<Step> = {}): Step => ({
  id,
  provider: 'house',
  kind: 'text',
  estimate: { amount: '0.40', unit: 'USD' },
  ...more,
});

/** A step whose submission and task go by a scenario of their own. */
export const scripted = (id: string, scenario: object) => step(id, { params: { scenario } });

interface Submission {
  attempt_id: string;
  client_ref: string;
  ref: string;
  params: Record<string, unknown>;
}

/** What the paid verbs print under `--json`. */
type Spent = Answer & SpendReport;

/** A show with the scripted adapter as its provider `house`, and the program run in it. */
export async function makeHouse({ scenario = SYNC as object, config = {} as object } = {}) {
  const home = await temporaryDirectory();
  const scenarioFile = join(home, 'scenario.json');
  const script = (next: object): void => writeFileSync(scenarioFile, JSON.stringify(next));
  script(scenario);
  const house = { type: 'exec', command: [ADAPTER], env: ['ADAPTER_HOME', 'ADAPTER_SCENARIO'] };
  const root = await makeShow({ config: { budget: { per_episode: '20.00' }, providers: { house }, ...config } });
  const env = { ADAPTER_HOME: home, ADAPTER_SCENARIO: scenarioFile };
  const withEnv = (options: RunOptions = {}): RunOptions => ({ ...options, env: { ...env, ...options.env } });
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const records = <T>(log: string): T[] => {
    const path = join(home, log);
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
    return lines.filter(Boolean).map((line) => JSON.parse(line));
  };
  const line = (args: string[], { env: more, ...options }: LineOptions = {}): Promise<Ran> =>
    runLine(root, args, { ...options, env: { ...env, ...more } });

  return {
    root,
    home,
    env,
    script,
    /** A process of the program. */
    run: (args: string[], options?: RunOptions): Promise<Ran> => episode(root, args, withEnv(options)),
    start: (args: string[], options?: RunOptions) => start(root, args, withEnv(options)),
    /** The same answer in this process. */
    line,
    /** The same with `--json`, expected to exit with `code`. */
    async json(code: number, args: string[], options?: LineOptions): Promise<Spent> {
      const ran = await line([...args, '--json'], options);
      expect({ code: ran.code, said: ran.code === code ? '' : ran.stderr }).toEqual({ code, said: '' });
      return ran.json as Spent;
    },
    writePlan(steps: Step[], name = 'plan.json'): string {
      writeFileSync(join(root, name), JSON.stringify({ format: 1, steps }));
      return name;
    },
    /** A new episode with these steps. */
    async allocate(steps: Step[], key = 'release-1'): Promise<string> {
      const file = this.writePlan(steps);
      const ran = await line(['allocate', '--key', key, '--week', '2026-W32', '--plan', file]);
      expect([ran.code, ran.stderr]).toEqual([0, '']);
      return ran.stdout.trim();
    },
    record: (id: string = ID): Episode => JSON.parse(read(`state/${id.slice(0, 8)}/${id}.json`)),
    history: (): History => JSON.parse(read('history/2026-W32.json')),
    costs(id: string = ID): Pick<CostRow, 'step' | 'state' | 'amount'>[] {
      return this.record(id).costs.map(({ step: of, state, amount }) => ({ step: of, state, amount }));
    },
    states(id: string = ID): Record<string, string> {
      return Object.fromEntries(this.record(id).steps.map(({ id: of, state }) => [of, state]));
    },
    read,
    /** What arrived at the provider and would be charged. */
    submissions: () => records<Submission>('submissions.jsonl'),
    fired: (point: string) =>
      records<{ point: string; pid: number }>('fired.jsonl').filter((one) => one.point === point),
    /** The whole show, byte for byte, without `state/lock.json`, which says who locked last. */
    tree: () => treeOf(root),
  };
}
export type House = Awaited<ReturnType<typeof makeHouse>>;

function treeOf(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (path: string): void => {
    for (const name of readdirSync(join(root, path))) {
      const file = join(path, name);
      const stat = lstatSync(join(root, file));
      if (stat.isDirectory()) {
        found[`${file}/`] = stat.mode.toString(8);
        visit(file);
      } else if (file !== 'state/lock.json') {
        const hash = createHash('sha256')
          .update(readFileSync(join(root, file)))
          .digest('hex');
        found[file] = `${stat.mode.toString(8)} ${hash}`;
      }
    }
  };
  visit('');
  return found;
}

/** The ledger is whole, nothing was sent twice for one intent, and no claim is missing what was sent. */
export function expectWhole(house: House, { interrupted = false } = {}): void {
  expect(checkLedger(house.root, { interrupted })).toEqual([]);
  const sent = house.submissions().map(({ client_ref }) => client_ref);
  expect(new Set(sent).size).toBe(sent.length);
  const weeks = readdirSync(join(house.root, 'state')).filter((name) => /^\d{4}-W\d\d$/.test(name));
  const claimed = weeks.flatMap((week) =>
    readdirSync(join(house.root, 'state', week))
      .filter((name) => name !== 'week.json')
      .flatMap((name) => house.record(name.replace('.json', '')).steps)
      .flatMap(({ attempts }) => attempts.map(({ client_ref }) => client_ref)),
  );
  expect(sent.filter((ref) => !claimed.includes(ref))).toEqual([]);
}

/** Resolves as soon as `condition` holds; fails after 30 s. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** An executable script in the show. */
export function writeScript(root: string, name: string, text: string): string {
  mkdirSync(join(root, 'bin'), { recursive: true });
  writeFileSync(join(root, 'bin', name), text, { mode: 0o755 });
  return `./bin/${name}`;
}
