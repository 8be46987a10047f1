import { FileOperations } from '../kernel/file_operations.ts'
import { FileTree, Refused } from '../kernel/file_tree.ts'
import { everLeadsAround } from './leads_around.ts'
import { callsOf, type Operation } from './operation.ts'
import { play } from './player.ts'
import { ORDINARY, type Scenario, type Settings, TREES } from './scenario.ts'

/**
 * One operation of each kind that differs in its effect on this tree. All files can be changed in the same
 * way, and one new name stands for all.
 */
const MENU: readonly Operation[] = [
  { type: 'create', path: '/t/a/n' },
  { type: 'write', path: '/t/a/f' },
  { type: 'write', path: '/t/a/n' },
  { type: 'write', path: '/t/b/d/h' },
  { type: 'write', path: '/t/a/d/h' },
  { type: 'rename', path: '/t/a/f', other: '/t/a/n' },
  { type: 'rename', path: '/t/a/f', other: '/t/b/g' },
  { type: 'rename', path: '/t/b/d/h', other: '/t/a/f' },
  { type: 'rename', path: '/t/b/d', other: '/t/a/d' },
  { type: 'rename', path: '/t/a', other: '/t/b/d/a' },
  { type: 'rename', path: '/t/b', other: '/t/n' },
  { type: 'exchange', path: '/t/a/f', other: '/t/b/g' },
  { type: 'exchange', path: '/t/a', other: '/t/b' },
  { type: 'exchange', path: '/t/a/f', other: '/t/b/d' },
  { type: 'remove', path: '/t/a/f' },
  { type: 'remove', path: '/t/b/d' },
  { type: 'mkdir', path: '/t/a/n' },
  { type: 'mkdir', path: '/t/a/n/m' },
  { type: 'rename', path: '/out/x', other: '/t/a/f' },
  { type: 'rename', path: '/out/o', other: '/t/b/o' },
  { type: 'rename', path: '/t/a/f', other: '/out/n' },
  { type: 'rename', path: '/t/b/d', other: '/out/d' },
  { type: 'swap', path: '/t/a/n', target: 'f' },
]

// Operations on followed links: to a directory in the tree, to one outside, to a file, and over a directory
// that goes.
const LINK_MENU: readonly Operation[] = [
  { type: 'swap', path: '/t/l', target: 'a' },
  { type: 'swap', path: '/t/k', target: '/out/none' },
  { type: 'swap', path: '/t/e', target: 'a/f' },
  { type: 'rename', path: '/t/l', other: '/t/k' },
  { type: 'rename', path: '/t/k', other: '/t/a/k' },
  { type: 'exchange', path: '/t/l', other: '/t/k' },
  { type: 'remove', path: '/t/k' },
  { type: 'write', path: '/out/o/p' },
  { type: 'write', path: '/out/x' },
  { type: 'rename', path: '/out/o', other: '/out/none' },
]

interface WayOfWatching {
  tree: Scenario['tree']
  settings: Partial<Settings>
  menu: readonly Operation[]
}

/** The ways of watching, each with the operations that are played. */
export const WAYS = {
  events: { tree: 'small', settings: {}, menu: MENU },
  polls: { tree: 'small', settings: { source: 'poll', msPerStep: 50 }, menu: MENU },
  'few watches': { tree: 'small', settings: { watches: 3 }, menu: MENU },
  links: { tree: 'links to files', settings: { followSymlinks: true }, menu: [...MENU, ...LINK_MENU] },
  'nested roots': { tree: 'small', settings: { nesting: 'inner first' }, menu: MENU },
} as const satisfies Record<string, WayOfWatching>

const QUEUES = [
  { queue: 2 },
  { queue: 4 },
  { queue: 8 },
  { queue: 8, lost: 1 },
  { queue: 8, lost: 2 },
] as const

/**
 * Yields every sequence of `length` operations of the menu that the kernel accepts, with each queue. The
 * order mixes all sorts from the beginning. `isAtomic`: see {@link Scenario}.
 */
export function* scenariosOf(way: keyof typeof WAYS, length: number, isAtomic: boolean): Generator<Scenario> {
  const { tree, menu, settings: own }: WayOfWatching = WAYS[way]
  for (const number of shuffled(menu.length ** length * QUEUES.length)) {
    const queue = QUEUES[number % QUEUES.length] as (typeof QUEUES)[number]
    const operations: Operation[] = []
    for (let rest = Math.floor(number / QUEUES.length); operations.length < length; ) {
      operations.push(menu[rest % menu.length] as Operation)
      rest = Math.floor(rest / menu.length)
    }
    if (('lost' in queue && queue.lost > length) || !isPossible(tree, operations)) continue
    // The steps are slow: a scan takes longer than the time for which its results are trusted.
    const scenario = {
      settings: { ...ORDINARY, msPerStep: 5, ...own, ...queue, isAtomic },
      tree,
      operations,
      choices: [],
    }
    if (!everLeadsAround(scenario)) yield scenario
  }
}

/** Yields the numbers from 0 to count - 1, in a scattered order. */
function* shuffled(count: number): Generator<number> {
  // The stride is coprime to the count, and so meets each number once.
  let stride = Math.floor(count * 0.618) || 1
  while (commonDivisor(stride, count) > 1) stride++
  for (let i = 0, at = 0; i < count; i++, at = (at + stride) % count) yield at
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b)
}

/**
 * Plays a scenario, and all variants of it with at most `preemptions` preemptions: the engine goes before the
 * writer has done its work, or the writer goes before the engine has. Without preemptions the writer does all
 * of its work, and then the engine does. The order of the engine's own parts is left to random schedules,
 * because these parts affect each other little.
 *
 * @param takes is asked for each possible preemption, and returns true if it is to be played
 */
export function* interleavings(
  scenario: Scenario,
  preemptions: number,
  takes: () => boolean = () => true,
): Generator<[Scenario, string[]]> {
  const { wrong, options } = play(scenario)
  yield [scenario, wrong]
  if (preemptions === 0) return
  const start = scenario.choices.length
  for (let step = start; step < options.length; step++) {
    const able = options[step] ?? []
    const choice = able[0] === 'writer' ? (able.length > 1 ? 1 : 0) : able.indexOf('writer')
    if (choice <= 0 || !takes()) continue
    const choices = [...scenario.choices, ...Array<number>(step - start).fill(0), choice]
    yield* interleavings({ ...scenario, choices }, preemptions - 1, takes)
  }
}

function isPossible(before: Scenario['tree'], operations: readonly Operation[]): boolean {
  const tree = new FileTree(() => 0)
  const files = new FileOperations(tree)
  try {
    for (const operation of [...TREES[before], ...operations])
      for (const _ of callsOf(operation, files, tree));
    return true
  } catch (error) {
    if (error instanceof Refused) return false
    throw error
  }
}
