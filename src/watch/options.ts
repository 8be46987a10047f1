import type { NetConnectOpts } from 'node:net'
import { resolve } from 'node:path'
import { invalidArgument, refuseUnknown } from '../errors.ts'
import { LONGEST_TIMER, pollInterval } from '../interval.ts'
import { relayAddress } from '../relay/address.ts'
import { type Ignores, ignoresOf, othersThan } from './ignores.ts'
import type { Kind } from './report/change.ts'

/** Options of {@link watch}. */
export interface WatchOptions {
  /** Watch subdirectories too, also those that are made later. @default false */
  recursive?: boolean
  /**
   * With `recursive`: how many levels below each root to descend. 0: the root's own entries. 1: also the entries of its subdirectories.
   * @default Infinity
   */
  depth?: number
  /** 'auto': chosen by mount, for each root and for mounts below it. The environment's INOTIFY_BRIDGE_BACKEND overrides it. @default 'auto' */
  backend?: 'auto' | 'inotify' | 'poll'
  /**
   * ms from the end of a poll to the next, 1 to 2147483647: sooner after a poll that has found something, later if polls take longer. Missing roots are looked for as often where no event tells that
   * they appear. The environment's INOTIFY_BRIDGE_INTERVAL overrides it.
   * @default 250
   */
  interval?: number
  /** Report what is there as 'create' (source 'rescan'), parents first, before ready. Not for roots that are added later. @default false */
  initial?: boolean
  /**
   * A file that {@link Watcher.save} has written. The difference from it is reported before ready, with source 'snapshot'; `initial` is without effect then. If the file
   * is missing, torn, or of another version, filesystem or root, everything is reported as new, and 'error' says why (ENOENT, EBADMSG, EXDEV, ENODATA). Roots that are added later are not in it.
   */
  since?: string
  /**
   * Follow each `delete`, `rename` and `exchange` of a directory by one for each entry below it, parents first, with mask 0: for programs that keep a flat list of paths.
   * @default false
   */
  expand?: boolean
  /**
   * Watch a symlink to a directory as that directory, under the link's name, unless it leads to a parent directory (a loop) or lies behind three others. A link to a file stays a 'symlink';
   * changes of the file are reported under the link's name. Roots: see `followRoots`.
   * @default false
   */
  followSymlinks?: boolean
  /**
   * Follow a root that is a symlink. `false`: watch the link itself; replacing it is a `modify`. Symlinks on the way to it are followed in any case.
   * @default true
   */
  followRoots?: boolean
  /**
   * Paths that are not reported, nor what lies below them. Strings are globs of the path from its root on: 'build' is the one in the root, and at any depth with two stars and a slash before it.
   * With `!` before it, a later string takes back what an earlier one ignores, but for what lies in an ignored directory. Absolute strings are globs of the absolute path. RegExps are searched for in the path from its root on. A function is given the absolute path.
   */
  ignore?: ((path: string, kind: Kind) => boolean) | Array<string | RegExp>
  /** Report no other files than those that one of these globs names, of the path from the root on or absolute. Directories are reported, and gone into, in any case. */
  only?: string[]
  /**
   * Ignore what git does not list as untracked: by each .gitignore, from the repository's directory down, by its info/exclude, and by the user's core.excludesFile. Changes of the rules are applied. A file that is tracked
   * though a rule names it is ignored; a .gitignore never is. More: docs/semantics.md, S105.
   * @default false
   */
  gitignore?: boolean
  /**
   * Hold changes back while git changes files, as in a checkout, a merge or a step of a rebase, and tell them together when it is done: while a repository that they lie in has an index.lock, for 30 s at most. sync(), save(), setIgnore() and
   * remove() do not wait; entries() and has() have what is held. A lock that is older was left behind, and holds nothing. More: docs/semantics.md, S110.
   * @default false
   */
  deferGit?: boolean
  /**
   * ms. A 'modify' is reported when there has been none of its path for so long; 0: each one, at once. Without it a save is one change, reported when the writer closes the file, or after 50 ms: a 'modify',
   * or the 'create' of a new file. With a number only a 'modify' waits: a new file is a 'create' at once, and a 'modify' when it has been quiet. sync() does not wait.
   */
  settle?: number
  /**
   * The most watches for directories: a number, or below 1 a share of those that the user has left. Directories nearest to a root get one, and so does one that changes in place of one that has been quiet for a minute; all others
   * are polled, or with `backend: 'inotify'` not watched. 'error' says so once, and coverage() names them.
   */
  maxWatches?: number
  /**
   * The most that polls may use: `cpu`, a share of one core, and `requests`, system calls a second. Each poll then lists some directories: those that changed in the last minute, and others in turn. coverage() tells how late a
   * change may be (`latency`). Not bound: the first listing, sync(), save(), roots that are files or missing, and ways of followed links. A directory that moves may be reported as a `delete` and a `create`.
   */
  pollBudget?: { cpu?: number; requests?: number }
  /** Polls read every file, all of it, and compare contents: for servers whose times and sizes are not reliable (virtiofs with writeback). @default false */
  hash?: boolean
  /**
   * `unix:PATH` or `tcp:HOST:PORT` of an `inotify-bridge relay` for the directory that is watched here, where others change it: a host's, of what a guest or a container sees without events. The relay tells
   * where to look, so that changes are reported within milliseconds, and polls are 30 s apart. Without the relay, and until all has been polled after it came, polls are as `interval` says, and 'error' tells that it is not
   * there. For one path alone. More: docs/semantics.md, S106.
   */
  relay?: string
  /**
   * Tell of each change that comes from an event which process made it, this one included: {@link EntryChange.by}. fanotify(7) tells it, where `Fanotify` of `inotify-bridge/inotify` works, and takes up to
   * 25 µs of this process for each file that anybody changes on the same file systems. A hint: of several processes that change a path at a time it is the last, and `by` is absent where the two events do not meet (the
   * directory has moved, a queue was full, an entry of `expand`). Where it is not to be had one 'error' says why (EPERM, ENODEV, ENOTSUP), and all else goes on.
   * @default false
   */
  by?: boolean
  /** 'buffer': paths are Buffers of the exact bytes, since a name need not be UTF-8. @default 'utf8' */
  encoding?: 'utf8' | 'buffer'
  /** Closes the watcher when it aborts. */
  signal?: AbortSignal
  /** Keep the process alive while the watcher is open. @default true */
  persistent?: boolean
}

/** The options that are true or false, each with its default. */
const FLAGS = {
  recursive: false,
  initial: false,
  expand: false,
  followSymlinks: false,
  followRoots: true,
  gitignore: false,
  deferGit: false,
  hash: false,
  by: false,
  persistent: true,
}

type Flags = Record<keyof typeof FLAGS, boolean>

export interface Settings extends Flags {
  backend: 'auto' | 'inotify' | 'poll'
  interval: number
  /** Absolute. */
  since: string | undefined
  depth: number
  /** By `ignore`; undefined: nothing. */
  ignores: Ignores | undefined
  /** Ignores what `only` does not name; undefined: nothing. */
  only: Ignores | undefined
  /** ms; 0: at once; undefined: a save is one change. */
  settle: number | undefined
  maxWatches: number | undefined
  /** undefined: each poll is of everything. Infinity: as much as it takes. */
  pollBudget: { readonly cpu: number; readonly requests: number } | undefined
  relay: NetConnectOpts | undefined
  encoding: 'utf8' | 'buffer'
  signal: AbortSignal | undefined
}

/** Returns the roots asked for, absolute. Throws TypeError. */
export function rootPaths(paths: string | string[]): string[] {
  return (Array.isArray(paths) ? paths : [paths]).map(rootPath)
}

/** Returns the path, absolute. Throws TypeError: for '' too, which would be the working directory where someone's variable is not set. */
export function rootPath(path: string): string {
  return filePath('path', path)
}

/** Returns the absolute path of an argument or option of this name. Throws TypeError likewise. */
export function filePath(name: string, path: string): string {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return resolve(path)
  throw invalidArgument(name, path, 'a string, not empty and without a NUL byte')
}

const KNOWN = [
  ...Object.keys(FLAGS),
  ...['depth', 'backend', 'interval', 'maxWatches', 'pollBudget', 'relay', 'since'],
  ...['ignore', 'only', 'settle', 'encoding', 'signal'],
]

/** Options of other watchers, and the options that do the same here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  ignored: "ignored is chokidar's; here: ignore",
  ignoreInitial: "ignoreInitial is chokidar's; here: nothing that is there is told without `initial`",
  awaitWriteFinish: "awaitWriteFinish is chokidar's; here: a save is told when the file is closed; settle",
  usePolling: "usePolling is chokidar's; here: backend: 'poll'",
  pollInterval: 'here: interval',
  cwd: "cwd is chokidar's; here: path.relative(cwd, change.path)",
  debounce: 'here: settle',
  exclude: 'here: ignore',
}

/** Returns the settings by the options, the defaults and the environment. Throws TypeError. */
export function settingsOf(options: WatchOptions, environment: NodeJS.ProcessEnv = process.env): Settings {
  refuseUnknown('options', options, KNOWN, ELSEWHERE)
  // Empty is as good as unset, as everywhere in the shell.
  const asked = environment.INOTIFY_BRIDGE_BACKEND || undefined
  const backend = asked ?? options.backend ?? 'auto'
  const interval = pollInterval(options.interval, environment)
  const { depth = Number.POSITIVE_INFINITY, encoding = 'utf8', settle, maxWatches } = options
  const { signal, relay, since } = options

  if (backend !== 'auto' && backend !== 'inotify' && backend !== 'poll') {
    const name = asked === undefined ? 'options.backend' : 'INOTIFY_BRIDGE_BACKEND'
    throw invalidArgument(name, backend, `'auto', 'inotify' or 'poll'`)
  }
  if (relay !== undefined && backend === 'inotify')
    throw invalidArgument('options.relay', relay, "left out with backend: 'inotify', which polls nothing")
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalidArgument('options.signal', signal, 'an AbortSignal')
  }
  const flags = flagsOf(options)
  if (!(Number.isInteger(depth) && depth >= 0) && depth !== Number.POSITIVE_INFINITY)
    throw invalidArgument('options.depth', depth, 'an integer, 0 or more, or Infinity')
  if (!flags.recursive && depth > 0 && options.depth !== undefined)
    throw invalidArgument('options.depth', depth, '0 without `recursive: true`, which it is a bound of')
  if (encoding !== 'utf8' && encoding !== 'buffer') {
    throw invalidArgument('options.encoding', encoding, `'utf8' or 'buffer'`)
  }
  if (settle !== undefined && !(typeof settle === 'number' && settle >= 0 && settle <= LONGEST_TIMER)) {
    throw invalidArgument('options.settle', settle, `a number of ms from 0 to ${LONGEST_TIMER}`)
  }
  if (maxWatches !== undefined && !(maxWatches > 0 && (maxWatches < 1 || Number.isInteger(maxWatches))))
    throw invalidArgument(
      'options.maxWatches',
      maxWatches,
      'an integer, 1 or more, or a share between 0 and 1',
    )
  return {
    ...flags,
    recursive: flags.recursive && depth > 0,
    backend,
    interval,
    depth,
    since: since === undefined ? undefined : filePath('options.since', since),
    ignores: ignoresOf(options.ignore),
    only: othersThan(options.only, flags.followSymlinks),
    settle,
    maxWatches,
    pollBudget: budgetOf(options.pollBudget),
    relay: relay === undefined ? undefined : relayAddress(relay, 'options.relay'),
    encoding,
    signal,
  }
}

function flagsOf(options: WatchOptions): Flags {
  const flags: Flags = { ...FLAGS }
  for (const name of Object.keys(FLAGS) as Array<keyof Flags>) {
    const { [name]: value = FLAGS[name] } = options
    if (typeof value !== 'boolean') throw invalidArgument(`options.${name}`, value, 'true or false')
    flags[name] = value
  }
  return flags
}

function budgetOf(budget: WatchOptions['pollBudget']): Settings['pollBudget'] {
  if (budget === undefined) return undefined
  refuseUnknown('options.pollBudget', budget, ['cpu', 'requests'])
  const { cpu = Number.POSITIVE_INFINITY, requests = Number.POSITIVE_INFINITY } = budget
  for (const [name, value] of Object.entries({ cpu, requests }))
    if (!(typeof value === 'number' && value > 0))
      throw invalidArgument(`options.pollBudget.${name}`, value, 'a number above 0')
  if (cpu + requests === Number.POSITIVE_INFINITY && cpu === requests)
    throw invalidArgument('options.pollBudget', budget, 'an object with cpu, requests or both')
  return { cpu, requests }
}
