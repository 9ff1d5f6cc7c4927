import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkLedger } from '../ledger-check.ts';
import { answer, MAPPING, type Respond } from '../providers/http-rig.ts';
import { ID } from './rig.ts';
import { makeStudio, PNG, SECRET } from './studio.ts';

test.concurrent('a task of an HTTP provider is sent once, followed, brought home and billed', async () => {
  const studio = await makeStudio();
  const done = await studio.json(0, 'generate', ID);
  expect(done).toMatchObject({
    status: 'complete',
    steps: [{ state: 'succeeded', ref: 'job-1', cost: { state: 'settled', amount: '0.0399' } }],
  });
  expect(studio.record().steps[0].attempts[0]).toMatchObject({
    checkpoint: null,
    outcome: { outcome: 'accepted' },
    files: [{ mime: 'image/png' }],
  });
  await studio.json(0, 'generate', ID);
  expect(studio.submissions()).toBe(1);
  expect(checkLedger(studio.root)).toEqual([]);
});

test.concurrent('a lost answer is held, and found again by what only ours carries, without paying', async () => {
  const studio = await makeStudio({ submit: (_received, response) => response.destroy() });
  const held = await studio.json(11, 'generate', ID);
  expect(held).toMatchObject({ status: 'held', steps: [{ state: 'unknown' }] });
  const found = await studio.json(0, 'reconcile', ID);
  expect(found).toMatchObject({ status: 'complete', steps: [{ state: 'succeeded', ref: 'job-1' }] });
  expect(studio.submissions()).toBe(1);
  expect(checkLedger(studio.root)).toEqual([]);
});

test.concurrent('a result that cannot be had is asked for again, and never paid again', async () => {
  let files = 0;
  const studio = await makeStudio({
    file: (received, response, request) => {
      files += 1;
      if (files === 1)
        return response
          .writeHead(200, { 'content-type': 'image/png', 'content-length': '999' })
          .write(PNG, () => response.destroy());
      if (files === 2) return answer(200, '<html>', { 'content-type': 'text/html' })(received, response, request);
      if (files === 3)
        return answer(200, PNG.subarray(0, 40), { 'content-type': 'image/png' })(received, response, request);
      if (files === 4) return answer(403)(received, response, request);
      return answer(200, PNG, { 'content-type': 'image/png' })(received, response, request);
    },
  });
  await studio.json(69, 'generate', ID);
  await studio.json(76, 'reconcile', ID);
  await studio.json(76, 'reconcile', ID);
  await studio.json(11, 'reconcile', ID);
  expect(await studio.json(0, 'reconcile', ID)).toMatchObject({ status: 'complete' });
  expect(studio.submissions()).toBe(1);
  expect(checkLedger(studio.root)).toEqual([]);
});

test.concurrent('a mapping that cannot be used stops before anything is claimed', async () => {
  const studio = await makeStudio();
  writeFileSync(join(studio.root, 'mappings/studio.json'), JSON.stringify({ ...MAPPING, auth: {} }));
  expect((await studio.json(78, 'generate', ID)).error).toMatchObject({
    code: 'PROVIDER_CONFIGURATION',
    subject: './mappings/studio.json',
  });
  expect(studio.record().steps).toMatchObject([{ id: 's1', attempts: [] }]);
  expect(studio.received).toEqual([]);
  expect(checkLedger(studio.root)).toEqual([]);
});

/** Every way in which a text may show the secret. */
function formsOf(secret: string): string[] {
  const base64 = [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  const url = encodeURIComponent(secret);
  return [
    secret,
    url,
    url.replace(/%../g, (code) => code.toLowerCase()),
    new URLSearchParams({ secret }).toString().slice('secret='.length),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    ...base64,
    ...base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

/** Every byte of the show but its configuration. */
function everythingIn(root: string): string {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(root, path)).isFile())
    .map((path) => `${path}\n${readFileSync(join(root, path), 'latin1')}`)
    .join('\n');
}

test.concurrent.each<[string, Respond]>([
  ['refuses', answer(400, {})],
  ['refuses the key', answer(401, {})],
  ['breaks', answer(500, {})],
  ['answers with half a page', answer(200, '<html>')],
  ['accepts', answer(201, {})],
])('a provider that quotes the key while it %s makes nobody else learn it', async (_what, respond) => {
  const quote = Object.fromEntries(formsOf(SECRET).map((form, index) => [`form${index}`, form]));
  const quoting: Respond = (received, response, request) => {
    const end = response.end.bind(response);
    response.end = ((text: string) => {
      const body = typeof text === 'string' && text.startsWith('{') ? JSON.parse(text) : {};
      const said = {
        ...body,
        detail: JSON.stringify(quote),
        urls: { status: `http://${request.headers.host}/?key=${encodeURIComponent(SECRET)}` },
        state: SECRET,
      };
      return end(JSON.stringify(body.files ? { ...body, detail: said.detail } : said));
    }) as typeof response.end;
    response.setHeader('x-request-id', encodeURIComponent(SECRET));
    return respond(received, response, request);
  };
  const studio = await makeStudio({ submit: quoting, status: quoting, list: quoting });
  const said: string[] = [];
  for (const words of [
    ['plan', ID, '--file', 'plan.json'],
    ['generate', ID],
    ['generate', ID, '--dry-run'],
    ['reconcile', ID],
    ['show', ID],
    ['list'],
    ['cost', ID],
    ['why', ID],
    ['doctor'],
    ['retry', ID, '--step', 's1', '--reason', 'once more'],
    ['wait', ID, '--timeout', '0s'],
  ]) {
    for (const json of [[], ['--json']]) {
      const { stdout, stderr } = await studio.run(...words, ...json);
      said.push(stdout, stderr);
    }
  }
  const all = [...said, everythingIn(studio.root)].join('\n');
  expect(all).toContain('studio');
  for (const form of formsOf(SECRET)) expect(all.includes(form) ? form : null).toBeNull();
  expect(checkLedger(studio.root)).toEqual([]);
});
