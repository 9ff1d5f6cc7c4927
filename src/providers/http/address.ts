import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup } from 'node:dns';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Which addresses may be connected to. */
export interface Reach {
  /** All of them. */
  allowPrivate: boolean;
  /** `host:port` that somebody wrote down, of private addresses. */
  named: ReadonlySet<string>;
}

/** An address that is not the public Internet's, and that nobody named. Nothing was sent to it. */
class PrivateAddress extends Error {
  readonly code = 'PRIVATE_ADDRESS';

  constructor(host: string, address: string) {
    super(`${host} is ${host === address ? '' : `${address}, `}a private address`);
  }
}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

/** Public is what IANA has not set aside for anything else; an IPv4 address inside an IPv6 one counts as itself. */
const isPublic = (address: string): boolean => ipaddr.process(address).range() === 'unicast';

/** An address or `localhost`: what a person who writes it down means and nothing that a name server decides. */
export const isPrivateLiteral = (hostname: string): boolean => isLiteral(hostname, (address) => !isPublic(address));

/** This machine: what is sent there crosses no network. */
export const isLoopback = (hostname: string): boolean =>
  isLiteral(hostname, (address) => ipaddr.process(address).range() === 'loopback');

function isLiteral(hostname: string, isSo: (address: string) => boolean): boolean {
  const host = bare(hostname);
  return host === 'localhost' || (isIP(host) !== 0 && isSo(host));
}

const portOf = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');

export const placeOf = (url: URL): string => `${url.hostname}:${portOf(url)}`;

/** Throws `PrivateAddress` for a URL whose host is one as it is written. */
export function refusePrivate(url: URL, reach: Reach): void {
  if (reach.allowPrivate || reach.named.has(placeOf(url))) return;
  if (isPrivateLiteral(url.hostname)) throw new PrivateAddress(bare(url.hostname), bare(url.hostname));
}

type Resolved = (error: Error | null, address?: string | LookupAddress[], family?: number) => void;

/** `lookup` of a socket: what a name stands for is looked at where it is used, so that it cannot change in between. */
export function resolver(url: URL, reach: Reach) {
  const isFree = reach.allowPrivate || reach.named.has(placeOf(url));
  return (hostname: string, options: LookupOptions, resolved: Resolved): void => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return resolved(error);
      const usable = isFree ? addresses : addresses.filter(({ address }) => isPublic(address));
      if (usable.length === 0) return resolved(new PrivateAddress(hostname, addresses[0]?.address ?? hostname));
      if (options.all) return resolved(null, usable);
      resolved(null, usable[0]!.address, usable[0]!.family);
    });
  };
}
