import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { hashFile } from '../../src/media/hash.ts';
import { Config } from '../../src/model/config.ts';
import type { Episode } from '../../src/model/episode.ts';
import type { Step } from '../../src/model/plan.ts';
import type { SubmitOutcome } from '../../src/model/protocol.ts';
import type { Sheet } from '../../src/model/sheet.ts';
import { createNodePort } from '../../src/node-port.ts';
import type { Port } from '../../src/port.ts';
import type { Provider, Submission, SubmitEvents } from '../../src/providers/provider.ts';
import { readEpisode } from '../../src/record.ts';
import type { SpendServices } from '../../src/spend/spend-services.ts';
import { createFileStore } from '../../src/store/file/file-store.ts';
import { allocate } from '../identity/desk.ts';
import { makeShow } from '../rig.ts';

/** Spending in this process, on real records, with providers that a test writes itself. */

// Hundreds of transactions; that they survive a power loss is tested elsewhere.
process.env.TMPDIR = inject('memory');

export const sheet = (capabilities: Partial<Sheet['capabilities']> = {}): Sheet => ({
  protocol: 'episode-provider/1',
  provider: 'fake',
  version: '1',
  kinds: ['text'],
  capabilities: { submit: 'async', announces_sending: true, min_poll_seconds: 0, ...capabilities },
});

/** A small result in that directory. */
export async function filesIn(directory: string): Promise<{ path: string }[]> {
  const path = join(directory, 'text.txt');
  writeFileSync(path, 'here');
  return [{ path }];
}

/** A provider whose tasks are done at once; `submit` says how it answers. */
export const fake = (
  submit: (submission: Submission, events: SubmitEvents) => Promise<SubmitOutcome>,
  more: Partial<Provider> & { sheet?: Sheet } = {},
): Provider => ({
  name: 'house',
  describe: async () => more.sheet ?? sheet(),
  submit,
  status: async () => ({ state: 'done' }),
  fetch: (_ref, outputDir) => filesIn(outputDir),
  ...more,
});

export async function makeDesk(budget: object = { per_episode: '1000' }) {
  const config = { budget, providers: { house: { type: 'exec', command: ['./nowhere'] } } };
  const root = await makeShow({ config });
  let made = 0;
  return {
    root,
    /** A new episode with these steps. */
    async allocate(steps: Step[]): Promise<string> {
      made += 1;
      const plan = join(root, 'plan.json');
      writeFileSync(plan, JSON.stringify({ format: 1, steps }));
      const asked = { now: '2026-08-07T00:00:00Z', key: `release-${made}`, week: '2026-W32', plan };
      return (await allocate(root, asked)).episode_id;
    },
    /** What a command gets, with this provider under every name; `port` is changed as given. */
    services(provider: Provider, port: Partial<Port> = {}, more: Partial<SpendServices> = {}): SpendServices {
      const real = createNodePort({ command: 'test' });
      const changed: Port = Object.create(real, Object.getOwnPropertyDescriptors(port));
      return {
        store: createFileStore(changed, root),
        port: changed,
        root,
        config: Config.parse({ format: 1, show: 'brief', time_zone: 'UTC', currency: 'USD', ...config }),
        provider: async () => provider,
        media: { verify: async () => {}, hash: hashFile },
        note() {},
        progress() {},
        interrupted: new AbortController().signal,
        ...more,
      };
    },
    read: (id: string): Promise<Episode> =>
      createFileStore(createNodePort({ command: 'test' }), root).view((view) => readEpisode(view, id)),
  };
}
export type Desk = Awaited<ReturnType<typeof makeDesk>>;

/** A promise that a test resolves, and one that tells when somebody waits for it. */
export function gate() {
  let open = (): void => {};
  let arrive = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const pass = (): Promise<void> => {
    arrive();
    return opened;
  };
  return { open, arrived, pass };
}
