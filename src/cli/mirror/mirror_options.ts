import type { MirrorOptions } from '../../mirror/options.ts'
import { relayAddress } from '../../relay/address.ts'
import { LISTEN_OPTION } from '../service/listen.ts'
import { parse, pick, requirePaths } from '../shared/command.ts'
import { flag, JSON_OPTION, oneOf, option, passing, path, UsageError, whole } from '../shared/option.ts'

/** The parsed command line of `inotify-bridge mirror`. */
export type MirrorArguments = ReturnType<typeof readMirrorArguments>

const COUNT = whole(0, Number.MAX_SAFE_INTEGER)
const WITH_ONCE = { without: { once: 'which ends after the first pass' } }

export const MIRROR_OPTIONS = {
  interval: option('MS', 'between two looks at the source; 250', whole(1)),
  quiet: option('MS', 'for which a file outside ..data must hold still before it is copied; 100', whole(0)),
  'max-files': option('N', 'regular files that are copied of a SOURCE, at most; 1024', COUNT),
  'max-bytes': option('N', 'bytes in them, and in the texts of symlinks, at most; 16777216', COUNT),
  'over-limit': option(
    'MODE',
    "link (TARGET's files become links to the source's) or hold (the last good version stays); by default hold if there is anything in the source that is skipped, else link",
    oneOf('link', 'hold'),
  ),
  relay: option(
    'ADDRESS',
    "unix:PATH or tcp:HOST:PORT of an 'inotify-bridge relay' for a directory that has every SOURCE, on the host that changes it: it says when to look, and a quiet SOURCE is looked at every 30 s",
    passing(relayAddress),
  ),
  once: flag(
    'end when a complete version of every SOURCE is in TARGET; 1, and what is missing or over the limits, if there is none',
  ),
  'ready-file': option(
    'FILE',
    'is there while TARGET can be relied on: from when a complete version of every SOURCE is in it to the end of the command, but not while the source is lost, is over the limits and held, or TARGET cannot be written',
    path,
    WITH_ONCE,
  ),
  listen: LISTEN_OPTION,
  'in-place': flag('see above', WITH_ONCE),
  json: JSON_OPTION,
} as const

/** Parses the arguments of `inotify-bridge mirror`; throws a {@link UsageError} that names the wrong one. */
export function readMirrorArguments(args: readonly string[]) {
  const { values, words, before, behind } = parse(args, MIRROR_OPTIONS)
  const { 'over-limit': overLimit, 'max-files': files = 1024, 'max-bytes': bytes = 16 * 1024 * 1024 } = values
  const settings = {
    ...pick(values, 'once', 'listen'),
    readyFile: values['ready-file'],
    options: {
      ...pick(values, 'interval', 'quiet', 'relay'),
      ...(overLimit && { overLimit }),
      limits: { files, bytes },
    } satisfies MirrorOptions,
  }
  if (values['in-place']) {
    const [source, another] = before
    if (source === undefined || another !== undefined)
      throw new UsageError('--in-place takes one SOURCE and no TARGET; the command comes behind --')
    requirePaths(before)
    const [program, ...rest] = behind ?? []
    if (program === undefined || program === '')
      throw new UsageError('--in-place needs a command: mirror SOURCE --in-place -- COMMAND ARG...')
    if (overLimit === 'link')
      throw new UsageError(
        '--over-limit link does not go with --in-place: the links would lead to themselves, SOURCE being hidden by the mirror',
      )
    const options = { ...settings.options, overLimit: 'hold' as const }
    return { ...settings, options, sources: before, target: source, command: [program, ...rest] as const }
  }
  const sources = words.slice(0, -1)
  const target = words.at(-1)
  if (target === undefined || sources.length === 0) throw new UsageError('name a SOURCE and a TARGET')
  requirePaths(words)
  return { ...settings, sources, target, command: undefined }
}
