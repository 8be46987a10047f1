import { resolve } from 'node:path'
import { invalidArgument } from '../errors.ts'
import { LONGEST_TIMER, pollInterval } from '../interval.ts'

/** Options of `mirror()`. */
export interface MirrorOptions {
  /** ms from the beginning of one look at the source to that of the next. INOTIFY_BRIDGE_INTERVAL overrides it. @default 250 */
  interval?: number
  /**
   * ms for which a file outside a `..data` directory must hold still before it is published, 50 times as long if it has become
   * empty.
   * @default 100
   */
  quiet?: number
  /**
   * How many regular files, and bytes in them and in the texts of symlinks, are copied of a source at most.
   * @default { files: 1024, bytes: 16777216 }
   */
  limits?: { files: number; bytes: number }
  /**
   * What the target shows of a source beyond the limits. `link`: its files become links to the source's, so that
   * the content goes on flowing, without events; what is skipped is left out. `hold`: the last version within the limits.
   * @default 'hold' if anything of the source is skipped, else 'link'
   */
  overLimit?: 'link' | 'hold'
  /** Closes the mirror when it is aborted. */
  signal?: AbortSignal
  /** Whether the mirror keeps the process alive. @default true */
  persistent?: boolean
}

/** What Kata's agent mirrors at most: `mirror(source, target, { limits: KATA_LIMITS })`. */
export const KATA_LIMITS: { readonly files: number; readonly bytes: number } = Object.freeze({
  files: 8,
  bytes: 1024 * 1024,
})

/** The arguments of `mirror()`, complete and valid; paths absolute. */
export interface MirrorConfig {
  readonly sources: readonly string[]
  readonly target: string
  readonly interval: number
  readonly quiet: number
  readonly limits: { readonly files: number; readonly bytes: number }
  readonly overLimit: 'link' | 'hold' | undefined
  readonly signal: AbortSignal | undefined
  readonly persistent: boolean
}

/** Reads the arguments of `mirror()`; throws a TypeError that names the one which is wrong. */
export function readArguments(
  source: string | string[],
  target: string,
  options: MirrorOptions,
  environment: NodeJS.ProcessEnv,
): MirrorConfig {
  if (typeof options !== 'object' || options === null) throw invalidArgument('options', options, 'an object')
  const { quiet = 100, overLimit, signal, persistent = true } = options
  const interval = pollInterval(options.interval, environment)
  const limits = options.limits ?? { files: 1024, bytes: 16 * 1024 * 1024 }

  const sources = Array.isArray(source) ? source : [source]
  if (sources.length === 0) throw invalidArgument('source', '', 'at least one path')
  for (const path of sources) requirePath('source', path)
  requirePath('target', target)
  if (!isWithin(quiet, 0, LONGEST_TIMER))
    throw invalidArgument('options.quiet', quiet, 'a number of ms, at least 0')
  if (typeof limits !== 'object' || limits === null)
    throw invalidArgument('options.limits', limits, 'an object { files, bytes }')
  for (const name of ['files', 'bytes'] as const) {
    if (!isWithin(limits[name], 0, Infinity)) {
      throw invalidArgument(`options.limits.${name}`, limits[name], 'a number, at least 0')
    }
  }
  if (overLimit !== undefined && overLimit !== 'link' && overLimit !== 'hold') {
    throw invalidArgument('options.overLimit', overLimit, "'link' or 'hold'")
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalidArgument('options.signal', signal, 'an AbortSignal')
  }
  if (typeof persistent !== 'boolean') throw invalidArgument('options.persistent', persistent, 'a boolean')

  const { files, bytes } = limits
  return {
    sources: sources.map(pathOf),
    target: pathOf(target),
    interval,
    quiet,
    limits: { files, bytes },
    overLimit,
    signal,
    persistent,
  }
}

function requirePath(name: string, path: unknown): void {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw invalidArgument(name, path, 'a path without null bytes')
  }
}

/** A string is text, as it is to Node: half of a character stands for no byte in it (see name_key.ts). */
function pathOf(path: string): string {
  return resolve(path).toWellFormed()
}

function isWithin(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most
}
