import { resolve } from 'node:path'
import { invalidArgument, refuseUnknown } from '../errors.ts'
import { LONGEST_TIMER, pollInterval } from '../interval.ts'
import { pathOf } from '../publish/arguments.ts'
import { relayAddress } from '../relay/address.ts'

/** Options of `mirror()`. */
export interface MirrorOptions {
  /**
   * ms from one look at a quiet source to the next, at least 1. After a change the next looks come sooner: after a sixteenth of it (10 ms at the least), then doubling. The environment's
   * INOTIFY_BRIDGE_INTERVAL overrides it.
   * @default 250
   */
  interval?: number
  /**
   * ms for which a file outside a `..data` directory must hold still before it is published; 50 times as long if it has become empty.
   * @default 100
   */
  quiet?: number
  /**
   * The most regular files, and bytes in them and in the texts of symlinks outside a ConfigMap's layout, that are copied of each source. Directories do not count.
   * @default { files: 1024, bytes: 16777216 }
   */
  limits?: { files: number; bytes: number }
  /**
   * The target's content for a source beyond the limits. 'link': its files become links to the source's, so that
   * the content stays current, without events; skipped entries are left out. 'hold': the last version within the limits stays.
   * @default 'hold' if anything of the source is skipped, else 'link'
   */
  overLimit?: 'link' | 'hold'
  /**
   * `unix:PATH` or `tcp:HOST:PORT` of an `inotify-bridge relay` for a directory in which all sources lie, on the host that changes them. The relay says when to look, and quiet sources are looked at every 30 s. Without
   * the relay they are looked at as `interval` says, and a process warning (INOTIFY_BRIDGE_RELAY) tells that the relay is not there.
   */
  relay?: string
  /** Closes the mirror when it aborts. */
  signal?: AbortSignal
  /** Keep the process alive while the mirror is open. @default true */
  persistent?: boolean
}

/** Limits in the size of those of Kata's agent: 8 files, 1 MiB. Not the default: `mirror(source, target, { limits: KATA_LIMITS })`. */
export const KATA_LIMITS: { readonly files: number; readonly bytes: number } = Object.freeze({
  files: 8,
  bytes: 1024 * 1024,
})

/** The arguments of `mirror()`, complete and valid; paths absolute. */
export type MirrorConfig = Readonly<ReturnType<typeof readArguments>> & { readonly firstPass?: FirstPass }

/** The progress of the first pass, for callers that wait for it. */
export interface FirstPass {
  /** Entries of a source have been looked at. */
  looked(entries: number): void
  /** A source is over the limits, and what comes of that may take long. */
  over(reason: string, isHeld: boolean): void
}

/** Reads the arguments of `mirror()`; throws a TypeError that names the one which is wrong. */
export function readArguments(
  source: string | string[],
  target: string,
  options: MirrorOptions,
  environment: NodeJS.ProcessEnv,
) {
  refuseUnknown('options', options, [
    ...['interval', 'quiet', 'limits', 'overLimit', 'relay', 'signal', 'persistent'],
  ])
  const { quiet = 100, overLimit, signal, persistent = true } = options
  const interval = pollInterval(options.interval, environment)
  const limits = options.limits ?? { files: 1024, bytes: 16 * 1024 * 1024 }

  const sources = Array.isArray(source) ? source : [source]
  if (sources.length === 0) throw invalidArgument('source', '', 'at least one path')
  const paths = sources.map((path) => resolve(pathOf('source', path)))
  const to = resolve(pathOf('target', target))
  if (!isWithin(quiet, 0, LONGEST_TIMER))
    throw invalidArgument('options.quiet', quiet, 'a number of ms, at least 0')
  refuseUnknown('options.limits', limits, ['files', 'bytes'])
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
    sources: paths,
    target: to,
    interval,
    quiet,
    limits: { files, bytes },
    overLimit,
    relay: options.relay === undefined ? undefined : relayAddress(options.relay, 'options.relay'),
    signal,
    persistent,
  }
}

function isWithin(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most
}
