import { resolve } from 'node:path'
import { invalidArgument } from '../errors.ts'
import { LONGEST_TIMER, pollInterval } from '../interval.ts'
import type { Kind } from './report/change.ts'

/** Options of {@link watch}. */
export interface WatchOptions {
  /** What lies deeper than the entries of a root as well. @default false */
  recursive?: boolean
  /**
   * With `recursive`: how many levels of directories in a root are gone into. 0: none, as without `recursive`; 1: what lies in the directories of a root is told, and not
   * what lies in theirs. Each root counts from itself.
   * @default Infinity
   */
  depth?: number
  /** 'auto': by the mount, of each root and below it. The environment's INOTIFY_BRIDGE_BACKEND overrides it. @default 'auto' */
  backend?: 'auto' | 'inotify' | 'poll'
  /** ms between polls. The environment's INOTIFY_BRIDGE_INTERVAL overrides it. @default 250 */
  interval?: number
  /** Report what is there as 'create', parents first, before ready. @default false */
  initial?: boolean
  /**
   * A file that {@link Watcher.save} has written: what differs from it is told before ready, with source 'snapshot', as `initial` would tell what is there, which is without effect then. If it
   * is missing, torn or of another version, filesystem or root, all that is there is told as new, and 'error' says why (ENOENT, EBADMSG, EXDEV, ENODATA). Of roots that are added later it
   * says nothing.
   */
  since?: string
  /** Each `delete`, `rename` and `exchange` of a directory is followed by one for each entry below it, whose mask is 0. @default false */
  expand?: boolean
  /**
   * Each change and each entry carries what stat(2) says: size, mode, mtimeMs, ino. It is looked at behind each change, by the threads that walk: some 130 bytes an entry, and a statx(2) a change.
   * @default false
   */
  stat?: boolean
  /**
   * A symlink to a directory is watched as the directory it leads to, unless it lies in that. Of roots that are symlinks `followRoots` says so.
   * @default false
   */
  followSymlinks?: boolean
  /**
   * A root that is a symlink is what it leads to. false: it is that symlink, which is a `modify` when another takes its place; those on the way to it are
   * followed all the same.
   * @default true
   */
  followRoots?: boolean
  /** Paths that are not reported, nor what lies below them: a function that says so, or path prefixes (strings, whole components) and patterns. */
  ignore?: ((path: string, kind: Kind) => boolean) | Array<string | RegExp>
  /** ms. A 'modify' is reported when there has been none of its path for so long. sync() does not wait. @default 0 */
  settle?: number
  /** Polls read every file, all of it, and compare what it holds: for servers whose times and sizes are not to be relied on. @default false */
  hash?: boolean
  /** 'buffer': paths are Buffers of the exact bytes, since a name need not be UTF-8. @default 'utf8' */
  encoding?: 'utf8' | 'buffer'
  /** Closes the watcher when it aborts. */
  signal?: AbortSignal
  /** Whether the open watcher keeps the process alive. @default true */
  persistent?: boolean
}

export interface Settings {
  backend: 'auto' | 'inotify' | 'poll'
  interval: number
  initial: boolean
  /** Absolute. */
  since: string | undefined
  recursive: boolean
  depth: number
  expand: boolean
  stat: boolean
  followSymlinks: boolean
  followRoots: boolean
  /** undefined: nothing is ignored. */
  ignores: ((path: string, kind: Kind) => boolean) | undefined
  /** ms; 0: at once. */
  settle: number
  /** Polls compare what files hold as well. */
  hash: boolean
  encoding: 'utf8' | 'buffer'
  signal: AbortSignal | undefined
  persistent: boolean
}

/** The roots asked for, absolute. Throws TypeError. */
export function rootPaths(paths: string | string[]): string[] {
  return (Array.isArray(paths) ? paths : [paths]).map(rootPath)
}

/** Throws TypeError: '' too, which would be the working directory where someone's variable is not set. */
export function rootPath(path: string): string {
  return filePath('path', path)
}

/** Of an argument or option of this name; likewise. */
export function filePath(name: string, path: string): string {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return resolve(path)
  throw invalidArgument(name, path, 'a string, not empty and without a NUL byte')
}

/** Defaults, the environment, and what is wrong with the options. Throws TypeError. */
export function settingsOf(options: WatchOptions, environment: NodeJS.ProcessEnv = process.env): Settings {
  // Empty is as good as unset, as everywhere in the shell.
  const asked = environment.INOTIFY_BRIDGE_BACKEND || undefined
  const backend = asked ?? options.backend ?? 'auto'
  const interval = pollInterval(options.interval, environment)
  const {
    recursive = false,
    initial = false,
    settle = 0,
    followSymlinks = false,
    followRoots = true,
  } = options
  const { depth = Number.POSITIVE_INFINITY, expand = false, stat = false } = options
  const { hash = false, signal, persistent = true, ignore, encoding = 'utf8', since } = options

  if (backend !== 'auto' && backend !== 'inotify' && backend !== 'poll') {
    const name = asked === undefined ? 'options.backend' : 'INOTIFY_BRIDGE_BACKEND'
    throw invalidArgument(name, backend, `'auto', 'inotify' or 'poll'`)
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalidArgument('options.signal', signal, 'an AbortSignal')
  }
  for (const [name, value] of Object.entries({
    recursive,
    expand,
    stat,
    initial,
    followSymlinks,
    followRoots,
    hash,
    persistent,
  })) {
    if (typeof value !== 'boolean') throw invalidArgument(`options.${name}`, value, 'true or false')
  }
  if (!(Number.isInteger(depth) && depth >= 0) && depth !== Number.POSITIVE_INFINITY)
    throw invalidArgument('options.depth', depth, 'an integer, 0 or more, or Infinity')
  if (!recursive && depth > 0 && options.depth !== undefined)
    throw invalidArgument('options.depth', depth, '0 without `recursive: true`, which it is a bound of')
  if (encoding !== 'utf8' && encoding !== 'buffer') {
    throw invalidArgument('options.encoding', encoding, `'utf8' or 'buffer'`)
  }
  if (typeof settle !== 'number' || !(settle >= 0 && settle <= LONGEST_TIMER)) {
    throw invalidArgument('options.settle', settle, `a number of ms from 0 to ${LONGEST_TIMER}`)
  }
  const ignores = ignoresOf(ignore)
  return {
    backend,
    interval,
    recursive: recursive && depth > 0,
    depth,
    expand,
    stat,
    initial,
    since: since === undefined ? undefined : filePath('options.since', since),
    followSymlinks,
    followRoots,
    ignores,
    settle,
    hash,
    encoding,
    signal,
    persistent,
  }
}

const IGNORE_FORMS = 'a function, or an array of strings and RegExps'

/** Throws TypeError. */
export function ignoresOf(ignore: WatchOptions['ignore']): Settings['ignores'] {
  if (ignore === undefined || (Array.isArray(ignore) && ignore.length === 0)) return undefined
  if (typeof ignore === 'function') return guarded(ignore)
  if (!Array.isArray(ignore)) throw invalidArgument('options.ignore', ignore, IGNORE_FORMS)
  const prefixes: string[] = []
  const patterns: RegExp[] = []
  for (const rule of ignore) {
    if (rule instanceof RegExp) patterns.push(rule)
    else if (typeof rule === 'string' && rule !== '') prefixes.push(resolve(rule))
    else throw invalidArgument('options.ignore', rule, IGNORE_FORMS)
  }
  return (path) =>
    prefixes.some((prefix) => path === prefix || path.startsWith(prefix === '/' ? '/' : `${prefix}/`)) ||
    // search, not test: a pattern with the g flag must not remember where it was.
    patterns.some((pattern) => path.search(pattern) >= 0)
}

// A predicate that throws is an uncaught exception, as a listener that does; not the end of what was being told.
function guarded(ignores: (path: string, kind: Kind) => boolean): Settings['ignores'] {
  return (path, kind) => {
    try {
      return ignores(path, kind)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
      return false
    }
  }
}
