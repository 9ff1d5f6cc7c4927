import * as z from 'zod/mini';
import { faultsOfParams, framesPerSecond, pixels, type Wanted } from '../params.ts';

const text = z.string().check(z.maxLength(4000));
const seconds = z.number().check(z.gte(0.1), z.lte(3600));

const picture = {
  /** Drawn exactly as it stands: nothing in it is markup. */
  caption: z.optional(text),
  width: z._default(pixels, 1280),
  height: z._default(pixels, 720),
  pattern: z._default(z.enum(['plain', 'bars', 'moving']), 'plain'),
  /** Of the plain pattern. */
  colour: z._default(z.string().check(z.regex(/^#[0-9a-f]{6}$/i, 'must be a colour like "#24364b"')), '#24364b'),
};

const sound = {
  /** Default: 4, or as long as the voice takes. */
  seconds: z.optional(seconds),
  /** Hz of the sine under the voice. */
  tone: z._default(z.number().check(z.gte(20), z.lte(20_000)), 220),
  /** Spoken by espeak-ng where that is installed. */
  voice: z.optional(text),
};

export const PictureParams = z.strictObject(picture);
export type PictureParams = z.infer<typeof PictureParams>;

export const SoundParams = z.strictObject(sound);
export type SoundParams = z.infer<typeof SoundParams>;

export const FilmParams = z.strictObject({ ...picture, ...sound, fps: z._default(framesPerSecond, 25) });
export type FilmParams = z.infer<typeof FilmParams>;

const OF_KIND = { video: FilmParams, image: PictureParams, audio: SoundParams };
export const LOCAL_KINDS = Object.keys(OF_KIND);

/** Why a provider of type `local` can never make this, whatever the machine; empty when it can. */
export function faultsOfLocal(name: string, { kind, params, inputs }: Wanted): string[] {
  if (!Object.hasOwn(OF_KIND, kind)) return [`${name} makes ${LOCAL_KINDS.join(', ')}, not ${kind}`];
  const tooMuch = inputs.length > 0 ? [`${name} takes no inputs; "needs" puts steps in order`] : [];
  return [...tooMuch, ...faultsOfParams(OF_KIND[kind as keyof typeof OF_KIND], params)];
}
