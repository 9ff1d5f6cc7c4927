import * as z from 'zod/mini';
import { faultsOfParams, framesPerSecond, pixels, type Wanted } from '../params.ts';

/** The input of this name is shown beside the film, and not in it. */
export const COVER = 'cover';

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

export const ASSEMBLY_KINDS = ['video'];

export const NO_PICTURE = 'there is no picture among the inputs: a film needs a video or an image';

/** Why no film can ever be made of this; empty when there may be one. What the clips hold is seen when they are there. */
export function faultsOfAssembly(name: string, { kind, params, inputs }: Wanted): string[] {
  if (!ASSEMBLY_KINDS.includes(kind)) return [`${name} makes ${ASSEMBLY_KINDS.join(', ')}, not ${kind}`];
  const faults = faultsOfParams(AssemblyParams, params);
  // What is called audio was decoded as that; what is called text or a file may be anything.
  if (!inputs.some((input) => input.name !== COVER && input.kind !== 'audio')) faults.push(NO_PICTURE);
  if (params.cover !== undefined && inputs.some((input) => input.name === COVER))
    faults.push(`params: cover: the input named ${COVER} is the cover already`);
  return faults;
}
