import { describe, expect, test } from 'vitest';
import { expectWhole, ID, makeHouse, SYNC, scripted, step } from '../spend/rig.ts';

/** Reads RFC 4180 as a stranger would. */
function readCsv(text: string): Record<string, string>[] {
  const rows: string[][] = [];
  let row: string[] = [];
  const cells = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  for (let match = cells.exec(text); match; match = cells.exec(text)) {
    row.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] === ',') continue;
    rows.push(row);
    row = [];
  }
  const [head, ...lines] = rows;
  expect(rows.every(({ length }) => length === head!.length)).toBe(true);
  return lines.map((line) => Object.fromEntries(line.map((cell, index) => [head![index]!, cell])));
}

describe('cost --csv', () => {
  test.concurrent('is an invoice line by line: each charge once, by its reference and to the last digit', async () => {
    const budget = { per_episode: '2000000000', quantities: { per_episode: { seconds: '60' } } };
    const house = await makeHouse({ scenario: { status: ['done'] }, config: { budget } });
    const priced = (id: string, amount: string, unit = 'USD') =>
      scripted(id, { cost: { amount, unit, basis: 'reported', final: true } });
    const nobody = { amount: null, unit: 'USD' };
    const { estimate: _, ...unpriced } = scripted('unpriced', {
      estimate: { ...nobody, basis: 'unknown' },
      cost: nobody,
      outcome: { outcome: 'accepted', ref: 'task_unpriced' },
    });
    await house.allocate([
      priced('tiny', '0.000000000001'),
      priced('large', '999999999.1'),
      priced('credits', '12.5', 'credits'),
      scripted('failed', { status: [{ state: 'error', reason: 'nsfw', billable: 'yes' }] }),
      scripted('lost', { at: { 'submit.after_charge': 'exit:1' } }),
      { ...unpriced, quantity: { seconds: '8' } },
    ]);
    await house.json(11, ['generate', ID]);
    await house.json(12, ['retry', ID, '--step', 'failed', '--reason', 'once more']);

    const rows = readCsv((await house.line(['cost', ID, '--csv'])).stdout);
    // What the provider would bill: one line for each submission, by the reference that it gave.
    const sent = house.submissions();
    expect(rows).toHaveLength(sent.length);
    for (const { ref, attempt_id } of sent) {
      const row = rows.find((one) => one.attempt_id === attempt_id)!;
      expect([row.step, row.reference]).toEqual([row.step, row.step === 'lost' ? '' : ref]);
    }
    const lines = rows.map(({ step: of, take, state, amount, unit, quantities }) =>
      [of, take, state, amount, unit, quantities].join(' ').trim(),
    );
    expect(lines.sort()).toEqual([
      'credits 1 settled 12.5 credits',
      'failed 1 settled 0.40 USD',
      'failed 2 settled 0.40 USD',
      'large 1 settled 999999999.1 USD',
      'lost 1 possible 0.40 USD',
      'tiny 1 settled 0.000000000001 USD',
      'unpriced 1 settled  USD seconds=8',
    ]);
    // Sums are exact, and units are never added.
    const { totals, rows: documents } = await house.json(0, ['cost']);
    expect(documents).toHaveLength(rows.length);
    expect(totals).toEqual([
      { unit: 'USD', settled: '999999999.900000000001', reserved: '0', possible: '0.40', unpriced: 1 },
      { unit: 'credits', settled: '12.5', reserved: '0', possible: '0', unpriced: 0 },
    ]);
    const table = (await house.line(['cost', ID])).stdout;
    expect(table).toContain(
      '999999999.900000000001 settled + up to 0.40 possible + 1 unpriced USD\n12.5 settled credits\n',
    );
    expect(table).toMatch(/ unpriced +1 +house +task_\w+ +settled +\? +USD +\w+ +seconds=8\n/);
    expectWhole(house);
  });

  test.concurrent('holds nothing that a spreadsheet would run, in any cell', async () => {
    const house = await makeHouse({ scenario: SYNC });
    const evil = ['=1+1', '+1', '-1', '@SUM(A1)', ' =1', '\t=1', '\uff1d1', 'a;=1', 'say "=1"', 'a\r\n=1'];
    await house.allocate(
      evil.map((ref, index) =>
        scripted(`s${index}`, {
          outcome: { outcome: 'accepted', ref },
          status: ['done'],
          cost: { amount: '1', unit: ref, basis: ref },
        }),
      ),
    );
    await house.line(['generate', ID]);
    const { stdout } = await house.line(['cost', ID, '--csv']);
    const rows = readCsv(stdout);
    expect(rows).toHaveLength(evil.length);
    for (const row of rows) {
      const ref = evil[Number(row.step!.slice(1))]!;
      const harmless = /^(a|say)/.test(ref);
      expect([row.unit, row.basis]).toEqual(Array(2).fill(harmless ? ref : `'${ref}`));
    }
    for (const cell of rows.flatMap((row) => Object.values(row))) expect(cell).not.toMatch(/^\s*[=+\-@\uff1d]/);
    // Where `;` divides cells, this is still one.
    expect(stdout).toContain(',"a;=1",');
    expectWhole(house);
  });

  test.concurrent('of nothing is its head, of the whole show all of it', async () => {
    const house = await makeHouse({ scenario: SYNC });
    const head = 'sent_at,at,episode_id,step,take,attempt_id,provider,reference,state,amount,unit,basis,quantities\r\n';
    expect((await house.line(['cost', '--csv'])).stdout).toBe(head);
    for (const key of ['a', 'b']) await house.allocate([step('s1')], key);
    for (const id of [ID, '2026-W32-1']) await house.json(0, ['generate', id]);
    expect(readCsv((await house.line(['cost', '--csv'])).stdout).map(({ episode_id }) => episode_id)).toEqual([
      ID,
      '2026-W32-1',
    ]);
    expect((await house.json(66, ['cost', '2026-W32-9'])).error?.code).toBe('EPISODE_NOT_FOUND');
    expectWhole(house);
  });
});
