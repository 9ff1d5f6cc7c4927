import { artifactChanged, asEpisodeError, EpisodeError, isErrno } from '../errors.ts';
import type { InputRecord } from '../model/episode.ts';
import { inputsOf, type Step } from '../model/plan.ts';
import { resolveInputs, type StepView } from '../model/status.ts';
import type { SpendServices } from './spend-services.ts';

/**
 * What a step is given, with the hash of each file as it is on the disk now. Throws `ARTIFACT_CHANGED` (10) when a take
 * is not what was recorded, `FILE_NOT_FOUND` (66) when a file is not there.
 */
export async function gatherInputs(
  services: Pick<SpendServices, 'media' | 'root' | 'port'>,
  step: Step,
  views: readonly StepView[],
): Promise<InputRecord[]> {
  const files: InputRecord[] = [];
  for (const input of inputsOf(step)) {
    if (!('file' in input)) continue;
    const { sha256 } = await hashInShow(services, input.file);
    files.push({ name: input.name, path: input.file, sha256 });
  }
  const inputs = resolveInputs(step, new Map(views.map((view) => [view.id, view])), files);
  for (const input of inputs) if (!files.includes(input)) await verifyRecorded(services, input);
  return inputs;
}

/** Throws `ARTIFACT_CHANGED` (10) unless the file's bytes are the recorded ones. */
export async function verifyRecorded(
  services: Pick<SpendServices, 'media' | 'root' | 'port'>,
  { path, sha256 }: { path: string; sha256: string },
): Promise<void> {
  const type = (await services.port.disk.lstat(`${services.root}/${path}`))?.type;
  if (type !== 'file' && type !== 'link')
    throw artifactChanged(path, sha256, type ? `it is a ${type}` : 'it is missing');
  const found = await hashInShow(services, path);
  if (found.sha256 !== sha256) throw artifactChanged(path, sha256, `its hash is ${found.sha256.slice(0, 12)}…`);
}

async function hashInShow(
  { media, root }: Pick<SpendServices, 'media' | 'root'>,
  path: string,
): Promise<{ sha256: string; bytes: number }> {
  try {
    return await media.hash(`${root}/${path}`);
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'EISDIR', 'ENOTDIR')) throw asEpisodeError(error, path);
    throw new EpisodeError('FILE_NOT_FOUND', `${path} is not a file of this show`, {
      subject: path,
      hints: ['paths in a plan are relative to the show'],
      cause: error,
    });
  }
}
