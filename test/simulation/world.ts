import type { Port, ProcessIdentity } from '../../src/port.ts';
import { SimulatedDisk } from './disk.ts';
import { Plan, type PlannedFault, type Tally, type Weather } from './faults.ts';
import { SimulatedLock } from './lock.ts';
import { createPort, type Surroundings } from './port.ts';
import { type Call, Process } from './process.ts';
import { Random } from './random.ts';

/** What a process does in one life. Killed, it is started again, until a life ends by itself. */
export type Program = (port: Port) => Promise<void>;

interface Job {
  program: Program;
  name: string;
  pid: number;
  lives: number;
  process?: Process;
  done: boolean;
}

/** More steps than any history takes that ends at all. */
const STEP_LIMIT = 50_000;
const START_MS = Date.UTC(2026, 7, 7);
const LONGEST_JUMP_MS = 72 * 3_600_000;

/**
 * One simulated host: a disk, locks, a clock, and processes of which one at a time gets one call answered.
 * Everything that happens, faults included, follows from the seed.
 */
export class World implements Surroundings {
  readonly random: Random;
  readonly disk: SimulatedDisk;
  readonly trace: string[] = [];
  step = 0;
  #nowMs = START_MS;
  #boots = 1;
  #started = 0;
  #jobs: Job[] = [];
  /** The latest life of each job; looked at in every turn, hence not gathered anew. */
  #processes: Process[] = [];
  #last: Process | undefined;
  readonly #failures: unknown[] = [];
  readonly #locks = new Map<string, SimulatedLock>();
  /** Chance that whoever got the last answer gets the next one: some bugs need long runs, some short ones. */
  readonly #loyalty: number;

  constructor(
    seed: number,
    readonly tally: Tally,
    readonly lockBusy: (stateDirectory: string) => Error,
  ) {
    this.random = new Random(seed);
    this.disk = new SimulatedDisk(this.random, this.random.pick(['ordered', 'reordered']), () => this.#nowMs);
    this.#loyalty = this.random.pick([0, 0.5, 0.9]);
  }

  /** Runs each program until one of its lives ends, through `weather` if any. Rejects with what a program throws. */
  async run(programs: readonly Program[], weather?: Weather): Promise<void> {
    const plan = weather && new Plan(weather, this.random, this.step, this.tally);
    const limit = this.step + STEP_LIMIT;
    this.#jobs = programs.map((program, i) => ({
      program,
      name: 'abcdefgh'[i]!,
      pid: 1000 + i,
      lives: 0,
      done: false,
    }));
    while (this.#jobs.some((job) => !job.done)) {
      if (++this.step > limit) throw new Error(`stuck: no end after ${STEP_LIMIT} steps`);
      this.elapse(1 + this.random.int(20));
      for (const job of this.#jobs) this.#resume(job);
      await this.#quiet();
      if (this.#failures.length > 0) throw this.#failures[0];
      if (!plan?.strike(this.step, (planned) => this.#strike(planned))) this.#answerOne();
    }
  }

  /** The power goes and comes back: no process is left, and the disk holds what survived. */
  losePower(): void {
    this.trace.push(`${this.step} power loss`);
    for (const process of this.#living()) process.kill(this.step, this.random);
    this.disk.losePower();
    for (const lock of this.#locks.values()) lock.losePower();
    this.#boots++;
  }

  lockOf(stateDirectory: string): SimulatedLock {
    const lock = this.#locks.get(stateDirectory) ?? new SimulatedLock(this.random, this.tally);
    this.#locks.set(stateDirectory, lock);
    return lock;
  }

  now(): number {
    return this.#nowMs;
  }

  elapse(ms: number): void {
    this.#nowMs += ms;
  }

  liveness({ boot, pid, started }: ProcessIdentity): 'alive' | 'gone' {
    const found = this.#living().some(
      ({ identity }) => identity.boot === boot && identity.pid === pid && identity.started === started,
    );
    return found ? 'alive' : 'gone';
  }

  #living(): Process[] {
    return this.#processes.filter(({ isOver }) => !isOver);
  }

  #resume(job: Job): void {
    const { process } = job;
    if (job.done || (process && process.resumesAt > this.step)) return;
    if (process?.state === 'paused') process.wake();
    else if (!process || process.state === 'killed') this.#start(job);
  }

  /** The next life has the pid of the last one, as on a host where few processes start. */
  #start(job: Job): void {
    const process = new Process(`${job.name}${++job.lives}`, {
      host: 'simulated',
      boot: `boot-${this.#boots}`,
      pid: job.pid,
      started: String(++this.#started),
    });
    job.process = process;
    this.#processes = this.#jobs.flatMap((each) => each.process ?? []);
    const end = (): void => {
      if (process.state === 'killed') return;
      process.end(this.step);
      job.done = true;
    };
    job.program(createPort(process, this)).then(end, (error) => {
      this.#failures.push(error);
      end();
    });
  }

  /** Lets all code run on until each process waits for an answer. Code that awaits only its port needs microtasks only. */
  async #quiet(): Promise<void> {
    for (let turn = 0; this.#processes.some(({ isBusy }) => isBusy); turn++) {
      if (turn < 1000) await undefined;
      else if (turn < 1100) await new Promise(setImmediate);
      else throw new Error('stuck: a process waits for something that is not in its port');
    }
  }

  #answerOne(): void {
    const ready = this.#processes.filter((process) => process.readyCalls().length > 0);
    if (ready.length === 0) return;
    const loyal = this.#last && ready.includes(this.#last) && this.random.chance(this.#loyalty);
    const process = loyal ? this.#last! : this.random.pick(ready);
    const call = this.random.pick(process.readyCalls());
    this.#last = process;
    this.#note(process, call, process.answer(call));
  }

  /** Makes one fault happen, if now it can. */
  #strike(planned: PlannedFault): boolean {
    const open = this.#processes.filter((process) => process.callsOpenTo(planned).length > 0);
    if (open.length === 0) return false;
    const process = this.random.pick(open);
    const call = this.random.pick(process.callsOpenTo(planned));
    switch (planned.fault) {
      case 'kill':
        process.kill(this.step, this.random);
        this.#note(process, call, 'killed');
        break;
      case 'pause':
        // A signal meets a call before it or, where the kernel finishes it first, after it.
        if (process.readyCalls().includes(call) && this.random.chance(0.5)) {
          this.#note(process, call, process.answer(call));
        }
        process.pause(this.step, this.random.pick([5, 50, 100, 200, 400]));
        this.#note(process, call, `paused until ${process.resumesAt}`);
        break;
      case 'powerLoss':
        this.losePower();
        break;
      case 'clockJump':
        this.elapse(this.random.int(LONGEST_JUMP_MS));
        break;
      case 'error':
        this.#note(process, call, process.answerError(call, this.random));
        break;
      default:
        this.#note(process, call, process.answer(call, planned.fault));
    }
    return true;
  }

  #note(process: Process, call: Call, outcome: string): void {
    this.tally.operations++;
    this.trace.push(`${this.step} ${process.name} ${call.text}: ${outcome}`);
  }
}
