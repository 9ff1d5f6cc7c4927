import * as z from 'zod/mini';
import { isErrno, mappingInvalid } from '../../errors.ts';
import { describeIssues } from '../../model/issues.ts';
import { isLoopback } from './address.ts';
import { Mapping } from './mapping.ts';

/** Mappings that come with the program, by the name that `"mapping"` in pipeline.json gives them. */
const SHIPPED: Record<string, () => Promise<{ default: unknown }>> = {
  elevenlabs: () => import('./mappings/elevenlabs.json', { with: { type: 'json' } }),
  fal: () => import('./mappings/fal.json', { with: { type: 'json' } }),
  replicate: () => import('./mappings/replicate.json', { with: { type: 'json' } }),
};

export const shippedMappings = (): string[] => Object.keys(SHIPPED);

/** What a provider of type `http` says of itself in pipeline.json. */
interface Wanted {
  mapping: string;
  env: readonly string[];
  servers: Readonly<Record<string, string>>;
}

/**
 * The mapping that a provider names: a shipped one, or a JSON file by its path from the show's directory.
 * `readJson` reads that file strictly. Throws `PROVIDER_CONFIGURATION` (78) with every fault.
 */
export async function loadMapping(
  provider: string,
  wanted: Wanted,
  readJson: (path: string) => Promise<unknown>,
): Promise<Mapping> {
  const value = await read(provider, wanted.mapping, readJson);
  const result = z.safeParse(Mapping, value, { reportInput: true });
  if (!result.success) throw mappingInvalid(provider, wanted.mapping, describeIssues(result.error, Mapping));
  const faults = [...faultsOf(result.data), ...faultsOfUse(result.data, wanted)];
  if (faults.length > 0) throw mappingInvalid(provider, wanted.mapping, faults);
  return result.data;
}

async function read(provider: string, mapping: string, readJson: (path: string) => Promise<unknown>): Promise<unknown> {
  if (Object.hasOwn(SHIPPED, mapping)) return (await SHIPPED[mapping]!()).default;
  if (!/[/.]/.test(mapping)) {
    const known = shippedMappings().join(', ');
    throw mappingInvalid(provider, mapping, [
      `no such mapping comes with episode (${known}); a file of your own is named by its path, e.g. ./mappings/${mapping}.json`,
    ]);
  }
  try {
    return await readJson(mapping);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw mappingInvalid(provider, mapping, [isErrno(error, 'ENOENT') ? 'there is no such file' : error.message]);
  }
}

type Node = Record<string, unknown>;

/** What the schema cannot see: names that lead nowhere, and patterns that are none. */
function faultsOf(mapping: Mapping): string[] {
  const faults: string[] = [];
  // What is sent as it stands may use these names for anything.
  const OPAQUE = new Set(['json', 'equals', 'value']);
  const visit = (node: unknown, at: string, isOpaque: boolean): void => {
    if (typeof node === 'string') {
      for (const [, name] of node.matchAll(/\{\+?credential\.([\w-]+)/g)) {
        if (!mapping.credentials.includes(name!)) faults.push(`${at}: no credential "${name}" in "credentials"`);
      }
    }
    if (typeof node !== 'object' || node === null) return;
    const { server, matches, kept } = isOpaque ? ({} as Node) : (node as Node);
    if (typeof server === 'string' && !Object.hasOwn(mapping.servers, server))
      faults.push(`${at}.server: no server "${server}"`);
    if (typeof matches === 'string' && !isPattern(matches))
      faults.push(`${at}.matches: "${matches}" is no regular expression`);
    if (typeof kept === 'string' && !Object.hasOwn(mapping.submit.keep, kept))
      faults.push(`${at}.kept: submit.keep has no "${kept}"`);
    for (const [name, value] of Object.entries(node)) {
      visit(value, at === '' ? name : `${at}.${name}`, isOpaque || OPAQUE.has(name));
    }
  };
  visit(mapping, '', false);
  const isAsync = mapping.capabilities.submit === 'async';
  if (isAsync && mapping.submit.ref === undefined) faults.push('submit.ref: a task needs a reference');
  if (isAsync && !mapping.status) faults.push('status: a task must be asked about');
  if (isAsync && !mapping.result) faults.push('result: nothing says where the result is');
  if (!isAsync && mapping.submit.result === undefined) faults.push('submit.result: nothing says where the result is');
  if (mapping.submit.result === 'bytes' && (mapping.submit.accepted ?? []).length > 0)
    faults.push('submit.accepted: nobody looks into an answer of bytes');
  if (mapping.status?.ask_result && !mapping.result?.request) faults.push('result.request: "ask_result" needs one');
  return faults;
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern);
    return true;
  } catch {
    return false;
  }
}

function faultsOfUse(mapping: Mapping, { env, servers }: Wanted): string[] {
  const faults: string[] = [];
  if (env.length !== mapping.credentials.length) {
    const wanted = mapping.credentials.length === 0 ? 'none' : mapping.credentials.join(', ');
    faults.push(`"env" names ${env.length} variables, and it takes ${wanted}`);
  }
  for (const name of Object.keys(servers)) {
    if (!Object.hasOwn(mapping.servers, name))
      faults.push(`"servers": it has no server "${name}" (${Object.keys(mapping.servers).join(', ')})`);
  }
  for (const [name, address] of Object.entries({ ...mapping.servers, ...servers })) {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (!url || !/^https?:$/.test(url.protocol)) faults.push(`servers.${name}: "${address}" is no http(s) address`);
    else if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
      faults.push(`servers.${name}: the credential would cross the network in clear; write https://${url.host}`);
    }
  }
  return faults;
}
