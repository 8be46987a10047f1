import { randomFrom } from '../support.ts'

/** The settings of a round: pure data, so that settings and a seed play a round again. */
export interface Settings {
  filesystem: 'ext4' | 'overlay' | 'tmpfs'
  /** The entries before the round: see {@link SHAPES}. */
  shape: ShapeName
  /** 'nested': one root lies in the other. 'files': the roots are some of the written files. */
  roots: 'one' | 'two' | 'nested' | 'files'
  /** Mounts one directory at two places in the tree. */
  binds: boolean
  writers: 1 | 4
  /** Lets the writers exchange names (RENAME_EXCHANGE). */
  exchanges: boolean
  /** The number of operations of all writers together. */
  operations: number
  /**
   * 'before' the writers begin, or 'amid' their work. With 'amid' the watcher tells the entries that it
   * finds.
   */
  start: 'before' | 'amid'
  source: 'inotify' | 'poll' | 'inotify+poll'
  /** The ms between polls. */
  interval: number
  /** The system calls a second that polls may make; 0: any number. */
  budget: number
  hash: boolean
  /** fs.inotify.max_queued_events. */
  queue: 16 | 64 | 256 | 16384
  /** The most watches that can be had (user.max_inotify_watches); 0: no limit. */
  watches: number
  /** The option; 0: without it. */
  maxWatches: number
  /** The place where the watcher runs. 'process': in a user namespace of its own. */
  host: 'here' | 'worker' | 'process'
  /** 'slow': an iterator that lags behind. */
  consumer: 'listener' | 'slow'
  /** The number of entries that are kept unpacked; 0: the default. */
  entryCache: number
  followSymlinks: boolean
  /** The option in ms. 'save': without the option. */
  settle: number | 'save'
  /** The form of the rule. */
  ignore: 'nothing' | 'prefix' | 'pattern' | 'function'
  /** 'buffer': some names are not UTF-8. */
  encoding: 'utf8' | 'buffer'
}

export type ShapeName = 'small' | 'crowded' | 'deep' | 'large' | 'million' | 'abyss'

/** The entries besides three levels of directories. */
export interface Shape {
  /** The number of files in one directory. */
  files?: number
  /** The number of directories within each other. */
  levels?: number
  /** The number of directories with 100 files each. */
  directories?: number
}

export const SHAPES: Readonly<Record<ShapeName, Shape>> = {
  small: {},
  crowded: { files: 20_000 },
  deep: { levels: 300 },
  large: { directories: 2000 },
  // Only on request: a directory of a million names, and the deepest tree that is promised.
  million: { files: 1_000_000 },
  abyss: { levels: 5000 },
}

/** The settings of most users. The other settings of a round are its subject. */
export const ORDINARY: Settings = {
  filesystem: 'tmpfs',
  shape: 'small',
  roots: 'one',
  binds: false,
  writers: 4,
  exchanges: true,
  operations: 2000,
  start: 'before',
  source: 'inotify',
  interval: 1_000_000,
  budget: 0,
  hash: false,
  queue: 16384,
  watches: 0,
  maxWatches: 0,
  host: 'here',
  consumer: 'listener',
  entryCache: 0,
  followSymlinks: false,
  settle: 0,
  ignore: 'nothing',
  encoding: 'utf8',
}

/** Each value with its weight. */
type Choices = { [Name in keyof Settings]: ReadonlyArray<readonly [value: Settings[Name], weight: number]> }

const CHOICES: Choices = {
  filesystem: [
    ['tmpfs', 3],
    ['ext4', 2],
    ['overlay', 1],
  ],
  shape: [
    ['small', 120],
    ['crowded', 6],
    ['deep', 6],
    ['large', 2],
  ],
  roots: [
    ['one', 6],
    ['two', 1],
    ['nested', 1],
    ['files', 1],
  ],
  binds: [
    [false, 7],
    [true, 1],
  ],
  writers: [
    [4, 4],
    [1, 1],
  ],
  exchanges: [
    [true, 4],
    [false, 1],
  ],
  operations: [
    [2000, 4],
    [200, 1],
  ],
  start: [
    ['before', 2],
    ['amid', 1],
  ],
  source: [
    ['inotify', 3],
    ['poll', 1],
    ['inotify+poll', 1],
  ],
  interval: [
    [50, 1],
    [1_000_000, 1],
  ],
  hash: [
    [false, 9],
    [true, 1],
  ],
  queue: [
    [16, 2],
    [64, 1],
    [256, 1],
    [16384, 3],
  ],
  watches: [
    [0, 8],
    [12, 1],
    [40, 1],
  ],
  host: [
    ['here', 6],
    ['worker', 2],
    ['process', 2],
  ],
  consumer: [
    ['listener', 4],
    ['slow', 1],
  ],
  entryCache: [
    [0, 2],
    [1, 1],
    [50, 1],
  ],
  followSymlinks: [
    [false, 6],
    [true, 1],
  ],
  settle: [
    [0, 3],
    ['save', 2],
    [20, 1],
  ],
  ignore: [
    ['nothing', 6],
    ['prefix', 1],
    ['pattern', 1],
    ['function', 1],
  ],
  encoding: [
    ['utf8', 4],
    ['buffer', 1],
  ],
  budget: [
    [0, 4],
    [1000, 1],
    [20_000, 1],
  ],
  maxWatches: [
    [0, 8],
    [3, 1],
    [12, 1],
    [40, 1],
  ],
}

/** Combinations that cannot be played. */
const CONTRADICTIONS: ReadonlyArray<(settings: Settings) => boolean> = [
  // The limit belongs to a user namespace, and a process in that namespace cannot enter another one.
  ({ watches, host }) => watches > 0 !== (host === 'process'),
  ({ host, filesystem, binds }) => host === 'process' && (filesystem === 'overlay' || binds),
  ({ watches, source }) => watches > 0 && source !== 'inotify',
  // The planted entries are copied into the namespace.
  ({ filesystem, binds, shape }) => (filesystem === 'overlay' || binds) && shape !== 'small',
  ({ filesystem, binds }) => filesystem === 'overlay' && binds,
  ({ roots, binds, shape, followSymlinks }) =>
    roots !== 'one' && (binds || shape !== 'small' || followSymlinks),
  // A root stays a file or a directory: it must exist at the start. Rules do not apply to roots.
  ({ roots, start, ignore }) => roots === 'files' && (start === 'amid' || ignore !== 'nothing'),
  // Links lead outside the tree, to places that cannot be copied. Rules apply to places, not to links.
  ({ followSymlinks, filesystem, binds, shape, ignore }) =>
    followSymlinks && (filesystem === 'overlay' || binds || shape !== 'small' || ignore !== 'nothing'),
  // Each pass reads files whole.
  ({ hash, source }) => hash && source === 'inotify',
  ({ interval, source, maxWatches }) => interval < 1_000_000 && source === 'inotify' && maxWatches === 0,
  ({ maxWatches, source, watches }) => maxWatches > 0 && (source === 'poll' || watches > 0),
  ({ queue, source }) => queue < 16384 && source === 'poll',
  ({ budget, interval }) => budget > 0 && interval === 1_000_000,
]

/**
 * Returns random settings of this seed, with the given ones in place. `isPossible`: this machine can play the
 * settings. Throws if no settings fit.
 */
export function settingsFrom(
  seed: number,
  given: Partial<Settings> = {},
  isPossible: (settings: Settings) => boolean = () => true,
): Settings {
  const random = randomFrom(seed)
  for (let tries = 0; tries < 10_000; tries++) {
    const drawn = { ...draw(random), ...given }
    if (CONTRADICTIONS.every((holds) => !holds(drawn)) && isPossible(drawn)) return drawn
  }
  throw new Error(`no settings are possible with ${JSON.stringify(given)}`)
}

function draw(random: (n: number) => number): Settings {
  const pick = <T>(choices: ReadonlyArray<readonly [T, number]>): T => {
    const all = choices.flatMap(([value, weight]) => Array<T>(weight).fill(value))
    return all[random(all.length)] as T
  }
  const drawn = Object.entries(CHOICES).map(([name, choices]) => [name, pick<unknown>(choices)])
  return { ...ORDINARY, ...Object.fromEntries(drawn) }
}

/** Returns the difference from {@link ORDINARY}, as JSON. */
export function brief(settings: Settings): string {
  const ordinary = new Map<string, unknown>(Object.entries(ORDINARY))
  const special = Object.entries(settings).filter(([name, value]) => ordinary.get(name) !== value)
  return JSON.stringify(Object.fromEntries(special))
}
