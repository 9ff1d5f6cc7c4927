/** Episode IDs: `<week_id>-<sequence>`. Opaque to everybody else: this file alone takes them apart. */
export const episodeIdOf = (weekId: string, sequence: number): string => `${weekId}-${sequence}`;

export const weekOfEpisode = (episodeId: string): string => episodeId.slice(0, 8);

export const sequenceOf = (episodeId: string): number => Number(episodeId.slice(9));

/** By week, then by sequence as a number: `-10` comes after `-9`. */
export const compareEpisodeIds = (a: string, b: string): number =>
  weekOfEpisode(a) === weekOfEpisode(b) ? sequenceOf(a) - sequenceOf(b) : a < b ? -1 : 1;
