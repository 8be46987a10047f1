import { constants } from 'node:os'
import type { Backend } from '../../../src/mounts/filesystems.ts'
import type { Operation } from './operation.ts'

/** What is watched. */
export const ROOT = '/t'

/** What is watched as well, if roots are nested. */
export const NESTED = '/t/b'

/** What is watched as well, if the root has a sibling. */
export const SIBLING = '/out'

/** So many symlinks are followed on the way from a root to a directory: the next one is a link. */
export const MOST_LINKS = 3

/** The order in which the two are watched from the beginning; or which of them is added or removed when half of the operations have been done. */
export const NESTINGS = [
  'outer first',
  'inner first',
  'outer added',
  'outer removed',
  'inner removed',
] as const

/** All of a schedule: it plays the same each time. */
export interface Scenario {
  settings: Settings
  tree: keyof typeof TREES
  operations: readonly Operation[]
  /** At each step, which of those who could go on goes on: 0 for the one who went last, if it can. Behind the end all are 0. */
  choices: readonly number[]
}

/** The errors by which an open fails. */
export const ERRORS = {
  EMFILE: -constants.errno.EMFILE,
  ENOMEM: -constants.errno.ENOMEM,
  EIO: -constants.errno.EIO,
  ESTALE: -constants.errno.ESTALE,
} as const

export interface Settings {
  /** 'inotify+poll': as where others can change files unseen. */
  source: Backend
  /** How many events the kernel's queue holds. */
  queue: number
  /** Of how many operations, the first ones, the queue loses all events: it is full of others. */
  lost: number
  /** How many watches there are to be had; 0: as many as are asked for. */
  watches: number
  followSymlinks: boolean
  /** How many of the walkers' opens fail once there is a writer, with which error, and which: see {@link FailingOpens}. */
  fails: number
  failsBy: keyof typeof ERRORS
  failsAfter: number
  failsOneIn: number
  /** What has this name is ignored; '': nothing is. */
  ignored: string
  /** When half of the operations have been done, what has this name is ignored instead; '': it stays as it is. */
  ignoredLater: string
  /** How many levels of directories are gone into; 0: all. */
  depth: number
  /** What a change of a directory speaks for is told as well. */
  expand: boolean
  /** ms that a path must be quiet for, before a modify of it is told. 'save': a save is one change, as without the option. */
  settle: number | 'save'
  /**
   * When the watch begins: before the writer, or with its first step; then all that is there is told as well. 'settled': no event is older than the first listing.
   * 'now': as watch() begins, within its call; the writer goes on in the same turn.
   */
  start: 'before' | 'settled' | 'amid' | 'now'
  /** How many steps the walks of that call may take, with 'amid': what is left is walked through in its turn. With 'now' they take as many as they need. */
  ahead: number
  /** After how many operations sync() is called, while the writer goes on; 0: never. */
  syncAfter: number
  /** A directory in the root is a root as well; '': it is not. */
  nesting: (typeof NESTINGS)[number] | ''
  /** What is outside of the root is a root as well. */
  sibling: boolean
  /** How many write at the same time: each does the next operation that nobody has begun. */
  writers: 1 | 2
  /** How many names a directory gives at once. */
  namesPerRead: number
  /** Whether the inode number of what is gone is given away again. */
  reusesInos: boolean
  /** How long each step takes. */
  msPerStep: number
  /** A system call of the writer's is one step; else each of its events is one. */
  isAtomic: boolean
  /** sync() is called when all is quiet; else when the writer is done. */
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

// Outside of two roots: what is moved in has directories in it.
const FAR: readonly Operation[] = [
  { type: 'mkdir', path: '/far' },
  { type: 'write', path: '/far/x' },
  { type: 'mkdir', path: '/far/d' },
  { type: 'mkdir', path: '/far/d/n' },
  { type: 'mkdir', path: '/far/d/n/m' },
  { type: 'write', path: '/far/d/n/m/f' },
]

/** What there is before the watch: three directories with three files, and a file and a directory elsewhere; more of both; and links to directories, and to files. */
export const TREES = {
  small: SMALL,
  'two trees': [...SMALL, ...FAR],
  links: [...SMALL, ...LINKS],
  'links to files': [...SMALL, ...LINKS, ...FILE_LINKS],
} as const
