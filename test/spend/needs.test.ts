import { expect, test } from 'vitest';
import { expectWhole, type House, ID, makeHouse, SYNC, scripted, step } from './rig.ts';

/** A step that cannot go on says which command brings on what it waits for, however far back that is. */

const chain = (first: object) => [
  scripted('s1', first),
  step('s2', { needs: ['s1'] }),
  step('s3', { needs: ['s2'], provider: 'assembly', kind: 'video' }),
];
const retry = `episode retry ${ID} --step s1 --reason "…"`;

/** What is said of a step that is generated, retried or reassembled before its time. */
async function refusals(house: House): Promise<(string | undefined)[][]> {
  const commands = [
    ['generate', ID, '--step', 's2'],
    ['generate', ID, '--step', 's3'],
    ['retry', ID, '--step', 's2', '--reason', 'x'],
    ['reassemble', ID],
  ];
  const refused = await Promise.all(commands.map((args) => house.json(14, args)));
  return refused.map(({ error }) => [error?.message, ...error!.hints]);
}

const of = (...hints: string[]) => [
  [`step s2 of ${ID}: it needs s1 first`, ...hints],
  [`step s3 of ${ID}: it needs s2 first`, ...hints],
  [`step s2 of ${ID}: it needs s1 first`, ...hints],
  [`step s3 of ${ID}: it needs s2 first`, ...hints],
];

test.concurrent('of a need that was not tried yet: generate', async () => {
  const house = await makeHouse();
  await house.allocate(chain({}));
  expect(await refusals(house)).toEqual(of(`episode generate ${ID}`));
});

test.concurrent('of a need that failed, was rejected or was given up: retry', async () => {
  const failed = await makeHouse();
  await failed.allocate(chain({ outcome: { outcome: 'released', reason: 'auth' } }));
  await failed.json(12, ['generate', ID]);
  expect(await refusals(failed)).toEqual(of(retry));

  const rejected = await makeHouse();
  await rejected.allocate(chain({}));
  await rejected.json(0, ['generate', ID, '--step', 's1']);
  await rejected.json(0, ['reject', ID, '--step', 's1', '--reason', 'six fingers']);
  expect(await refusals(rejected)).toEqual(of(retry));

  const givenUp = await makeHouse();
  await givenUp.allocate(chain({ at: { 'submit.after_charge': 'die' } }));
  await givenUp.json(11, ['generate', ID]);
  await givenUp.json(0, ['settle', ID, '--step', 's1', '--write-off', '--evidence', 'no answer']);
  expect(await refusals(givenUp)).toEqual(of(retry));
  for (const house of [failed, rejected, givenUp]) expectWhole(house);
});

test.concurrent('of a need that is held: every way out of the hold', async () => {
  const house = await makeHouse();
  await house.allocate(chain({ at: { 'submit.after_charge': 'die' } }));
  await house.json(11, ['generate', ID]);
  const settle = `episode settle ${ID} --step s1`;
  expect(await refusals(house)).toEqual(
    of(
      `episode reconcile ${ID} --step s1`,
      `${settle} --accepted REF --evidence "…"`,
      `${settle} --accepted REF --output FILE --evidence "…"`,
      `${settle} --not-accepted --evidence "…"`,
      `${settle} --write-off --evidence "…"`,
    ),
  );
  expectWhole(house);
});

test.concurrent('of a need that waits for approval: approve; of one that runs: generate, which follows it', async () => {
  const house = await makeHouse({ scenario: SYNC });
  const [s1, ...others] = chain({});
  await house.allocate([{ ...s1!, review: true }, ...others]);
  await house.json(0, ['generate', ID]);
  const { sha256 } = house.record().steps[0]!.attempts[0]!.files![0]!;
  expect(await refusals(house)).toEqual(of(`episode approve ${ID} --step s1 --sha256 ${sha256.slice(0, 12)}`));

  const running = await makeHouse({ scenario: {} });
  await running.allocate(chain({ status: ['running'] }));
  await running.json(75, ['generate', ID, '--wait', '0s']);
  expect(await refusals(running)).toEqual(of(`episode generate ${ID}`));
  for (const one of [house, running]) expectWhole(one);
});
