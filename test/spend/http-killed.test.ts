import { expect, test } from 'vitest';
import { checkLedger } from '../ledger-check.ts';
import { answer } from '../providers/http-rig.ts';
import type { Ran } from '../rig.ts';
import { makeStudio } from './studio.ts';

/** The program is killed between any two things it does about one submission over HTTP. What arrived is counted there. */

type Studio = Awaited<ReturnType<typeof makeStudio>>;

/** A person with patience gets it to its end; whoever settles has looked at the provider before. */
async function bringHome(studio: Studio, id: string): Promise<void> {
  const tagOf = () => studio.record(id).steps[0].attempts.at(-1)?.client_ref;
  const ran = await studio.line('generate', id);
  if (ran.code === 11) {
    const isThere = [...studio.tasks.values()].some(({ tag }) => tag === tagOf());
    const found = await studio.line('reconcile', id);
    expect([found.code, found.stderr.split('\n')[0]]).toEqual([isThere ? 0 : 11, expect.any(String)]);
    if (!isThere) {
      const settled = ['settle', id, '--step', 's1', '--not-accepted', '--evidence', 'no such request'];
      expect((await studio.line(...settled)).code).toBe(0);
      expect((await studio.line('generate', id)).code).toBe(0);
    }
  } else expect([ran.code, ran.stderr]).toEqual([0, '']);
  // As a reader sees it: the file itself may wait for the next command that writes.
  expect((await studio.json(0, 'show', id)).status).toBe('complete');
}

const tagsOf = (studio: Studio): string[] =>
  studio.received.filter(({ method }) => method === 'POST').map(({ json }) => (json as { tag: string }).tag);

/** Every so many operations one is killed at; all of them in the long run (`npm run torture`). */
const STRIDE = Number(process.env.EPISODE_STRIDE ?? 11);
/** Shows at once, each killed at its own share of the operations. */
const LANES = 3;

test('killed at any of its disk operations around a submission, it sends nothing twice', async () => {
  const lane = async (first: number) => {
    const studio = await makeStudio();
    const seen = { reached: 0, held: 0 };
    for (let at = first; ; at += STRIDE * LANES) {
      const id = await studio.allocate(`killed-${at}`);
      const { done } = studio.start(['generate', id], {
        env: { EPISODE_FAULT: `kill:${at % 2 ? 'before' : 'after'}:${at}` },
      });
      const ran: Ran = await done;
      if (ran.signal !== 'SIGKILL') {
        expect(ran.stderr).toContain('EPISODE_FAULT not reached');
        break;
      }
      seen.reached += 1;
      const { outcome, sending_at } = studio.record(id).steps[0].attempts.at(-1) ?? {};
      if (sending_at && outcome === null) seen.held += 1;
      await bringHome(studio, id);
    }
    const tags = tagsOf(studio);
    expect(new Set(tags).size).toBe(tags.length);
    expect(checkLedger(studio.root)).toEqual([]);
    return seen;
  };
  const lanes = await Promise.all(Array.from({ length: LANES }, (_, index) => lane(2 + STRIDE * index)));
  const sum = (of: 'reached' | 'held') => lanes.reduce((total, seen) => total + seen[of], 0);
  expect(sum('reached')).toBeGreaterThan(10);
  expect(sum('held')).toBeGreaterThan(0);
}, 600_000);

test.each(['before it answers', 'after its answer', 'while the result is fetched'] as const)(
  'killed by the time the provider has read the submission, %s: it is found again, and nothing is sent twice',
  async (moment) => {
    let kill = (): void => {};
    const studio = await makeStudio({
      submit: (received, response, request) => {
        if (moment === 'before it answers') return kill();
        const say = answer(201, { id: `job-${studio.tasks.size}` });
        say(received, response, request);
        if (moment === 'after its answer') response.once('finish', () => kill());
      },
      result: (received, response, request) => {
        if (moment === 'while the result is fetched') kill();
        answer(200, { files: [{ url: `http://${received.headers.host}/f/still.png` }] })(received, response, request);
      },
    });
    const id = await studio.allocate('killed');
    const { child, done } = studio.start(['generate', id]);
    kill = () => {
      kill = () => {};
      child.kill('SIGKILL');
    };
    expect((await done).signal).toBe('SIGKILL');
    await bringHome(studio, id);
    expect(tagsOf(studio)).toHaveLength(1);
    expect(checkLedger(studio.root)).toEqual([]);
  },
);
