/** What came out of decoding one stream. Times count from the start of the file. */
export interface Track {
  media: 'video' | 'audio';
  frames: number;
  /** Where its first frame starts, and where its last one ends. */
  startSeconds: number;
  endSeconds: number;
  /** Pixels as shown, after rotation. */
  width: number;
  height: number;
}

interface FrameTally {
  /** Takes one line of ffmpeg's `framecrc` output, in the order in which they are written. */
  add(line: string): void;
  tracks(): Track[];
}

/**
 * Counts decoded frames from the output of ffmpeg's `framecrc` muxer (ffmpeg-formats, "framecrc"): `#key stream: value`
 * lines, then one line `stream, dts, pts, duration, size, checksum` for each frame, in ticks of `#tb`.
 */
export function createFrameTally(): FrameTally {
  const tracks = new Map<string, Track & { tick: number }>();

  const describe = (key: string, stream: string, value: string) => {
    if (key === 'tb') {
      const [numerator = 0, denominator = 1] = value.split('/').map(Number);
      const tick = numerator / denominator;
      tracks.set(stream, { media: 'audio', frames: 0, startSeconds: 0, endSeconds: 0, width: 0, height: 0, tick });
    }
    const track = tracks.get(stream);
    if (key === 'media_type' && track && value === 'video') track.media = 'video';
    if (key === 'dimensions' && track) [track.width = 0, track.height = 0] = value.split('x').map(Number);
  };

  return {
    add(line) {
      const header = /^#(\w+) (\d+): +(.*)$/.exec(line);
      if (header) return describe(header[1]!, header[2]!, header[3]!);
      const [stream = '', , pts, duration] = line.split(',').map((field) => field.trim());
      const track = tracks.get(stream);
      if (!track) return;
      if (track.frames === 0) track.startSeconds = Number(pts) * track.tick;
      track.frames += 1;
      track.endSeconds = Math.max(track.endSeconds, (Number(pts) + Number(duration)) * track.tick);
    },
    tracks: () => [...tracks.values()].map(({ tick: _, ...track }) => track),
  };
}
