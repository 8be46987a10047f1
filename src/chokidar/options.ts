import type { Stats } from 'node:fs'
import { resolve } from 'node:path'
import { invalidArgument } from '../errors.ts'
import type { WatchOptions } from '../watch/options.ts'
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
  /** ms between polls. @default 100 with usePolling */
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

export type EmitArgs = [path: string, stats?: Stats]
/** As chokidar calls them. */
export type FSWInstanceOptions = ReturnType<typeof settingsOf>

/** Options with their defaults, and what the environment says. Throws TypeError. */
export function settingsOf(options: ChokidarOptions) {
  const { CHOKIDAR_USEPOLLING: asked, CHOKIDAR_INTERVAL: often } = process.env
  const usePolling = asked === undefined ? (options.usePolling ?? false) : !/^(false|0|)$/i.test(asked)
  const interval = often ? Number.parseInt(often, 10) : (options.interval ?? (usePolling ? 100 : undefined))
  const { atomic = true, awaitWriteFinish = false, ignored = [], cwd } = options
  const finish = {
    stabilityThreshold: 2000,
    pollInterval: 100,
    ...(awaitWriteFinish === true ? {} : awaitWriteFinish),
  }
  const { stabilityThreshold } = finish
  for (const [name, ms] of Object.entries({ interval, atomic, stabilityThreshold }))
    if (typeof ms === 'number' && !(ms >= 0)) throw invalidArgument(`options.${name}`, ms, 'a number of ms')
  return {
    persistent: true,
    ignoreInitial: false,
    followSymlinks: true,
    ignorePermissionErrors: false,
    ...options,
    usePolling,
    interval,
    ignored: Array.isArray(ignored) ? ignored : [ignored],
    cwd: cwd === undefined ? undefined : resolve(cwd),
    atomic,
    // What is told long after it was looked at has stats in any case.
    alwaysStat: options.alwaysStat === true || awaitWriteFinish !== false,
    awaitWriteFinish: awaitWriteFinish === false ? (false as const) : finish,
  }
}

/** The same, as watch() has them. */
export function watchOptionsOf(settings: FSWInstanceOptions): WatchOptions {
  const { persistent, ignoreInitial, followSymlinks, usePolling, interval, alwaysStat, depth } = settings
  return {
    recursive: true,
    expand: true,
    persistent,
    followSymlinks,
    followRoots: followSymlinks,
    initial: !ignoreInitial,
    stat: alwaysStat,
    backend: usePolling ? 'poll' : 'auto',
    ...(interval !== undefined && { interval: Math.max(1, interval) }),
    ...(depth !== undefined && { depth }),
  }
}
