import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/guest/*.test.ts'],
    globalSetup: ['test/support/programs.ts', 'test/guest/prepare.ts'],
    // A scenario's own deadline (machine.ts) comes first and shows what the guest has said.
    testTimeout: 200_000,
    hookTimeout: 30_000,
    // The guest is interpreted: a second one on the same processors would be measured as a slow library.
    fileParallelism: false,
    // The daemons end with the process that started them (setpriv --pdeathsig), which a thread is not.
    pool: 'forks',
  },
})
