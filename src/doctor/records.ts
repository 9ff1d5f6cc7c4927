import { EpisodeError } from '../errors.ts';
import { type Ref, ref, type View } from '../store/store.ts';
import { type Diagnosis, fromError, ok, type Patient, wrong } from './diagnosis.ts';

/** Reads every record: what is damaged is named file by file, and one never hides the others. */
export async function records({ store }: Patient): Promise<Diagnosis[]> {
  try {
    return await store.salvage(async (view) => {
      const damage = (await store.inspect()).map((error) => fromError('ledger', error));
      let count = 0;
      for (const name of await allRecords(view)) {
        try {
          if ((await view.get(name)) === undefined)
            damage.push(wrong('ledger', 'LEDGER_INCOMPLETE', `${view.nameOf(name)} is missing`, RESTORE));
          count += 1;
        } catch (error) {
          if (!(error instanceof EpisodeError)) throw error;
          damage.push(wrong('ledger', error.code, error.message, RESTORE));
        }
      }
      return damage.length > 0 ? damage : [ok('ledger', `${count} records, transaction ${view.head}`)];
    });
  } catch (error) {
    if (!(error instanceof EpisodeError)) throw error;
    return [fromError('ledger', error)];
  }
}

const RESTORE = 'put the file back from a backup; nothing is repaired by guessing';

async function allRecords(view: View) {
  const names: Ref[] = [
    ref('ledger', ''),
    ...(await view.list('history')).map((id) => ref('history', id)),
    ...(await view.list('key')).map((id) => ref('key', id)),
  ];
  for (const weekId of await view.list('week')) {
    names.push(ref('week', weekId));
    for (const id of await view.list('episode', weekId)) names.push(ref('episode', id));
    try {
      const week = await view.get(ref('week', weekId));
      names.push(...Object.values(week?.episodes ?? {}).map((hash) => ref('key', hash)));
      names.push(...Object.keys(week?.episodes ?? {}).map((id) => ref('episode', id)));
    } catch (error) {
      // Said when its own turn comes.
      if (!(error instanceof EpisodeError)) throw error;
    }
  }
  return [...new Map(names.map((name) => [view.nameOf(name), name])).values()];
}
