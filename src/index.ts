// biome-ignore-all assist/source/organizeImports: the order is that of a reader
/**
 * The library behind the command line, as a table of contents: one line for each verb, then the contracts that an
 * embedding program or a test fills in itself. Everything else is an implementation of one of these.
 */

// Identity: the same work or new work.
export { allocate, type AllocateRequest, type Allocation } from './allocate.ts'; // the episode of a key: its own, or a new one
export { whyEpisode, whyKey, type Why } from './why.ts'; // where an episode comes from
export { close } from './close.ts'; // ends an unwanted episode, deleting nothing
export { init, type InitAnswer, type NewLedger } from './init.ts'; // a show with its ledger

// Spending: one loop, and the verbs that authorise it.
export { mergePlan, priceOnly, type PlanAnswer } from './plan.ts'; // validates, prices and gives a plan
export { generate, type PaidOptions } from './generate.ts'; // first attempts of all that is ready
export { approve, type ApproveOptions } from './approve.ts'; // binds a person to exact outputs, and goes on
export { reject, type RejectOptions } from './reject.ts'; // keeps the take, with the reason against it
export { retry, type RetryOptions } from './retry.ts'; // pays once more for one step
export { reassemble } from './reassemble.ts'; // a new film from the current outputs
export { reconcile, reconcileAll } from './reconcile.ts'; // asks the providers; free
export { settle, settleByResend, settleWithOutput } from './settle.ts'; // what a person knows of a held step
export { cancel } from './cancel.ts'; // asks a provider to stop a task; free

// Looking: nothing here writes a record.
export { list, type Attention, type Listed, type Listing } from './list.ts'; // what needs you, what runs, what is done
export { show, type Hold, type Shown } from './show.ts'; // one episode, step by step
export { wait } from './wait.ts'; // until it is complete, or needs a person
export { cost, type Costs } from './cost.ts'; // what was, may be and will be charged
export { doctor } from './doctor.ts'; // what is wrong here, and how to mend it
export type { Diagnosis, Patient } from './doctor/diagnosis.ts'; // one finding of it, and what it looks at

// The contracts.
export { EpisodeError, EXIT, type Code } from './errors.ts'; // everything that can stop a command
export type { Port } from './port.ts'; // disk, lock, clock, chance: the one door to the outside
export type { Store, Transaction, View } from './store/store.ts'; // where records live
export type { Provider } from './providers/provider.ts'; // whatever makes media, paid or free
export type { SpendServices } from './spend/spend-services.ts'; // what the paid verbs work with
export type { Config } from './model/config.ts'; // pipeline.json
export type { Episode } from './model/episode.ts'; // an episode's record
export type { Plan } from './model/plan.ts'; // a plan file

// The real ones.
export { loadConfig, loadPlan } from './config.ts'; // pipeline.json and plan files, validated whole
export { createNodePort } from './node-port.ts'; // this machine
export { createFileStore } from './store/file/file-store.ts'; // files below state/ and history/
