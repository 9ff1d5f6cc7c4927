import * as z from 'zod/mini';
import { framesPerSecond, pixels } from '../params.ts';

export const AssemblyParams = z.strictObject({
  /** Default: those of the first film among the clips, else 1920 x 1080. */
  width: z.optional(pixels),
  height: z.optional(pixels),
  /** Default: that of the first film among the clips if it is 10 to 60, else 30. */
  fps: z.optional(framesPerSecond),
  /** How long an image among the clips is shown. */
  image_seconds: z._default(z.number().check(z.gte(0.1), z.lte(3600)), 5),
  /** The moment that becomes the cover if no input is named `cover`. Default: 1 s, or the middle if that is earlier. */
  cover: z.optional(z.strictObject({ at_seconds: z.number().check(z.gte(0)) })),
});
export type AssemblyParams = z.infer<typeof AssemblyParams>;
