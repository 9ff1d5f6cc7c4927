import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  define: { __VERSION__: '"0.0.0-test"' },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/build-program.ts',
    // Real processes, real ffmpeg: a slow, shared machine must not turn a right answer into a failure.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Tests wait for processes and disks as much as they work: on two processors the default of one leaves half of them idle.
    maxWorkers: Math.max(2, Math.floor(availableParallelism() / 2)),
  },
});
