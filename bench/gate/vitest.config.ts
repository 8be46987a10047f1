import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['bench/gate/*.test.ts'],
    // One compares times.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is skipped is named.
    reporters: ['verbose'],
  },
})
