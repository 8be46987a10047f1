import { defineConfig } from 'vitest/config'
import { isKept } from './results.ts'

export default defineConfig({
  test: {
    include: ['test/guest/*.test.ts'],
    globalSetup: ['test/support/programs.ts', 'test/guest/prepare.ts'],
    // A scenario's own deadline (machine.ts) comes first and shows what the guest has said.
    testTimeout: 200_000,
    hookTimeout: 30_000,
    // A guest has one processor, which is interpreted, and it waits for intervals most of the time: two find a processor each. Figures that are
    // kept are those of a machine that does nothing else.
    maxWorkers: isKept ? 1 : 2,
    // The daemons end with the process that started them (setpriv --pdeathsig), which a thread is not.
    pool: 'forks',
  },
})
