/**
 * The library behind the command line, as a table of contents: one line for each verb, then the contracts that an
 * embedding program or a test fills in itself. Everything else is an implementation of one of these.
 */

// Identity: the same work or new work.
export { type AllocateRequest, type Allocation, allocate } from './allocate.ts'; // the episode of a key: its own, or a new one
export { type ApproveOptions, approve } from './approve.ts'; // binds a person to exact outputs, and goes on
export { close } from './close.ts'; // ends an unwanted episode, deleting nothing
// The real ones.
export { loadConfig, loadPlan } from './config.ts'; // pipeline.json and plan files, validated whole
export { type Costs, cost } from './cost.ts'; // what was, may be and will be charged
export { doctor } from './doctor.ts'; // what is wrong here, and how to mend it
// The contracts.
export { type Code, EpisodeError, EXIT } from './errors.ts'; // everything that can stop a command
// Spending: one loop, and the four verbs that authorise it.
export { generate, type PaidOptions } from './generate.ts'; // first attempts of all that is ready
export { type InitAnswer, init, type NewLedger } from './init.ts'; // a show with its ledger
// Looking: nothing here writes.
export { type Attention, type Listed, type Listing, list } from './list.ts'; // what needs you, what runs, what is done
export type { Config } from './model/config.ts'; // pipeline.json
export type { Episode } from './model/episode.ts'; // an episode's record
export type { Plan } from './model/plan.ts'; // a plan file
export { createNodePort } from './node-port.ts'; // this machine
export { mergePlan, type PlanAnswer, priceOnly } from './plan.ts'; // validates, prices and gives a plan
export type { Port } from './port.ts'; // disk, lock, clock, chance: the one door to the outside
export type { Provider } from './providers/provider.ts'; // whatever makes media, paid or free
export { reassemble } from './reassemble.ts'; // a new film from the current outputs
export { reconcile } from './reconcile.ts'; // asks the providers; free
export { type RejectOptions, reject } from './reject.ts'; // keeps the take, with the reason against it
export { type RetryOptions, retry } from './retry.ts'; // pays once more for one step
export { type SettleForm, settle } from './settle.ts'; // what a person knows of a held step
export { type Hold, type Shown, show } from './show.ts'; // one episode, step by step
export type { SpendServices } from './spend/spend-services.ts'; // what the paid verbs work with
export { createFileStore } from './store/file/file-store.ts'; // files below state/ and history/
export type { Store, Transaction, View } from './store/store.ts'; // where records live
export { wait } from './wait.ts'; // until it is complete, or needs a person
export { type Why, whyEpisode, whyKey } from './why.ts'; // where an episode comes from
