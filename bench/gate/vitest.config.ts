import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['bench/gate/*.test.ts'],
    // One test compares times.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Names the skipped tests.
    reporters: ['verbose'],
  },
})
