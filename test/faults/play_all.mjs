// node play_all.mjs: plays each scenario once, with no fault. What is slow (valgrind) has as long as it takes.
import { mkdtempSync, rmSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { SCENARIOS } from './scenario.mjs'

for (const [name, make] of Object.entries(SCENARIOS)) {
  const scratch = mkdtempSync('/dev/shm/inotify-bridge-scenario-')
  const scenario = make(scratch)
  const awaitRight = async () => {
    while (!(await scenario.isRight())) await setTimeout(10)
  }
  await scenario.begin()
  await scenario.act()
  await awaitRight()
  if (scenario.actAgain !== undefined) {
    await scenario.actAgain()
    await awaitRight()
  }
  await scenario.end()
  if (scenario.errors.length > 0) throw new Error(`${name}: ${scenario.errors}`)
  rmSync(scratch, { recursive: true })
  process.stdout.write(`${name}\n`)
}
