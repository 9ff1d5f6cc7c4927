import { namesIn } from '../../durable.ts';
import { EpisodeError, ledgerDamaged, ledgerIncomplete } from '../../errors.ts';
import type { Disk } from '../../port.ts';
import { COMMITS, STAGING, stagedNumber } from './paths.ts';

const HELD_BY_SHOWS = ['episodes', 'history', 'proposals'];
/** What an `init` that was cut off leaves in `state/`: nothing that was ever recorded. */
const SCAFFOLD = /^(commits|staging|keys|lock|lock\.json(\.new)?)$/;

const visible = (names: string[]): string[] => names.filter((name) => !name.startsWith('.'));

/** Whether nothing was ever recorded in `state/`. Names with a leading dot (`.gitkeep`, `.DS_Store`) are nobody's records. */
async function isUntouched(disk: Disk, root: string): Promise<boolean> {
  const names = visible(await namesIn(disk, root, 'state'));
  if (names.some((name) => !SCAFFOLD.test(name))) return false;
  const staged = visible(await namesIn(disk, root, STAGING));
  if (staged.some((name) => stagedNumber(name) !== 0)) return false;
  const records = [await namesIn(disk, root, COMMITS), await namesIn(disk, root, 'state/keys')];
  return records.every((found) => visible(found).length === 0);
}

/** Works of a show whose ledger is elsewhere or lost, e.g. `episodes/2026-W32-0`; `null` if there are none. */
async function orphan(disk: Disk, root: string): Promise<string | null> {
  for (const directory of HELD_BY_SHOWS) {
    const name = visible(await namesIn(disk, root, directory))[0];
    if (name !== undefined) return `${directory}/${name}`;
  }
  return null;
}

/** Why there is no head: a show that was never initialised, or damage; an absent ledger is never taken for an empty one. */
export async function whyNoLedger(disk: Disk, root: string): Promise<EpisodeError> {
  if (!(await isUntouched(disk, root))) return ledgerDamaged(COMMITS, 'records are there, and no commit is');
  const found = await orphan(disk, root);
  if (found !== null) {
    const back = `put state/ back from the backup that belongs to ${found}: cp -Rp BACKUP/state .`;
    const away = `or, if ${found} is not of this show: mv ${found} ELSEWHERE`;
    return ledgerIncomplete(found, `${found} is there and state/ is empty`, back, away);
  }
  return new EpisodeError('NOT_INITIALISED', `${root} has no ledger yet`, {
    subject: 'state/',
    hints: ['episode init --time-zone ZONE'],
  });
}
