import { symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EpisodeError } from '../../src/errors.ts';
import { ADAPTER, recorder, rig, task } from './exec-rig.ts';

async function caught(promise: Promise<unknown>): Promise<EpisodeError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof EpisodeError)) throw new Error(`not an EpisodeError: ${String(error)}`);
  return error;
}

const query = { ...task(''), claimed_at: '2026-08-07T09:00:00+09:00', fingerprint: 'f' };

describe.concurrent('the sheet', () => {
  it('is asked for once, and again only after a failure', async () => {
    const house = rig({ at: { start: { do: 'exit:1', times: 1 } } });
    expect((await caught(house.provider.describe())).code).toBe('PROVIDER_UNREACHABLE');
    house.script({ at: { 'describe.request': 'note:asked' } });
    const [sheet, again] = await Promise.all([house.provider.describe(), house.provider.describe()]);
    expect(again).toBe(sheet);
    expect(sheet.provider).toBe('scripted');
    expect(house.fired('describe.request')).toHaveLength(1);
  });

  it('of another protocol is refused by name', async () => {
    const error = await caught(rig({ sheet: { protocol: 'episode-provider/2' } }).provider.describe());
    expect([error.code, error.exit]).toEqual(['PROVIDER_PROTOCOL', 76]);
    expect(error.message).toBe('house broke episode-provider/1 at "describe": it speaks "episode-provider/2"');
  });

  it('that does not fit says where', async () => {
    const error = await caught(rig({ sheet: { capabilities: { submit: 'later' } } }).provider.describe());
    expect(error.code).toBe('PROVIDER_PROTOCOL');
    expect(error.message).toContain('capabilities.submit');
  });

  it('that cannot be had means that nothing is submitted', async () => {
    const house = rig({ sheet: { protocol: 'episode-provider/2' } });
    const ledger = recorder();
    expect(await house.submit({}, ledger.events)).toMatchObject({
      outcome: 'released',
      reason: 'not_sent',
      evidence: { code: 'PROVIDER_PROTOCOL' },
    });
    expect(ledger.log).toEqual([]);
  });
});

describe.concurrent('a command that cannot be started', () => {
  it.each([
    ['missing', './render', 'it or its interpreter does not exist'],
    ['not executable', './notes.txt', 'it is not executable'],
    ['not on PATH', 'no-such-renderer', 'it or its interpreter does not exist'],
  ])('%s', async (_what, file, why) => {
    const house = rig({}, { command: [file, '--fast'] });
    writeFileSync(join(house.root, 'notes.txt'), 'not a program');
    const error = await caught(house.provider.describe());
    const path = file.startsWith('./') ? join(house.root, file) : file;
    expect([error.code, error.exit]).toEqual(['PROVIDER_CONFIGURATION', 78]);
    expect(error.message).toBe(`house cannot be started: ${path}: ${why}`);
    expect(error.hints).toEqual([
      `name an executable file in pipeline.json: providers.house.command is ["${file}","--fast"]`,
    ]);
  });

  it('any more, once its sheet was read: nothing was submitted', async () => {
    const house = rig({ sheet: { capabilities: { announces_sending: false } } }, { command: ['./render'] });
    symlinkSync(ADAPTER, join(house.root, 'render'));
    await house.provider.describe();
    unlinkSync(join(house.root, 'render'));
    const ledger = recorder();
    expect(await house.submit({}, ledger.events)).toMatchObject({
      outcome: 'released',
      reason: 'not_sent',
      evidence: { code: 'ENOENT' },
    });
    expect(ledger.log).toEqual([]);
  });
});

describe.concurrent('the life of a task', () => {
  it('runs, is fetched, and is found again', async () => {
    const house = rig();
    const { ref } = (await house.submit({ text: 'hello' })) as { ref: string };
    expect(await house.provider.status(task(ref, { upload: 'u' }))).toEqual({ state: 'running', progress: 0.5 });
    expect(await house.provider.status(task(ref))).toEqual({ state: 'done' });
    expect(await house.provider.fetch(task(ref), house.out)).toEqual([
      { path: join(house.out, 'text.txt'), mime: 'text/plain' },
    ]);
    expect(await house.provider.lookup(query)).toEqual({
      found: 'present',
      refs: [{ ref, match: 'exact' }],
      complete: true,
    });
    expect(await house.provider.cost(task(ref))).toEqual({
      amount: '0.40',
      unit: 'USD',
      basis: 'reported',
      final: true,
    });
    expect(await house.provider.cancel(task(ref))).toEqual({ state: 'canceled', definite: true });
    expect(await house.provider.status(task(ref))).toEqual({ state: 'canceled', billable: 'no' });
  });

  it('what costs nothing to ask', async () => {
    const { provider } = rig();
    expect(await provider.estimate('video', {})).toEqual({ amount: '0.40', unit: 'USD', basis: 'table' });
    expect(await provider.balance()).toEqual({ amount: '100.00', unit: 'USD' });
    expect(await provider.check()).toEqual({ auth: 'ok', balance: { amount: '100.00', unit: 'USD' } });
    expect(await provider.lookup(query)).toEqual({ found: 'absent', refs: [], complete: true });
    expect(await provider.status(task('nobody'))).toEqual({ state: 'not_found' });
  });

  it('an expired result', async () => {
    expect(await rig({ fetch: { error: 'expired' } }).provider.fetch(task('ref'), '/')).toBe('expired');
  });

  it('a fetched path outside the output directory', async () => {
    const house = rig({ fetch: { files: [{ path: '/etc/hostname' }] } });
    const error = await caught(house.provider.fetch(task('ref'), house.out));
    expect(error.code).toBe('PROVIDER_PROTOCOL');
    expect(error.message).toBe(
      'house broke episode-provider/1 at "fetch": it names "/etc/hostname", which lies outside its output directory',
    );
  });

  it('what the sheet does not offer is answered without a process', async () => {
    const capabilities = {
      lookup: { supported: false },
      cancel: 'none',
      estimate: 'none',
      cost: 'none',
      balance: false,
    };
    const house = rig({ sheet: { capabilities }, at: { start: 'note:up' } });
    expect(await house.provider.lookup(query)).toEqual({ found: 'unsupported', refs: [], complete: false });
    expect(await house.provider.cancel(task('ref'))).toEqual({ state: 'unsupported', definite: false });
    expect(await house.provider.estimate('text', {})).toEqual({ amount: null, unit: 'unknown', basis: 'unknown' });
    expect(await house.provider.cost(task('ref'))).toEqual({ amount: null, unit: 'unknown' });
    expect(await house.provider.balance()).toBeNull();
    expect(house.fired('start')).toHaveLength(1);
  });

  it('an adapter without "check"', async () => {
    expect(await rig({ check: { error: 'unsupported' } }).provider.check()).toEqual({ auth: 'unknown' });
  });
});

describe.concurrent('a free operation that fails', () => {
  const UNREACHABLE = ['PROVIDER_UNREACHABLE', 69, 'house gave no answer to "status": '] as const;
  const PROTOCOL = ['PROVIDER_PROTOCOL', 76, 'house broke episode-provider/1 at "status": '] as const;
  it.each([
    ['error:busy', UNREACHABLE, 'it answered the error "busy": scripted busy'],
    ['exit:0', UNREACHABLE, 'it exited with code 0 before it answered'],
    ['die', UNREACHABLE, 'it was ended by SIGKILL before it answered'],
    ['garbage', PROTOCOL, 'it sent a line that is not a JSON object: Loading the model …'],
    ['oversize', PROTOCOL, 'it sent a line of more than 1048576 bytes'],
    ['say:{"event":"sending","seq":1}', PROTOCOL, 'it sent a "sending" event during "status"'],
    [
      'say:{"id":9,"ok":true,"result":{}}',
      PROTOCOL,
      'it sent an answer to request 9, asked was 1: {"id":9,"ok":true,"result":{}}',
    ],
  ])('%s', async (action, [code, exit, start], why) => {
    const house = rig({ at: { 'status.request': action } });
    const error = await caught(house.provider.status(task('ref')));
    expect([error.code, error.exit, error.message]).toEqual([code, exit, start + why]);
  });

  it('takes too long', async () => {
    const house = rig({ at: { 'status.request': 'hang' } }, { timeoutsMs: { status: 1 } });
    const error = await caught(house.provider.status(task('ref')));
    expect(error.message).toBe('house gave no answer to "status": it did not answer within 0.001 s');
  });

  it('answers what does not fit', async () => {
    const house = rig({ at: { 'status.request': 'say:{"id":1,"ok":true,"result":{"state":"lost"}}' } });
    const error = await caught(house.provider.status(task('ref')));
    expect(error.code).toBe('PROVIDER_PROTOCOL');
    expect(error.message).toContain('an answer to "status" that does not fit (state: ');
  });

  it('hands over the last words of its stderr', async () => {
    const house = rig({ at: { 'status.request': ['note:no route to host', 'exit:1'] } });
    expect((await caught(house.provider.status(task('ref')))).details).toEqual({
      op: 'status',
      stderr: ['no route to host'],
    });
    expect(house.notes).toEqual(['no route to host']);
  });
});
