import { afterAll, describe, inject } from 'vitest'
import { bootOf, Machine, type MachineOptions } from './machine.ts'
import { lacking } from './requirements.ts'

/** Runs a scenario in the guest of a suite, see `Machine.run`. */
export type Run = <T>(scenario: string, parameters: object, deadline?: number) => Promise<T>

export interface SuiteOptions extends MachineOptions {
  /** A program of the host's that the scenarios start. */
  program?: string
}

/** A suite with a guest of its own, which boots for the first of its tests that runs. */
export function withGuest(name: string, options: SuiteOptions, tests: (run: Run) => void): void {
  const prepared = inject('guest')
  const kernel = bootOf(prepared, options)
  const missing =
    kernel.missing ||
    (options.rust ? prepared.rust.missing : '') ||
    (options.program === undefined ? '' : lacking(options.program))
  describe.skipIf(missing !== '')(missing === '' ? name : `${name} (${missing})`, () => {
    let booting: Promise<Machine> | undefined
    afterAll(async () => (await booting?.catch(() => undefined))?.close())
    tests(async (scenario, parameters, deadline = 90_000) => {
      booting ??= Machine.boot(prepared, options)
      const machine = await booting
      try {
        return await machine.run(scenario, parameters, deadline)
      } finally {
        if (machine.isLost) {
          booting = undefined
          await machine.close()
        }
      }
    })
  })
}
