import fc from 'fast-check'
import { describe, test } from 'vitest'
import type { Kind } from '../../../src/index.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import type { Plan } from '../scan/records.ts'
import { seen } from '../tree/believed.ts'
import { planOf, told } from './reconciling.ts'

describe.each([
  ['polled', true],
  ['watched', false],
] as const)('%s', (_, isPolled) => {
  test('a file out of a directory whose place it takes', () => {
    told(planOf({ 'd/': 1, 'd/a': 2 }), planOf({ d: 2 }), isPolled)
  })

  test('a directory out of one whose place it takes', () => {
    told(planOf({ 'd/': 1, 'd/e/': 2, 'd/e/f': 3 }), planOf({ 'd/': 2, 'd/f': 3 }), isPolled)
  })

  test('a file into a directory in a directory that takes its place', () => {
    told(planOf({ b: 8 }), planOf({ 'b/': 1, 'b/a/': 2, 'b/a/a': 8 }), isPolled)
  })

  test('a directory turned inside out in its own place', () => {
    told(planOf({ 'a/': 1, 'a/b/': 2, 'a/f': 3 }), planOf({ 'a/': 2, 'a/b/': 1, 'a/b/f': 3 }), isPolled)
  })

  test('any tree to any other', () => {
    const kinds: Kind[] = ['file', 'symlink', 'other', 'file']
    const entry = (ino: number) => (ino <= 6 ? seen('directory', ino) : seen(kinds[ino % 4] as Kind, ino))
    const move = fc.record({
      ino: fc.integer({ min: 1, max: 12 }),
      into: fc.nat(12),
      name: fc.constantFrom(...'abcd'),
    })
    const anyPlan = fc.uniqueArray(move, { selector: ({ ino }) => ino, maxLength: 12 }).map((moves): Plan => {
      const plan = new Map<string, Entry>()
      const directories = ['']
      for (const { ino, into, name } of moves) {
        const path = `${directories[into % directories.length]}${name}`
        if (plan.has(path)) continue
        plan.set(path, entry(ino))
        if (ino <= 6) directories.push(`${path}/`)
      }
      return plan
    })
    fc.assert(
      fc.property(anyPlan, anyPlan, (before, after) => void told(before, after, isPolled)),
      { numRuns: Number(process.env.RUNS ?? 2000) },
    )
  })
})
