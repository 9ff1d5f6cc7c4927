import { weekOfEpisode } from '../../model/episode-id.ts';
import { type Kind, type Ref, ref } from '../store.ts';

/** Where each document lies, relative to the show, with `/`. Refs are validated names: nothing here can leave the show. */
export function pathOf(ref: Ref): string {
  switch (ref.kind) {
    case 'ledger':
      return 'state/ledger.json';
    case 'week':
      return `state/${ref.id}/week.json`;
    case 'episode':
      return `state/${weekOfEpisode(ref.id)}/${ref.id}.json`;
    case 'key':
      return `state/keys/${ref.id}.json`;
    case 'history':
      return `history/${ref.id}.json`;
  }
}

/** The document that lies at `path`; `null` for what is none. */
export function refOf(path: string): Ref | null {
  if (path === pathOf(ref('ledger', ''))) return ref('ledger', '');
  const week = /^state\/(\d{4}-W\d\d)\/week\.json$/.exec(path);
  if (week) return ref('week', week[1]!);
  for (const kind of ['episode', 'key', 'history'] as const) {
    const id = LISTED[kind].name.exec(path.slice(path.lastIndexOf('/') + 1))?.[1];
    if (id !== undefined && pathOf(ref(kind, id)) === path) return ref(kind, id);
  }
  return null;
}

export type ListedKind = Extract<Kind, 'week' | 'history' | 'episode' | 'key'>;

/** The directory that holds the documents of a kind, and how the ID is found in a name there. */
export const LISTED: {
  [K in ListedKind]: { directory: (scope: string) => string; name: RegExp };
} = {
  week: { directory: () => 'state', name: /^(\d{4}-W\d\d)$/ },
  episode: { directory: (week) => `state/${week}`, name: /^(\d{4}-W\d\d-(?:0|[1-9]\d*))\.json$/ },
  history: { directory: () => 'history', name: /^(\d{4}-W\d\d)\.json$/ },
  key: { directory: () => 'state/keys', name: /^([0-9a-f]{64})\.json$/ },
};

export const COMMITS = 'state/commits';
export const STAGING = 'state/staging';

/** Nine digits sort by name for people; longer numbers are still read as numbers. */
export const commitPath = (number: number): string => `${COMMITS}/${String(number).padStart(9, '0')}.json`;

/** The number in a name of `commits/`; `null` for what is not a commit. */
export const commitNumber = (name: string): number | null =>
  /^\d{9,15}\.json$/.test(name) ? Number.parseInt(name, 10) : null;

/** Staged files carry the number they were made for, so that tidying never touches those of a living writer. */
export const stagedPath = (number: number, random: string): string => `${STAGING}/${number}-${random}.json`;

export const stagedNumber = (name: string): number | null => {
  const match = /^(\d{1,15})-[0-9a-f]+\.json$/.exec(name);
  return match ? Number(match[1]) : null;
};

export const directoryOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));
