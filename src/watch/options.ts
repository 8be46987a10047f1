import { resolve } from 'node:path'
import { InotifyError, invalidArgument } from '../errors.ts'
import type { Backend } from '../mounts/filesystems.ts'
import type { Kind } from './change.ts'

/** Options of {@link watch}. */
export interface WatchOptions {
  /** false. Not supported yet. */
  recursive?: boolean
  /** 'auto': by the mount of each root. The environment's INOTIFY_BRIDGE_BACKEND overrides it. */
  backend?: 'auto' | 'inotify' | 'poll'
  /** ms between polls, 250. The environment's INOTIFY_BRIDGE_INTERVAL overrides it. */
  interval?: number
  /** false. Report what is there as 'create' before ready. */
  initial?: boolean
  /** false. Not supported yet; a root that is a symlink to a directory is followed in any case. */
  followSymlinks?: boolean
  /** Paths that are not reported: a function that says so, or path prefixes (strings, whole components) and patterns. */
  ignore?: ((path: string, kind: Kind) => boolean) | Array<string | RegExp>
  /** Not supported yet. */
  settle?: number
  /** Not supported yet. */
  hash?: boolean
  /** 'utf8'. 'buffer' is not supported yet. */
  encoding?: 'utf8' | 'buffer'
  /** Closes the watcher when it aborts. */
  signal?: AbortSignal
  /** true. Whether the open watcher keeps the process alive. */
  persistent?: boolean
}

export interface Settings {
  backend: 'auto' | Backend
  interval: number
  initial: boolean
  ignores: (path: string, kind: Kind) => boolean
  signal: AbortSignal | undefined
  persistent: boolean
}

/** Defaults, the environment, and what is wrong with the options. Throws TypeError, or InotifyError ENOTSUP. */
export function settle(options: WatchOptions, environment: NodeJS.ProcessEnv = process.env): Settings {
  const backend = environment.INOTIFY_BRIDGE_BACKEND ?? options.backend ?? 'auto'
  const interval = Number(environment.INOTIFY_BRIDGE_INTERVAL ?? options.interval ?? 250)
  const { initial = false, signal, persistent = true, ignore } = options

  if (backend !== 'auto' && backend !== 'inotify' && backend !== 'poll') {
    const name =
      environment.INOTIFY_BRIDGE_BACKEND === undefined ? 'options.backend' : 'INOTIFY_BRIDGE_BACKEND'
    throw invalidArgument(name, backend, `'auto', 'inotify' or 'poll'`)
  }
  if (!Number.isFinite(interval) || interval < 1) {
    const name =
      environment.INOTIFY_BRIDGE_INTERVAL === undefined ? 'options.interval' : 'INOTIFY_BRIDGE_INTERVAL'
    throw invalidArgument(name, interval, 'a number of ms, at least 1')
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalidArgument('options.signal', signal, 'an AbortSignal')
  }
  const unsupported = (['recursive', 'followSymlinks', 'settle', 'hash'] as const).find(
    (name) => options[name],
  )
  if (unsupported !== undefined || options.encoding === 'buffer') {
    const name = unsupported ?? 'encoding'
    throw new InotifyError({
      errno: 'ENOTSUP',
      syscall: 'watch',
      hint: `options.${name} is not supported yet`,
    })
  }
  return { backend, interval, initial, ignores: predicate(ignore), signal, persistent }
}

function predicate(ignore: WatchOptions['ignore']): Settings['ignores'] {
  if (ignore === undefined) return () => false
  if (typeof ignore === 'function') return ignore
  const prefixes: string[] = []
  const patterns: RegExp[] = []
  for (const rule of ignore) {
    if (rule instanceof RegExp) patterns.push(rule)
    else if (typeof rule === 'string') prefixes.push(resolve(rule))
    else throw invalidArgument('options.ignore', rule, 'a function, or an array of strings and RegExps')
  }
  return (path) =>
    prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`)) ||
    // search, not test: a pattern with the g flag must not remember where it was.
    patterns.some((pattern) => path.search(pattern) >= 0)
}
