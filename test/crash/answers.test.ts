import { expect, test } from 'vitest';
import { episode, makeShow } from '../rig.ts';

test('smoke', async () => {
  const root = await makeShow({ timeZone: 'Asia/Tokyo' });
  const ran = await episode(root, ['allocate', '--key', 'k', '--json'], { now: '2026-08-07T00:00:00Z' });
  expect(ran.json).toMatchObject({ verdict: 'proceed', episode_id: '2026-W32-0' });
});
