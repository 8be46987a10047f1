import { Session } from './session.ts'
import { ORDINARY, type Settings } from './settings.ts'
import { type Observe, observe } from './watching/observer.ts'
import type { Round } from './world/operations.ts'
import { namesOf } from './world/plant.ts'
import { makeWorld } from './world/world.ts'
import { Writers } from './world/writers.ts'

export interface Outcome {
  /** The faults, a line each, the worst first. Empty if there are none. */
  wrong: string[]
  /** The number of changes. */
  told: number
  overflows: number
  /** The number of operations that the kernel accepted. */
  operations: number
}

/**
 * Lets the writers do a round while a watcher is at work, and returns the differences between the changes and
 * the tree.
 */
export async function play(
  round: Round,
  given: Partial<Settings> = {},
  watcher: Observe = observe,
): Promise<Outcome> {
  const settings = { ...ORDINARY, ...given }
  await using world = await makeWorld(settings)
  const last = settings.writers > 1 ? world.bottom : undefined
  await using writers = new Writers(settings.writers, world.tree, world.outside, namesOf(settings), last)
  await using session = new Session(world, settings, watcher)
  let operations = 0
  if (settings.start === 'before') await session.start(false)
  for (const scripts of round) {
    // Each script begins with a mark, at which a watcher that starts amid the work starts.
    const marked = scripts.map((script) => [['mark'], ...script])
    operations += await writers.run(marked, () => session.meanwhile())
    await session.settle(writers)
    if (session.wrong.length > 0) break
  }
  const { wrong, told, overflows } = session
  return { wrong, told, overflows, operations }
}
