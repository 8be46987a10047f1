import { expect, test } from 'vitest'
import type { Operation } from './play/operation.ts'
import { inTask, play } from './play/player.ts'
import { ORDINARY, type Scenario } from './play/scenario.ts'
import { interleavings } from './play/sequences.ts'

// The reader comes between any two events of the writer's; none of these is long enough for a mark to come there as well.
const ONE_PREEMPTION = 1

const EXCHANGES: Array<[what: string, path: string, other: string]> = [
  ['two files', '/t/a/f', '/t/b/g'],
  ['two directories', '/t/a', '/t/b/d'],
  ['a file and a directory', '/t/a/f', '/t/b'],
]

test.each(EXCHANGES)(
  'an exchange of %s is one change, wherever a read ends in it',
  async (_, path, other) => {
    const operations: Operation[] = [{ type: 'exchange', path, other }]
    const settings = { ...ORDINARY, isAtomic: false }
    const scenario: Scenario = { settings, tree: 'small', operations, choices: [] }
    const told = await inTask(() =>
      [...interleavings(scenario, ONE_PREEMPTION)].map(([each, wrong]) => {
        const story = play(each, true).story.filter(({ who }) => who === '  told')
        return [...story.map(({ what }) => what), ...wrong]
      }),
    )
    expect(told.length).toBeGreaterThan(4)
    for (const each of told) expect(each).toEqual([expect.stringMatching(/^exchange \S+ \S+$/)])
  },
)
