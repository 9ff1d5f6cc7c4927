import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real processes, real ffmpeg: a slow, shared machine must not turn a right answer into a failure.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
  },
});
