import { basename } from 'node:path'
import { printable } from '../../errors.ts'
import { TOUCHED_NAME } from '../../publish/touch.ts'
import { parse, requirePaths } from '../shared/command.ts'
import { flag, JSON_OPTION, option, path, repeated, UsageError, wrongValue } from '../shared/option.ts'

/** The parsed command line of `inotify-bridge publish`. */
export type PublishArguments = ReturnType<typeof readPublishArguments>

export const PUBLISH_OPTIONS = {
  configmap: flag('see above'),
  touch: repeated(
    'DIRECTORY',
    `when all is published, rename a file to ${TOUCHED_NAME} in DIRECTORY: Envoy reads its files again at any move in its watched_directory. Can be given more than once, and without anything to publish`,
    path,
  ),
  mode: option(
    'MODE',
    'octal; of a file that is there instead of its own, of a new one and of each key instead of 644 or what FILE has of it, whatever the umask',
    mode,
  ),
  json: JSON_OPTION,
} as const

/** Parses the arguments of `inotify-bridge publish`; throws a {@link UsageError} that says what is wrong. */
export function readPublishArguments(args: readonly string[]) {
  const { values, words } = parse(args, PUBLISH_OPTIONS)
  const { configmap = false, touch = [] } = values
  // '-' is stdin.
  const files = words.slice(0, -1)
  const target = words.at(-1)
  const isTouchAlone = target === undefined && touch.length > 0 && !configmap
  const what = configmap ? 'a DIRECTORY' : 'a DEST'
  if (!isTouchAlone && files.length === 0)
    throw new UsageError(`name a FILE and ${what}, or --touch DIRECTORY alone`)
  if (!isTouchAlone) requirePaths(words)
  if (target === '-') throw new UsageError("'-' is stdin, and stands before DEST")
  if (files.filter((file) => file === '-').length > 1)
    throw new UsageError("'-' is stdin, and can be read once")
  if (configmap) requireNames(files)
  return { files, target, configmap, touch, mode: values.mode }
}

/** Throws a {@link UsageError} unless each file has a name of its own under which to publish it. */
export function requireNames(files: readonly string[]): void {
  const seen = new Map<string, string>()
  for (const file of files) {
    if (file === '-') throw new UsageError("'-' is stdin and has no name: name the file that it becomes")
    const name = basename(file)
    const other = seen.get(name)
    if (other !== undefined)
      throw new UsageError(
        `'${printable(other)}' and '${printable(file)}' have one name: one would replace the other`,
      )
    if (name === '' || name.startsWith('..'))
      throw new UsageError(`'${printable(file)}' has no name that could be published`)
    seen.set(name, file)
  }
}

function mode(text: string, name: string): number {
  if (!/^[0-7]{1,4}$/.test(text)) throw wrongValue(name, 'up to four octal digits, as chmod(1) does', text)
  return Number.parseInt(text, 8)
}
