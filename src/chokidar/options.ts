import type { Stats } from 'node:fs'
import { resolve } from 'node:path'
import { invalidArgument } from '../errors.ts'
import type { Matcher } from './ignored.ts'

/** ms that a file must not have been written to. What is written is told, and is not polled for: `pollInterval` has no effect. */
export type AWF = { stabilityThreshold: number; pollInterval: number }

/** As chokidar has them. */
export type ChokidarOptions = Partial<{
  persistent: boolean
  /** What is not told, nor what lies below it. */
  ignored: Matcher | Matcher[]
  ignoreInitial: boolean
  followSymlinks: boolean
  /** Paths are relative to it, those that are given and those that are told. */
  cwd: string
  /** Polls, whatever the file system. What delivers no events is polled in any case. */
  usePolling: boolean
  /** ms between polls. @default 250, and 100 with usePolling */
  interval: number
  /** Has no effect: a poll looks at all files at once. */
  binaryInterval: number
  alwaysStat: boolean
  depth: number
  ignorePermissionErrors: boolean
  /** A file that comes back within so many ms, or 100, is a 'change'; what editors write beside a file is not told. @default true */
  atomic: boolean | number
  awaitWriteFinish: boolean | Partial<AWF>
}>

export type EventName = 'add' | 'addDir' | 'change' | 'unlink' | 'unlinkDir'
export type EmitArgs = [path: string, stats?: Stats]
/** As chokidar calls them. */
export type FSWInstanceOptions = ReturnType<typeof settingsOf>

/** Options with their defaults, and what the environment says. Throws TypeError. */
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
    // What is told long after it was looked at has stats in any case.
    alwaysStat: options.alwaysStat === true || awaitWriteFinish !== false,
    awaitWriteFinish: awaitWriteFinish !== false && finish,
  }
}
