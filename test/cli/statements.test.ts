import { expect, test } from 'vitest';
import { ID, makeHouse, SYNC, step } from '../spend/rig.ts';

/** What a person states is read by others a year later: the placeholder of our own hints is no statement. */

const EXAMPLE = {
  '--reason': 'six fingers',
  '--evidence': 'billing page, 09:44: not listed',
  '--key-is-stable': 'the queue keeps it across retries',
};
const EMPTY = ['…', '...', '"…"', '-', '?!', '(…) …', '👍'];

test('a reason or an evidence without a letter or a digit is refused, and nothing is read or written', async () => {
  const house = await makeHouse();
  await house.allocate([step('s1')]);
  await house.json(0, ['generate', ID]);
  const before = house.tree();
  for (const [option, words] of [
    ['--reason', ['retry', ID, '--step', 's1']],
    ['--reason', ['reject', ID, '--step', 's1']],
    ['--evidence', ['settle', ID, '--step', 's1', '--write-off']],
    ['--evidence', ['settle', ID, '--step', 's1', '--accepted', 'task_1']],
    // There is no such episode, and that is not even looked for.
    ['--reason', ['retry', '2026-W32-9', '--step', 's1']],
    ['--reason', ['close', ID]],
    ['--key-is-stable', ['allocate', '--key', 'run']],
  ] as const) {
    for (const value of EMPTY) {
      const ran = await house.line([...words, `${option}=${value}`]);
      expect([ran.code, ran.stderr], `${words.join(' ')} ${value}`).toEqual([
        64,
        `episode: ${option} says nothing: there is no letter and no digit in it [USAGE]
  write what somebody else will understand a year later, e.g. ${option} "${EXAMPLE[option]}"
`,
      ]);
    }
  }
  expect(house.tree()).toEqual(before);
});

test('a statement in any script is one', async () => {
  const house = await makeHouse({ scenario: SYNC });
  await house.allocate([step('s1')]);
  await house.json(0, ['generate', ID]);
  for (const reason of ['指が六本', 'ё', '6', '… zu dunkel …']) {
    await house.json(0, ['reject', ID, '--step', 's1', '--reason', reason]);
    await house.json(0, ['retry', ID, '--step', 's1', '--reason', reason]);
  }
});

test('the placeholder of a reference is no reference', async () => {
  const house = await makeHouse({ scenario: { ...SYNC, at: { 'submit.after_charge': 'die' } } });
  await house.allocate([step('s1')]);
  await house.json(11, ['generate', ID]);
  for (const ref of ['REF', '…', '-']) {
    const ran = await house.line(['settle', ID, '--step', 's1', `--accepted=${ref}`, '--evidence', 'Requests']);
    expect([ran.code, ran.stderr]).toEqual([
      64,
      `episode: --accepted ${ref} is no reference [USAGE]
  give the one that the provider shows, e.g. --accepted task_91
`,
    ]);
  }
  expect(house.states()).toEqual({ s1: 'unknown' });
});
