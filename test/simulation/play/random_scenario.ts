import { randomFrom } from '../../watch/support.ts'
import { FileOperations } from '../kernel/file_operations.ts'
import { FileTree, Refused } from '../kernel/file_tree.ts'
import { leadsAround } from './leads_around.ts'
import { callsOf, type Operation } from './operation.ts'
import { NESTED, NESTINGS, ORDINARY, ROOT, type Scenario, type Settings, SIBLING, TREES } from './scenario.ts'

// The root goes, and comes back as the same directory or as another one.
const ROOT_MOVES: readonly Operation[] = [
  { type: 'rename', path: ROOT, other: '/s' },
  { type: 'rename', path: '/s', other: ROOT },
  { type: 'mkdir', path: ROOT },
  { type: 'exchange', path: ROOT, other: '/out' },
  { type: 'exchange', path: ROOT, other: '/s' },
  { type: 'remove', path: ROOT },
]

// The inner root goes and comes back, and now and then both roots do.
const NESTED_MOVES: readonly Operation[] = [
  ...[`${ROOT}/n`, '/s'].flatMap((other): Operation[] => [
    { type: 'rename', path: NESTED, other },
    { type: 'rename', path: other, other: NESTED },
  ]),
  { type: 'mkdir', path: NESTED },
  { type: 'exchange', path: NESTED, other: `${ROOT}/a` },
  { type: 'exchange', path: NESTED, other: '/out' },
  { type: 'remove', path: NESTED },
  { type: 'rename', path: ROOT, other: '/r' },
  { type: 'rename', path: '/r', other: ROOT },
]

// The inner root's path becomes a link.
const NESTED_LINKS: readonly Operation[] = [
  { type: 'exchange', path: NESTED, other: `${ROOT}/k` },
  { type: 'exchange', path: NESTED, other: `${ROOT}/l` },
  { type: 'rename', path: `${ROOT}/k`, other: NESTED },
  ...['/out/o', 'a', 'none', 'a/f'].map((target): Operation => ({ type: 'swap', path: NESTED, target })),
]

type Random = (n: number) => number

// Now and then there are 30: a fault may take a dozen operations on one name before it shows.
const MOST_OPERATIONS = [8, 8, 8, 30] as const
const CHOICES_AN_OPERATION = 40
const NAMES = ['n', 'm', 'f', 'g', 'd'] as const
const OUTSIDE = SIBLING
const FAR = '/far'

/** The subjects of random schedules. */
export const SUBJECTS = [
  'events',
  'polls',
  'events and polls',
  'links',
  'few watches',
  'links and few watches',
  'few descriptors',
  'links and few descriptors',
  'failing server',
  'links and failing server',
  'two writers',
  'two roots',
  'nested roots',
  'links in nested roots',
  'roots that move',
  'links in roots that move',
  'ignored names',
  'starts',
  'links and starts',
  'same turn',
  'same turn in nested roots',
  'directories',
  'depth',
  'links and depth',
  'depth in nested roots',
  'expand',
  'links and expand',
  'expand in nested roots',
  'ignore replaced',
  'links and ignore replaced',
] as const
export type Subject = (typeof SUBJECTS)[number]

const hasLinks = (subject: Subject) => subject.startsWith('links')
const hasMovingRoots = (subject: Subject) => subject.endsWith('roots that move')
const isInSameTurn = (subject: Subject) => subject.startsWith('same turn')
const hasTwoRoots = (subject: Subject) => subject === 'two roots'
const hasNestedRoots = (subject: Subject) => subject.endsWith('nested roots')

/** Returns the scenario of a seed. */
export function scenarioFrom(seed: number, subject: Subject): Scenario {
  const random = randomFrom(seed)
  const tree = treeFrom(random, subject)
  const count =
    1 + random(subject === 'directories' ? pick(random, [8, 30, 120]) : pick(random, MOST_OPERATIONS))
  const operations = operationsFrom(random, TREES[tree], count, subject)
  const settings = settingsFrom(random, subject, operations.length)
  // The choices are rare in some scenarios, and made at nearly each step in others.
  const rarity = pick(random, [2, 4, 10, 30])
  const choices = Array.from({ length: CHOICES_AN_OPERATION * (1 + operations.length) }, () =>
    random(rarity) === 0 ? 1 + random(6) : 0,
  )
  return { settings, tree, operations, choices }
}

function treeFrom(random: Random, subject: Subject): Scenario['tree'] {
  if (hasTwoRoots(subject)) return 'two trees'
  return hasLinks(subject) ? pick(random, ['links', 'links to files'] as const) : 'small'
}

function settingsFrom(random: Random, subject: Subject, operations: number): Settings {
  const writers = subject === 'two writers' || (hasTwoRoots(subject) && random(2) === 0) ? 2 : 1
  return {
    source: sourceFrom(random, subject),
    queue: pick(random, [2, 4, 8, 16, 64, 16384]),
    // An operation whose events are lost is done in one step.
    lost: writers === 1 && random(3) === 0 ? 1 + random(3) : 0,
    watches:
      subject.endsWith('few watches') ||
      (hasNestedRoots(subject) && !isInSameTurn(subject) && random(8) === 0) ||
      ((subject.endsWith('few descriptors') || subject.endsWith('failing server')) && random(2) === 0)
        ? 3 + random(5)
        : 0,
    ...failuresFrom(random, subject),
    followSymlinks: hasLinks(subject),
    ignored:
      subject === 'ignored names' ||
      (isInSameTurn(subject) && random(3) === 0) ||
      ((hasNestedRoots(subject) || hasLinks(subject)) && random(8) === 0)
        ? 'm'
        : '',
    settle: pick(random, [20, 'save', 'save', 0, 0, 0]),
    ...startFrom(random, subject),
    syncAfter: subject.endsWith('starts') && random(2) === 0 ? 1 + random(operations) : 0,
    sibling: hasTwoRoots(subject),
    writers,
    nesting: hasNestedRoots(subject)
      ? pick(random, isInSameTurn(subject) ? NESTINGS.slice(0, 2) : NESTINGS)
      : '',
    namesPerRead: pick(random, [1, 2, 100, 100]),
    reusesInos: random(2) === 0,
    msPerStep: pick(random, [
      0.1,
      1,
      5,
      ...(subject.includes('polls') || subject.endsWith('few watches') ? [50] : []),
    ]),
    isAtomic: writers === 1 && random(2) === 0,
    isPatient: random(3) === 0,
    depth: subject.includes('depth') ? pick(random, [1, 1, 2]) : 0,
    expand: subject.includes('expand'),
    ...ignoresFrom(random, subject),
  }
}

function startFrom(random: Random, subject: Subject): Pick<Settings, 'start' | 'ahead'> {
  if (isInSameTurn(subject)) return { start: 'now', ahead: 0 }
  const isAmid = subject.endsWith('starts') || (hasTwoRoots(subject) && random(4) === 0)
  if (!isAmid) return { start: pick(random, ['before', 'settled']), ahead: 0 }
  return { start: 'amid', ahead: random(2) === 0 ? 0 : 1 + random(20) }
}

function ignoresFrom(
  random: Random,
  subject: Subject,
): Partial<Pick<Settings, 'ignored' | 'ignoredLater'>> & {
  ignoredLater: string
} {
  if (!subject.endsWith('ignore replaced')) return { ignoredLater: '' }
  const ignored = pick(random, ['', 'b', 'd', 'm'])
  return { ignored, ignoredLater: pick(random, ['a', 'b', 'd', 'm', 'f', 'nothing']) }
}

function failuresFrom(
  random: Random,
  subject: Subject,
): Pick<Settings, 'fails' | 'failsBy' | 'failsAfter' | 'failsOneIn'> {
  const { fails, failsBy, failsAfter, failsOneIn } = ORDINARY
  const isDescriptors = subject.endsWith('few descriptors')
  const isServers = subject.endsWith('failing server') || (!isDescriptors && random(2) === 0)
  const isAbout = isDescriptors || subject.endsWith('failing server')
  if (!isAbout && random(8) > 0) return { fails, failsBy, failsAfter, failsOneIn }
  return {
    fails: 1 + random(6),
    failsBy: pick(random, isServers ? (['EIO', 'ESTALE'] as const) : (['EMFILE', 'ENOMEM'] as const)),
    failsAfter: random(12),
    failsOneIn: pick(random, [1, 1, 2, 3]),
  }
}

function sourceFrom(random: Random, subject: Subject): Settings['source'] {
  if (isInSameTurn(subject)) return 'inotify'
  if (subject === 'polls' || (hasNestedRoots(subject) && random(4) === 0)) return 'poll'
  if (subject === 'events and polls') return 'inotify+poll'
  if (
    subject === 'ignored names' ||
    subject === 'starts' ||
    subject === 'depth' ||
    subject === 'expand' ||
    subject === 'ignore replaced'
  )
    return pick(random, ['inotify', 'poll', 'inotify+poll'])
  if ((subject === 'few descriptors' || subject === 'failing server') && random(6) === 0)
    return pick(random, ['poll', 'inotify+poll'])
  return hasLinks(subject) && random(4) === 0 ? 'poll' : 'inotify'
}

/** Returns random operations that the kernel does not refuse. */
export function operationsFrom(
  random: Random,
  before: readonly Operation[],
  count: number,
  subject: Subject,
): Operation[] {
  const tree = new FileTree(() => 0)
  const files = new FileOperations(tree)
  const run = (operation: Operation) => {
    for (const _ of callsOf(operation, files, tree));
  }
  for (const operation of before) run(operation)
  const operations: Operation[] = []
  for (let attempt = 0; operations.length < count && attempt < 20 * count; attempt++) {
    const operation = operationFrom(random, tree, subject)
    try {
      run(operation)
      if (hasNestedRoots(subject) && leadsAround(tree)) break
      operations.push(operation)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
    }
  }
  return operations
}

function operationFrom(random: Random, tree: FileTree, subject: Subject): Operation {
  if (hasMovingRoots(subject) && random(4) === 0) return pick(random, ROOT_MOVES)
  if (hasNestedRoots(subject) && random(4) === 0)
    return pick(random, hasLinks(subject) && random(2) === 0 ? NESTED_LINKS : NESTED_MOVES)
  const all = [...tree.below('/')].map(([path, inode]) => ({ path: path.slice(1), kind: inode.kind }))
  const roots = hasTwoRoots(subject) ? [ROOT, SIBLING] : [ROOT]
  const away = hasTwoRoots(subject) ? FAR : OUTSIDE
  const inside = all.filter(({ path }) => roots.some((root) => path.startsWith(`${root}/`)))
  const outside = all.filter(({ path }) => path.startsWith(`${away}/`))
  const directories = [...roots, ...inside.flatMap(({ path, kind }) => (kind === 'directory' ? [path] : []))]
  const somewhere = () => `${pick(random, directories)}/${pick(random, NAMES)}`
  const some = (paths: typeof all) => (paths.length === 0 ? '/none' : pick(random, paths).path)
  const seen = hasLinks(subject) ? all : inside
  const file = () => some(seen.filter(({ kind }) => kind === 'file'))
  const directory = () => some(inside.filter(({ kind }) => kind === 'directory'))
  if (subject === 'directories')
    switch (random(12)) {
      case 0:
        return { type: 'write', path: somewhere() }
      case 1:
        return { type: 'remove', path: directory() }
      case 2:
      case 3:
      case 4:
        return { type: 'rename', path: directory(), other: somewhere() }
      case 5:
      case 6:
      case 7:
        return { type: 'exchange', path: directory(), other: some(inside) }
      default:
        return { type: 'mkdir', path: somewhere() }
    }
  switch (random(hasLinks(subject) ? 16 : 14)) {
    case 0:
    case 1: {
      const path = somewhere()
      // `create` would truncate an existing file twice in a tick of the clock. A poll cannot tell two changes
      // in a tick from one.
      const isThere = all.some((each) => each.path === path)
      return { type: random(2) === 0 || isThere ? 'write' : 'create', path }
    }
    case 2:
    case 3:
    case 4:
      return { type: random(3) === 0 ? 'append' : 'write', path: file() }
    case 5:
      return { type: 'mkdir', path: somewhere() }
    case 6:
    case 7:
    case 8:
      return { type: 'rename', path: some(inside), other: random(3) === 0 ? some(inside) : somewhere() }
    case 9:
      return { type: 'exchange', path: some(inside), other: some(random(4) === 0 ? outside : inside) }
    case 10:
      return { type: 'remove', path: some(inside) }
    case 11:
      return { type: 'rename', path: some(outside), other: random(3) === 0 ? some(inside) : somewhere() }
    case 12:
      return { type: 'rename', path: some(inside), other: `${away}/${pick(random, NAMES)}` }
    case 13:
      return { type: random(2) === 0 ? 'chmod' : 'touch', path: some(seen) }
    case 14:
      return { type: 'symlink', path: somewhere(), target: some(all) }
    default: {
      const links = inside.filter(({ kind }) => kind === 'symlink')
      return { type: 'swap', path: some(links), target: some(all) }
    }
  }
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random(values.length)] as T
}
