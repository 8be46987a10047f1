import { constants } from 'node:os'
import type { Backend } from '../../../src/mounts/filesystems.ts'
import type { Operation } from './operation.ts'

/** The root. */
export const ROOT = '/t'

/** The second root, if roots are nested. */
export const NESTED = '/t/b'

/** The second root, if the root has a sibling. */
export const SIBLING = '/out'

/**
 * The most symlinks that are followed on the way from a root to a directory. The next link is told as a link.
 */
export const MOST_LINKS = 3

/**
 * The order in which the two roots are watched from the start, or the root that is added or removed after
 * half of the operations.
 */
export const NESTINGS = [
  'outer first',
  'inner first',
  'outer added',
  'outer removed',
  'inner removed',
] as const

/** A whole schedule, which plays the same each time. */
export interface Scenario {
  settings: Settings
  tree: keyof typeof TREES
  operations: readonly Operation[]
  /**
   * The actor that goes on at each step: 0 is the last one again, if it can. Beyond the end, all choices are
   * 0.
   */
  choices: readonly number[]
}

/** The errors with which an open fails. */
export const ERRORS = {
  EMFILE: -constants.errno.EMFILE,
  ENOMEM: -constants.errno.ENOMEM,
  EIO: -constants.errno.EIO,
  ESTALE: -constants.errno.ESTALE,
} as const

export interface Settings {
  /** 'inotify+poll': as where others can change files unseen. */
  source: Backend
  /** The most events that the kernel's queue holds. */
  queue: number
  /**
   * The number of operations, from the first on, whose events are all lost because other events fill the
   * queue.
   */
  lost: number
  /** The most watches that can be had; 0: no limit. */
  watches: number
  followSymlinks: boolean
  /**
   * The number of the walkers' opens that fail once the writer has begun, their error, and their order: see
   * {@link FailingOpens}.
   */
  fails: number
  failsBy: keyof typeof ERRORS
  failsAfter: number
  failsOneIn: number
  /** The name that is ignored; '': none. */
  ignored: string
  /** The name that is ignored instead after half of the operations; '': no change. */
  ignoredLater: string
  /** The depth to which directories are listed; 0: no limit. */
  depth: number
  /** Option `expand`: each entry in a changed directory is told as well. */
  expand: boolean
  /**
   * ms for which a path must be quiet before its modify is told. 'save': a save is one change, as without the
   * option.
   */
  settle: number | 'save'
  /**
   * The start of the watch. 'before': before the writer. 'amid': with the writer's first step; all entries
   * are told. 'settled': like 'before', and no event is older than the first listing. 'now': within the call
   * of watch(); the writer goes on in the same turn.
   */
  start: 'before' | 'settled' | 'amid' | 'now'
  /**
   * The most steps that walks may take within the call, with 'amid'; the rest is walked in its turn. With
   * 'now' walks take as many as they need.
   */
  ahead: number
  /** The number of operations before sync() is called, while the writer goes on; 0: never. */
  syncAfter: number
  /** Makes a directory in the root a second root; '': there is one root. */
  nesting: (typeof NESTINGS)[number] | ''
  /** Makes a directory outside the root a second root. */
  sibling: boolean
  /** The number of writers. Each takes the next operation of one list. */
  writers: 1 | 2
  /** The number of names that one getdents(2) returns. */
  namesPerRead: number
  /** Gives the inode numbers of deleted files away again. */
  reusesInos: boolean
  /** The duration of a step. */
  msPerStep: number
  /** A system call of the writer is one step; else each of its events is one. */
  isAtomic: boolean
  /** sync() is called when no actor can go on; else when the writer is done. */
  isPatient: boolean
}

export const ORDINARY: Settings = {
  source: 'inotify',
  queue: 8,
  lost: 0,
  watches: 0,
  fails: 0,
  failsBy: 'EMFILE',
  failsAfter: 0,
  failsOneIn: 1,
  followSymlinks: false,
  ignored: '',
  ignoredLater: '',
  depth: 0,
  expand: false,
  settle: 0,
  start: 'before',
  ahead: 0,
  syncAfter: 0,
  nesting: '',
  sibling: false,
  writers: 1,
  namesPerRead: 100,
  reusesInos: false,
  msPerStep: 1,
  isAtomic: true,
  isPatient: false,
}

const SMALL: readonly Operation[] = [
  { type: 'mkdir', path: '/t' },
  { type: 'mkdir', path: '/t/a' },
  { type: 'mkdir', path: '/t/b' },
  { type: 'mkdir', path: '/t/b/d' },
  { type: 'write', path: '/t/a/f' },
  { type: 'write', path: '/t/b/g' },
  { type: 'write', path: '/t/b/d/h' },
  { type: 'mkdir', path: '/out' },
  { type: 'mkdir', path: '/out/o' },
  { type: 'write', path: '/out/o/p' },
  { type: 'write', path: '/out/x' },
]

const LINKS: readonly Operation[] = [
  { type: 'symlink', path: '/t/l', target: 'b' },
  { type: 'symlink', path: '/t/k', target: '/out/o' },
]

const FILE_LINKS: readonly Operation[] = [
  { type: 'symlink', path: '/t/e', target: '/out/x' },
  { type: 'symlink', path: '/t/b/e', target: '../a/f' },
]

// A directory outside both roots, with directories in it to move in.
const FAR: readonly Operation[] = [
  { type: 'mkdir', path: '/far' },
  { type: 'write', path: '/far/x' },
  { type: 'mkdir', path: '/far/d' },
  { type: 'mkdir', path: '/far/d/n' },
  { type: 'mkdir', path: '/far/d/n/m' },
  { type: 'write', path: '/far/d/n/m/f' },
]

/**
 * The entries before the watch. `small` is three directories with three files in the root, and a file and a
 * directory elsewhere. The others add a second tree, links to directories, and links to files.
 */
export const TREES = {
  small: SMALL,
  'two trees': [...SMALL, ...FAR],
  links: [...SMALL, ...LINKS],
  'links to files': [...SMALL, ...LINKS, ...FILE_LINKS],
} as const
