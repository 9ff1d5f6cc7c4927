import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BadPath, filesInside } from '../../src/providers/exec/files.ts';
import { recorder, rig } from './exec-rig.ts';

/** The answer to the second request of a provider, which is its first submission. */
const answer = (result: object) => `say:${JSON.stringify({ id: 2, ok: true, result })}`;

describe.concurrent('answers to a submission', () => {
  it('accepted: the reference, first as an event, and the price', async () => {
    const house = rig();
    const ledger = recorder();
    const { ref } = (await house.submit({}, ledger.events)) as { ref: string };
    expect(ref).toBe(house.submissions()[0].ref);
    expect(ledger.log).toEqual(['started', 'sending', 'accepted']);
  });

  it('the adapter gets the whole submission, and its checkpoint only if there is one', async () => {
    const house = rig({ at: { 'submit.request': 'dump' } });
    await house.submit({ text: 'naïve 🎬' });
    const { checkpoint, ...args } = house.submission({ text: 'naïve 🎬' });
    expect(house.dump().request).toEqual({ protocol: 'episode-provider/1', id: 2, op: 'submit', args });
    await house.provider.submit({ ...args, checkpoint: { upload: 'u' } }, recorder().events, AbortSignal.any([]));
    expect(house.dump().request.args.checkpoint).toEqual({ upload: 'u' });
    expect(checkpoint).toBeNull();
  });

  it.each([
    ['invalid_input', 0],
    ['insufficient_funds', 0],
    ['throttled', 0],
  ])('released: %s, as the adapter says, also after it was told to send', async (reason, charged) => {
    const outcome = { outcome: 'released', reason, retry_after: 30, billable: 'no', evidence: { status: 402 } };
    const house = rig({ outcome });
    expect(await house.submit()).toEqual(outcome);
    expect(house.submissions()).toHaveLength(charged);
  });

  it('unknown, as the adapter says', async () => {
    const outcome = { outcome: 'unknown', reason: 'reset', evidence: { bytes: 12 } };
    const house = rig({ outcome });
    expect(await house.submit()).toEqual(outcome);
    expect(house.submissions()).toHaveLength(1);
  });

  it('progress is passed on, without acknowledgement', async () => {
    const seen: number[] = [];
    const house = rig({ at: { 'submit.before_sending': 'say:{"event":"progress","progress":0.4}' } });
    const ledger = recorder({ progress: (fraction) => seen.push(fraction) });
    expect((await house.submit({}, ledger.events)).outcome).toBe('accepted');
    expect(seen).toEqual([0.4]);
  });

  it.each([
    ['an exit code', 'exit:7'],
    ['garbage', 'garbage'],
    ['another answer', answer({ outcome: 'unknown', reason: 'reset' })],
    ['another reference', 'say:{"event":"accepted","seq":9,"ref":"other"}'],
    ['staying', 'hang'],
  ])('a complete answer stands against %s after it', async (_what, action) => {
    const house = rig({ at: { 'submit.after_answer': action } });
    expect(await house.submit()).toMatchObject({
      outcome: 'accepted',
      ref: house.submissions()[0].ref,
      state: 'queued',
    });
    expect(house.fired('submit.after_answer')).toHaveLength(1);
  });

  it('a last line without its newline is an answer all the same, if it is whole', async () => {
    const house = rig({
      at: { 'submit.before_sending': ['unended:{"id":2,"ok":false,"error":{"code":"no"}}', 'exit:1'] },
    });
    expect(await house.submit()).toMatchObject({ outcome: 'released', evidence: { code: 'no' } });
  });

  it.each([
    ['a number again', 'say:{"event":"checkpoint","seq":1,"data":{}}'],
    ['a smaller number', 'say:{"event":"checkpoint","seq":0,"data":{}}'],
    ['a second sending', 'say:{"event":"sending","seq":2}'],
  ])('events with %s break the protocol and are not acknowledged', async (_what, action) => {
    const house = rig({ at: { 'submit.after_sending': [action, 'hang'] } });
    const ledger = recorder();
    expect(await house.submit({}, ledger.events)).toMatchObject({ outcome: 'unknown', reason: 'protocol' });
    expect(ledger.log).toEqual(['started', 'sending']);
  });

  it.each([
    ['accepted with another reference', { outcome: 'accepted', ref: 'other' }],
    ['completed with another reference', { outcome: 'completed', ref: 'other', files: [{ path: 'out/made' }] }],
    ['released', { outcome: 'released', reason: 'throttled' }],
    ['unknown', { outcome: 'unknown', reason: 'reset' }],
  ])('%s after an accepted event: the recorded reference holds', async (_what, result) => {
    const house = rig({ at: { 'submit.before_answer': answer(result) } });
    writeFileSync(join(house.out, 'made'), 'made');
    const outcome = await house.submit();
    const { ref } = house.submissions()[0];
    expect(outcome).toMatchObject({
      outcome: 'accepted',
      ref,
      evidence: {
        adapter: `it announced "${ref}" as accepted, then answered otherwise`,
        answer: { outcome: result.outcome },
      },
    });
  });

  it('a second accepted event with another reference: the first holds', async () => {
    const house = rig({ at: { 'submit.after_accepted': ['say:{"event":"accepted","seq":3,"ref":"other"}', 'hang'] } });
    const ledger = recorder();
    const outcome = await house.submit({}, ledger.events);
    expect(outcome).toMatchObject({ outcome: 'accepted', ref: house.submissions()[0].ref });
    expect(JSON.stringify(outcome)).toContain('a second \\"accepted\\"');
    expect(ledger.log).toEqual(['started', 'sending', 'accepted']);
  });

  it('a request that fits no line starts nothing', async () => {
    const house = rig();
    const ledger = recorder();
    const outcome = await house.submit({ text: 'x'.repeat(1024 * 1024) }, ledger.events);
    expect(outcome).toMatchObject({ outcome: 'released', reason: 'invalid_input' });
    expect(ledger.log).toEqual([]);
  });
});

describe.concurrent('files of an answer', () => {
  const completed = (path: string) => ({ outcome: { outcome: 'completed', ref: 'r', files: [{ path }] } });

  it('completed: the files, with absolute paths', async () => {
    const house = rig({ sheet: { capabilities: { submit: 'sync' } } });
    expect(await house.submit({ text: 'hello' })).toMatchObject({
      outcome: 'completed',
      ref: house.submissions()[0].ref,
      files: [{ path: join(house.out, 'text.txt'), mime: 'text/plain' }],
    });
  });

  it('completed after an accepted event, and without a reference of its own: takes that one', async () => {
    const house = rig({
      at: { 'submit.before_answer': answer({ outcome: 'completed', files: [{ path: 'out/made' }] }) },
    });
    writeFileSync(join(house.out, 'made'), 'made');
    expect(await house.submit()).toMatchObject({
      outcome: 'completed',
      ref: house.submissions()[0].ref,
      files: [{ path: join(house.out, 'made') }],
    });
  });

  it('a relative path is taken from the root of the show; a link that stays inside is followed', async () => {
    const house = rig(completed('out/link'));
    mkdirSync(join(house.out, 'deep'));
    writeFileSync(join(house.out, 'deep', 'film'), 'film');
    symlinkSync('deep/film', join(house.out, 'link'));
    expect(await house.submit()).toMatchObject({ files: [{ path: join(house.out, 'deep', 'film') }] });
  });

  it.each([
    ['relative to the output directory', 'made', 'cannot be found (ENOENT)'],
    ['missing', 'out/missing', 'cannot be found (ENOENT)'],
    ['outside', 'secret', 'lies outside its output directory'],
    ['outside, absolute', '/etc/hostname', 'lies outside its output directory'],
    ['outside, by ..', 'out/../secret', 'lies outside its output directory'],
    ['outside, in a directory with the same beginning', 'out-side', 'lies outside its output directory'],
    ['outside, through a linked file', 'out/link', 'lies outside its output directory'],
    ['outside, through a linked directory', 'out/up/secret', 'lies outside its output directory'],
    ['the output directory', 'out', 'is not a regular file'],
    ['no path', 'out/\0', 'is no path'],
  ])('a path that is %s is not taken', async (_what, path, why) => {
    const house = rig();
    writeFileSync(join(house.out, 'made'), 'made');
    writeFileSync(join(house.root, 'secret'), 'secret');
    writeFileSync(join(house.root, 'out-side'), 'secret');
    symlinkSync('../secret', join(house.out, 'link'));
    symlinkSync('..', join(house.out, 'up'));
    await expect(filesInside([{ path }], house.out, house.root)).rejects.toThrow(
      new BadPath(`it names ${JSON.stringify(path)}, which ${why}`),
    );
  });

  it('files that cannot be taken are a broken protocol, and possibly paid', async () => {
    const house = rig(completed('out/missing'));
    const message = 'it answered "completed", but it names "out/missing", which cannot be found (ENOENT)';
    expect(await house.submit()).toEqual({
      outcome: 'unknown',
      reason: 'protocol',
      message,
      evidence: { adapter: message },
    });
  });

  it('also from an adapter that never announced that it sends', async () => {
    const house = rig({ ...completed('secret'), events: [] });
    expect(await house.submit()).toMatchObject({ outcome: 'unknown', reason: 'protocol' });
  });
});
