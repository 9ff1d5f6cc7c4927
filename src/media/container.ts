import { type FileHandle, open } from 'node:fs/promises';
import { EpisodeError } from '../errors.ts';

/**
 * A file format that is taken as media, known by its first bytes. ffmpeg is always told which one to read: left to
 * guess, it takes a playlist named `.mp4` and opens the files that it lists, and reads patterns into names like `%d.png`.
 */
export interface Container {
  name: string;
  /** ffmpeg's name for the reader. */
  demuxer: string;
  still: boolean;
  /** `false` for a stream that was written without knowing its length, whose ragged end is no damage. */
  strict: boolean;
}

interface Format {
  name: string;
  demuxer: string;
  still?: boolean;
  begins(head: Buffer): boolean;
  /** For formats that say where they end: what is missing there, which decoding alone does not notice. */
  cut?(file: FileHandle, size: number): Promise<boolean>;
}

const HEAD_BYTES = 512;
const TAIL_BYTES = 64 * 1024;

const ascii = (head: Buffer, at: number, ...texts: string[]): boolean =>
  texts.some((text) => head.toString('latin1', at, at + text.length) === text);

const bytes = (head: Buffer, ...values: number[]): boolean => values.every((value, at) => head[at] === value);

const riff = (head: Buffer, type: string): boolean => ascii(head, 0, 'RIFF') && ascii(head, 8, type);

const FORMATS: Format[] = [
  {
    name: 'MP4',
    demuxer: 'mov',
    begins: (head) => ascii(head, 4, 'ftyp', 'moov', 'mdat', 'wide', 'free', 'skip'),
    cut: boxesReachBeyond,
  },
  { name: 'Matroska', demuxer: 'matroska', begins: (head) => bytes(head, 0x1a, 0x45, 0xdf, 0xa3) },
  { name: 'AVI', demuxer: 'avi', begins: (head) => riff(head, 'AVI '), cut: riffReachesBeyond },
  { name: 'MPEG-TS', demuxer: 'mpegts', begins: (head) => [0, 188, 376].every((at) => head[at] === 0x47) },
  { name: 'FLV', demuxer: 'flv', begins: (head) => ascii(head, 0, 'FLV\x01') },
  { name: 'Ogg', demuxer: 'ogg', begins: (head) => ascii(head, 0, 'OggS'), cut: lastPageIsNotLast },
  { name: 'WAV', demuxer: 'wav', begins: (head) => riff(head, 'WAVE'), cut: riffReachesBeyond },
  { name: 'FLAC', demuxer: 'flac', begins: (head) => ascii(head, 0, 'fLaC') },
  // An MPEG audio frame has a layer; the same place is 0 in ADTS.
  { name: 'AAC', demuxer: 'aac', begins: (head) => head[0] === 0xff && (head[1]! & 0xf6) === 0xf0 },
  {
    name: 'MP3',
    demuxer: 'mp3',
    begins: (head) => ascii(head, 0, 'ID3') || (head[0] === 0xff && (head[1]! & 0xe0) === 0xe0 && (head[1]! & 6) !== 0),
  },
  {
    name: 'PNG',
    demuxer: 'png_pipe',
    still: true,
    begins: (head) => ascii(head, 0, '\x89PNG\r\n\x1a\n'),
    cut: endsWithout(Buffer.from('IEND'), TAIL_BYTES),
  },
  {
    name: 'JPEG',
    demuxer: 'jpeg_pipe',
    still: true,
    begins: (head) => bytes(head, 0xff, 0xd8, 0xff),
    cut: endsWithout(Buffer.from([0xff, 0xd9]), TAIL_BYTES),
  },
  { name: 'WebP', demuxer: 'webp_pipe', still: true, begins: (head) => riff(head, 'WEBP'), cut: riffReachesBeyond },
  {
    name: 'GIF',
    demuxer: 'gif',
    still: true,
    begins: (head) => ascii(head, 0, 'GIF8'),
    cut: endsWithout(Buffer.from([0x3b]), 1),
  },
];

/**
 * What kind of file this is by its first bytes, and that its end is there where the format tells.
 * Throws `MEDIA_NOT_WHOLE` (76) with what it is instead, or that it was cut; errors of the file system as they are.
 */
export async function identify(path: string): Promise<Container> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size === 0) throw notWhole(path, 'it is empty');
    const head = await readAt(file, 0, HEAD_BYTES);
    const format = FORMATS.find((each) => each.begins(head));
    if (!format) throw notWhole(path, describe(head));
    const { name, demuxer, still = false, cut } = format;
    const strict = !(demuxer === 'wav' && isOpenEnded(head.readUInt32LE(4)));
    if (strict && (await cut?.(file, size))) throw notWhole(path, `the end of the ${name} file is missing`);
    return { name, demuxer, still, strict };
  } finally {
    await file.close();
  }
}

export const notWhole = (path: string, what: string): EpisodeError =>
  new EpisodeError('MEDIA_NOT_WHOLE', `${path} is not whole media: ${what}`, { subject: path, details: { what } });

function describe(head: Buffer): string {
  if (head.every((byte) => byte === 0)) return 'it begins with nothing but zero bytes';
  const text = head.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
  return text ? 'it is text, perhaps an error page or a playlist' : 'it is of no known media format';
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** ISO/IEC 14496-12, 4.2: boxes follow each other; size 1 means that 64 bits follow the type, size 0 "to the end". */
async function boxesReachBeyond(file: FileHandle, size: number): Promise<boolean> {
  let at = 0;
  while (size - at >= 8) {
    const header = await readAt(file, at, 16);
    const short = header.readUInt32BE(0);
    const length = short === 1 && header.length === 16 ? Number(header.readBigUInt64BE(8)) : short;
    if (short === 0) return false;
    if (length < 8) return true;
    at += length;
  }
  return at > size;
}

/** A writer into a pipe cannot know the length, and writes 0, all ones, or nearly so (espeak-ng: 0x7ffff024). */
const isOpenEnded = (length: number): boolean => length === 0 || length >= 0x7ffff000;

async function riffReachesBeyond(file: FileHandle, size: number): Promise<boolean> {
  const head = await readAt(file, 4, 4);
  return head.readUInt32LE(0) + 8 > size;
}

/** RFC 3533, 6: bit 3 of the header type marks the last page of a stream. */
async function lastPageIsNotLast(file: FileHandle, size: number): Promise<boolean> {
  const tail = await readAt(file, Math.max(0, size - TAIL_BYTES), TAIL_BYTES);
  const page = tail.lastIndexOf('OggS');
  return page < 0 || ((tail[page + 5] ?? 0) & 4) === 0;
}

/** `within` bytes of the end, not at it: cameras and editors append data of their own. */
function endsWithout(mark: Buffer, within: number): (file: FileHandle, size: number) => Promise<boolean> {
  return async (file, size) => !(await readAt(file, Math.max(0, size - within), within)).includes(mark);
}
