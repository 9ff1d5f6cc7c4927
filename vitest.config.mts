import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  define: { __VERSION__: '"0.0.0-test"' },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/build-program.ts',
    // Real processes, real ffmpeg: a slow, shared machine must not turn a right answer into a failure.
    // The long run of the simulation takes its time.
    testTimeout: process.env.EPISODE_HISTORIES ? 900_000 : 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Most tests wait for processes, disks and locks: with one worker for two processors half of the time would go by idle.
    maxWorkers: availableParallelism(),
    // No test keeps state in a module, and loading them anew for every file is a tenth of the time.
    isolate: false,
  },
});
