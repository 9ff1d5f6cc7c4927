import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NotStarted } from '../../child/child.ts';
import { EpisodeError } from '../../errors.ts';
import type { Ffmpeg } from '../../media/ffmpeg.ts';
import { runTool } from '../../media/tool.ts';
import { verifyMedia } from '../../media/verify.ts';

/** A spoken text: a WAV file by its name in the directory, and how long it takes. */
export interface Voice {
  file: string;
  seconds: number;
}

interface SpeakOptions {
  directory: string;
  /** `PATH` to find espeak-ng on. */
  path: string | undefined;
  signal: AbortSignal;
  onNote(note: string): void;
}

/**
 * Speaks `text` with espeak-ng, or answers `null` and tells `onNote` where that is not installed.
 * The text goes through a file: as an argument, one that begins with a dash would be an option.
 */
export async function speak(ffmpeg: Ffmpeg, text: string, options: SpeakOptions): Promise<Voice | null> {
  const { directory, path, signal, onNote } = options;
  await writeFile(join(directory, 'voice.txt'), text);
  const file = 'voice.wav';
  let said = '';
  try {
    const { code } = await runTool(['espeak-ng', '-b', '1', '-f', 'voice.txt', '-w', file], {
      cwd: directory,
      path,
      signal,
      onDiagnostic: (line) => {
        said ||= line;
      },
    });
    if (code !== 0) {
      throw new EpisodeError('TOOL_FAILED', `espeak-ng failed: ${said || `exit ${code}`}`, { subject: 'espeak-ng' });
    }
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    onNote('nothing is spoken: there is no espeak-ng (apt-get install espeak-ng)');
    return null;
  }
  const { duration_seconds } = await verifyMedia(ffmpeg, join(directory, file), 'audio', signal);
  return { file, seconds: duration_seconds };
}
