import { Session } from './session.ts'
import { ORDINARY, type Settings } from './settings.ts'
import { type Observe, observe } from './watching/observer.ts'
import type { Round } from './world/operations.ts'
import { namesOf } from './world/plant.ts'
import { makeWorld } from './world/world.ts'
import { Writers } from './world/writers.ts'

export interface Outcome {
  /** What is wrong, a line each; the first is the worst. None: nothing is. */
  wrong: string[]
  /** How many changes were told. */
  told: number
  overflows: number
  /** How many operations were possible. */
  operations: number
}

/** Lets the writers do a round with a watcher at work, and says how what it told differs from what is. */
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
    // Each script begins with a mark, so that a watcher that is to start amid the work does.
    const marked = scripts.map((script) => [['mark'], ...script])
    operations += await writers.run(marked, () => session.meanwhile())
    await session.settle(writers)
    if (session.wrong.length > 0) break
  }
  const { wrong, told, overflows } = session
  return { wrong, told, overflows, operations }
}
