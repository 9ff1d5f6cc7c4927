import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg } from '../../media/ffmpeg.ts';

/** Where systems keep a font that has most letters. None of these paths needs quoting in a filter. */
const FONTS = [
  '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf',
  '/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf',
  '/usr/share/fonts/dejavu/DejaVuSans.ttf',
  '/usr/share/fonts/TTF/DejaVuSans.ttf',
  '/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf',
  '/usr/share/fonts/noto/NotoSans-Regular.ttf',
  '/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf',
  '/usr/share/fonts/truetype/freefont/FreeSans.ttf',
  '/System/Library/Fonts/Supplemental/Arial Unicode.ttf',
  '/System/Library/Fonts/Helvetica.ttc',
];

const MAX_LINES = 6;

/**
 * The filter that draws `caption` in the middle of a picture, ending in a comma; empty when there is none to draw or this
 * machine cannot draw text, which `onNote` is told: a picture without its caption is still good for what `local` is for.
 * The text goes through a file in `directory`, unexpanded, so no character of it means anything to ffmpeg.
 */
export async function captionFilter(
  ffmpeg: Ffmpeg,
  caption: string | undefined,
  { directory, width, height }: { directory: string; width: number; height: number },
  onNote: (note: string) => void,
): Promise<string> {
  const size = Math.max(8, Math.round(Math.min(height / 9, width / 14)));
  // A letter is a little over half as wide as the font is high.
  const lines = wrap(caption ?? '', Math.floor((width * 0.9) / (size * 0.58)));
  if (lines.every((line) => line === '')) return '';
  const font = await findFont();
  if (!font || !(await ffmpeg.has('drawtext'))) {
    const lacking = font ? 'this ffmpeg has no drawtext filter' : 'no font was found, e.g. DejaVu Sans';
    onNote(`the caption is left out: ${lacking}`);
    return '';
  }
  await writeFile(join(directory, 'caption.txt'), lines.join('\n'));
  return `${[
    ...['drawtext=textfile=caption.txt', 'expansion=none', `fontfile='${font}'`],
    ...[`fontsize=${size}`, 'fontcolor=white', `line_spacing=${Math.round(size / 4)}`],
    ...['box=1', 'boxcolor=black@0.5', `boxborderw=${Math.round(size / 2)}`],
    ...['x=(w-text_w)/2', 'y=(h-text_h)/2'],
  ].join(':')},`;
}

async function findFont(): Promise<string | undefined> {
  for (const font of FONTS) {
    const there = await access(font).then(
      () => true,
      () => false,
    );
    if (there) return font;
  }
  return undefined;
}

/** At word borders where there are any; its own line breaks are kept. Control characters become spaces. */
function wrap(text: string, columns: number): string[] {
  const width = Math.max(1, columns);
  const piece = new RegExp(`.{1,${width}}(?: |$)|.{1,${width}}`, 'gu');
  return text
    .trim()
    .split(/\r\n|\r|\n/)
    .flatMap((paragraph) => paragraph.replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, ' ').match(piece) ?? [''])
    .map((line) => line.trimEnd())
    .slice(0, MAX_LINES);
}
