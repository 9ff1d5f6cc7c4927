import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { errorText } from '../../src/cli/render.ts';
import { checkLedger } from '../ledger-check.ts';
import { memoryDirectory } from '../rig.ts';
import { runVerb, type VerbParameters } from '../run-verb.ts';
import { atEveryOperation, makeUsedShow, STRIDE, WEEK } from './faults.ts';

/** Every other verb that touches the ledger: a disk error is said as one, with its file, and is never called a bug. */

const ID = `${WEEK}-0`;
const PLAN = { format: 1, steps: [{ id: 's1', provider: 'local', kind: 'video', params: { seconds: 1 } }] };

it.each<[string, VerbParameters, number]>([
  ['list', { options: { all: true } }, 10],
  ['show', { args: [ID] }, 8],
  ['why', { args: [ID] }, 8],
  ['why', { options: { key: 'before' } }, 8],
  ['cost', { args: [ID] }, 8],
  ['doctor', {}, 20],
  ['plan', { args: [ID], options: { file: 'plan.json' } }, 40],
  ['close', { args: [ID], options: { reason: 'a test' } }, 40],
])('%s %j', async (name, parameters, least) => {
  const [original, place] = [await makeUsedShow(), await memoryDirectory()];
  await writeFile(join(original, 'plan.json'), JSON.stringify(PLAN));
  await atEveryOperation(
    least,
    async (operation) => {
      const root = join(place, String(operation));
      await cp(original, root, { recursive: true });
      let struck = false;
      const say = (): void => {
        struck = true;
      };
      const { exit, errors, document } = await runVerb(root, name, {
        ...parameters,
        fault: { specification: `EIO:before:${operation}`, say },
      });
      if (!struck) {
        expect(exit, errors.map(errorText).join('\n')).toBe(name === 'doctor' ? 78 : 0);
        return false;
      }
      const said = errors.map(errorText).join('\n');
      if (exit !== 0 && name !== 'doctor') expect(exit, said).toBe(74);
      // One check that cannot be made hides no other.
      if (name === 'doctor')
        expect(document.diagnoses).toHaveProperty(
          'length',
          expect.toSatisfy((count) => count >= 7),
        );
      for (const error of errors) expect(error.hints.length, said).toBeGreaterThan(0);
      expect((await runVerb(root, name, parameters)).exit).toBe(name === 'doctor' ? 78 : 0);
      expect(checkLedger(root, { interrupted: true })).toEqual([]);
      return true;
      // It starts ffmpeg.
    },
    name === 'doctor' ? STRIDE : 1,
  );
});
