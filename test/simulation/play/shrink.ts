import { everLeadsAround } from './leads_around.ts'
import { play } from './player.ts'
import { ORDINARY, type Scenario, type Settings } from './scenario.ts'

const MOST_PLAYS = 2000
// Settings that stay: with other values the fault may be another one, or none of the watcher's.
const KEPT: ReadonlyArray<keyof Settings> = ['source', 'followSymlinks']

/** Returns the kind of a fault: its text without the names. */
export function wayOf(wrong: string): string {
  return wrong.replace(/\/[\w/~]+/g, '...')
}

/**
 * Returns a smaller scenario that fails in the same way: with fewer operations, fewer choices, and ordinary
 * settings.
 */
export function shrink(failing: Scenario): Scenario {
  let best = failing
  let plays = 0
  const ways = new Set(play(failing).wrong.map(wayOf))
  const attempt = (scenario: Scenario): boolean => {
    if (everLeadsAround(scenario)) return false
    if (plays++ > MOST_PLAYS || !play(scenario).wrong.some((each) => ways.has(wayOf(each)))) return false
    best = scenario
    return true
  }
  for (let before: Scenario | undefined; before !== best; ) {
    before = best
    for (let i = best.operations.length - 1; i >= 0; i--)
      attempt({ ...best, operations: best.operations.toSpliced(i, 1) })
    for (const name of Object.keys(ORDINARY) as Array<keyof Settings>)
      if (!KEPT.includes(name) && best.settings[name] !== ORDINARY[name])
        attempt({ ...best, settings: { ...best.settings, [name]: ORDINARY[name] } })
    shrinkChoices(() => best, attempt)
  }
  return { ...best, choices: withoutTail(best.choices) }
}

/** Takes choices back: all behind a place, then each by itself; and makes them smaller, which is to say more usual. */
function shrinkChoices(best: () => Scenario, attempt: (scenario: Scenario) => boolean): void {
  const cut = (length: number) => attempt({ ...best(), choices: best().choices.slice(0, length) })
  for (let step = best().choices.length; step >= 1; step = Math.floor(step / 2))
    while (best().choices.length >= step && cut(best().choices.length - step));
  for (let size = best().choices.length >> 1; size >= 1; size >>= 1) {
    for (let start = 0; start < best().choices.length; start += size) {
      const { choices } = best()
      if (choices.slice(start, start + size).every((choice) => choice === 0)) continue
      attempt({ ...best(), choices: choices.map((each, i) => (i >= start && i < start + size ? 0 : each)) })
    }
  }
  for (const [i, choice] of best().choices.entries())
    if (choice > 1) attempt({ ...best(), choices: best().choices.with(i, 1) })
}

function withoutTail(choices: readonly number[]): number[] {
  return choices.slice(0, choices.findLastIndex((choice) => choice !== 0) + 1)
}
