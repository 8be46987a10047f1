import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // They boot a virtual machine: npm run test:guest.
    exclude: ['test/guest/**'],
    testTimeout: 30_000,
    // Limits of inotify are per user and some tests measure time or exhaust them: one file at a time.
    fileParallelism: false,
  },
})
