import { formatNewer, recordDamaged } from '../errors.ts';
import { parseStrict } from './strict-json.ts';

/** Any JSON file of a show with a `format`: strict JSON, an object, and not newer than this program. */
export async function readRecord(bytes: Uint8Array, file: string): Promise<object> {
  let value: unknown;
  try {
    value = await parseStrict(bytes);
  } catch (cause) {
    throw recordDamaged(file, (cause as Error).message, cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw recordDamaged(file, 'it is not a JSON object');
  const version: unknown = 'format' in value ? value.format : undefined;
  if (typeof version === 'number' && version > 1) throw formatNewer(file, version);
  return value;
}
