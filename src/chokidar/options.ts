import type { Stats } from 'node:fs'
import { resolve } from 'node:path'
import { invalidArgument } from '../errors.ts'
import type { Matcher } from './ignored.ts'

/** `awaitWriteFinish`: ms for which a file must not have been written to. Writes are reported by events, not polled for: `pollInterval` has no effect. */
export type AWF = { stabilityThreshold: number; pollInterval: number }

/** Options, as chokidar has them. */
export type ChokidarOptions = Partial<{
  /** Keep the process alive while the watcher is open. @default true */
  persistent: boolean
  /** Paths that are not reported, nor anything below them. Relative paths are resolved against `cwd`, or else the working directory. */
  ignored: Matcher | Matcher[]
  /** Do not report existing entries before 'ready'. @default false */
  ignoreInitial: boolean
  /** Watch the targets of symlinks. @default true */
  followSymlinks: boolean
  /** The directory against which given and reported paths are relative. */
  cwd: string
  /** Polls on any filesystem. Mounts that deliver no events are polled in any case. */
  usePolling: boolean
  /** ms between polls. @default 250, and 100 with usePolling */
  interval: number
  /** No effect: a poll looks at all files at once. */
  binaryInterval: number
  /** Give `stats` with each event. @default false */
  alwaysStat: boolean
  /** The number of levels of subdirectories to descend. @default unlimited */
  depth: number
  /** Do not emit 'error' for paths that may not be read. @default false */
  ignorePermissionErrors: boolean
  /** ms, or true for 100: a file that comes back within it is a 'change', and files that editors write beside it are not reported. @default true */
  atomic: boolean | number
  /** Report 'add' and 'change' of a file when it has not been written to for some time. @default false */
  awaitWriteFinish: boolean | Partial<AWF>
}>

/** The names of the events that have a path. */
export type EventName = 'add' | 'addDir' | 'change' | 'unlink' | 'unlinkDir'
/** The arguments of these events. `stats`: with `alwaysStat` or `awaitWriteFinish`. */
export type EmitArgs = [path: string, stats?: Stats]
/** The options of a watcher with their defaults. */
export type FSWInstanceOptions = ReturnType<typeof settingsOf>

/** Returns the options with their defaults and the environment's overrides. Throws TypeError. */
export function settingsOf(options: ChokidarOptions) {
  const { CHOKIDAR_USEPOLLING: asked, CHOKIDAR_INTERVAL: often } = process.env
  const usePolling = asked === undefined ? (options.usePolling ?? false) : !/^(false|0|)$/i.test(asked)
  const interval = often ? Number.parseInt(often, 10) : (options.interval ?? (usePolling ? 100 : 250))
  const { atomic = true, awaitWriteFinish = false, ignored = [], cwd } = options
  const finish = { stabilityThreshold: 2000, pollInterval: 100, ...(awaitWriteFinish as object) }
  for (const [name, ms] of Object.entries({ interval, atomic, ...finish }))
    if (typeof ms === 'number' && !(ms >= 0)) throw invalidArgument(`options.${name}`, ms, 'a number of ms')
  return {
    persistent: true,
    ignoreInitial: false,
    followSymlinks: true,
    ignorePermissionErrors: false,
    depth: Number.POSITIVE_INFINITY,
    ...options,
    usePolling,
    interval,
    ignored: [ignored].flat(),
    cwd: cwd === undefined ? undefined : resolve(cwd),
    atomic,
    // An event that is told long after the look has stats in any case.
    alwaysStat: options.alwaysStat === true || awaitWriteFinish !== false,
    awaitWriteFinish: awaitWriteFinish !== false && finish,
  }
}
