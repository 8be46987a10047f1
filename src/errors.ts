import { constants } from 'node:os'
import { getSystemErrorMap } from 'node:util'

/** The parts of an {@link InotifyError}. */
export interface InotifyErrorInit {
  /** A positive errno as in errno(3), or its name. */
  errno: number | keyof typeof constants.errno
  /** The system call, or the function of this library, that failed. */
  syscall: string
  path?: string | Buffer | undefined
  /** One sentence: what to do about it. */
  hint?: string
}

/**
 * A failed system call, or a failed function of this library, in the shape of Node's own system errors. Wrong arguments are a `TypeError` with the code
 * `'ERR_INVALID_ARG_VALUE'` instead.
 *
 * The message escapes control characters of the path, and characters that end a line or turn the direction of text; `path` is as it is.
 *
 * @example
 * ```js
 * import { IN_CREATE, Inotify, InotifyError } from 'inotify-bridge'
 *
 * const inotify = new Inotify()
 * try {
 *   inotify.add('/nowhere', IN_CREATE)
 * } catch (error) {
 *   if (!(error instanceof InotifyError)) throw error
 *   console.log(error.code, error.errno, error.syscall, error.path) // ENOENT -2 inotify_add_watch /nowhere
 *   console.log(error.hint)
 * }
 * inotify.close()
 * ```
 */
export class InotifyError extends Error {
  override readonly name = 'InotifyError'
  /** The errno's name: `'ENOSPC'`. */
  readonly code: string
  /** Negative, as Node's own. */
  readonly errno: number
  /** The system call, or the function of this library, that failed; `'import'` if a part of the package could not be loaded. */
  readonly syscall: string
  /** The path that the call was about; absent if it was about none. */
  declare readonly path?: string
  /**
   * One sentence that says how to mend it; `''` if there is nothing to say. ENOSPC and EMFILE: the sysctl, its value, its use, and the command that raises it.
   */
  readonly hint: string

  /** @hidden */
  constructor({ errno, syscall, path, hint = '' }: InotifyErrorInit) {
    const number = -(typeof errno === 'number' ? errno : constants.errno[errno])
    const [code, meaning] = describeErrno(-number)
    const where = path === undefined ? '' : ` '${printable(path.toString())}'`
    super(`${code}: ${meaning}, ${syscall}${where}${hint === '' ? '' : ` (${escapeInvisible(hint)})`}`)
    this.code = code
    this.errno = number
    this.syscall = syscall
    if (path !== undefined) this.path = path.toString()
    this.hint = hint
  }
}

// Node makes a new one each time that it is asked.
let systemErrors: Map<number, [string, string]> | undefined

/** Returns the name of an errno and its meaning. libuv's table lacks some, for example ESTALE of network filesystems. */
export function describeErrno(errno: number): [code: string, meaning: string] {
  systemErrors ??= getSystemErrorMap()
  const known = systemErrors.get(-errno)
  if (known !== undefined) return known
  const code = Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `E${errno}`
  return [code, code === 'ESTALE' ? 'stale file handle' : 'unknown error']
}

/**
 * The addon, or a program that comes with it, could not be loaded. Thrown by the first call that needs it, not by `import`: masks and constants never do, and
 * `diagnose()` works on Linux without it. `cause` is the loader's error.
 *
 * Bun and Deno lack functions of libuv that the addon calls; there, and on other platforms than Linux, it is not loaded at all. There `inotify-bridge/chokidar`, `/parcel` and `/fs` hand over to what
 * they replace; `import` of the first two throws this error if that is not installed. A bundle finds the addon in a `node_modules` beside or above it, where the package is
 * installed in the same version; esbuild, Rollup and webpack need no settings.
 */
export class AddonLoadError extends Error {
  override readonly name = 'AddonLoadError'
  readonly code = 'ERR_INOTIFY_BRIDGE_ADDON'
  /** The paths that were tried. */
  readonly tried: readonly string[]
  /** One sentence that says how to mend it. */
  readonly hint: string

  /** @hidden */
  constructor(what: string, platform: string, tried: readonly string[], hint: string, cause: unknown) {
    super(`inotify-bridge has no ${what} for ${platform}: ${hint}`, { cause })
    this.tried = tried
    this.hint = hint
  }
}

const PERMISSIONS: Readonly<Record<string, string>> = {
  ChildProcess: '--allow-child-process',
  WorkerThreads: '--allow-worker',
  FileSystemRead: '--allow-fs-read',
  FileSystemWrite: '--allow-fs-write',
}

/** Returns an error's message, with the option that allows what Node's permission model forbids: Node names that only from 24 on. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, permission = '' } = error as Error & { permission?: string }
  const option = PERMISSIONS[permission]
  if (option === undefined || message.includes(option)) return message
  return `${message}: Node's permission model forbids it without ${option}`
}

/** A TypeError in Node's shape for an argument or option of the wrong type or value. */
export function invalidArgument(name: string, value: unknown, expected: string): TypeError {
  const shown = typeof value === 'string' ? `'${printable(value)}'` : String(value)
  return Object.assign(new TypeError(`${name} must be ${expected}; got ${shown}`), {
    code: 'ERR_INVALID_ARG_VALUE',
  })
}

/**
 * Throws a TypeError for options that are no object, and for one that does not exist, which would have no effect: with the nearest name in place of a misspelt one.
 *
 * @param known the options that exist
 * @param elsewhere options of other libraries, and what does the same here
 */
export function refuseUnknown(
  name: string,
  options: unknown,
  known: readonly string[],
  elsewhere: Readonly<Record<string, string>> = {},
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalidArgument(name, options, 'an object')
  const unknown = Object.keys(options).find((key) => !known.includes(key))
  if (unknown === undefined) return
  const here = Object.hasOwn(elsewhere, unknown) ? elsewhere[unknown] : undefined
  const meant = known.find((each) => isNear(each.toLowerCase(), unknown.toLowerCase()))
  const cure = here ?? (meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`)
  throw Object.assign(new TypeError(`${name}.${printable(unknown)} is no option (${cure})`), {
    code: 'ERR_INVALID_ARG_VALUE',
  })
}

/** Returns true if two words differ by at most two letters, in one place. */
function isNear(one: string, other: string): boolean {
  const [shorter, longer] = [one.length, other.length].sort((a, b) => a - b) as [number, number]
  let [start, end] = [0, 0]
  while (start < shorter && one[start] === other[start]) start++
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++
  const middle = longer - start - end
  return middle <= 2 && middle <= shorter / 2
}

/**
 * Control characters (C0, DEL, C1); line and paragraph separators, which many a reader of logs takes for an end of line; and what changes
 * the direction of the text around it (Unicode's Bidi_Control, CVE-2021-42574) or is not to be seen (the byte order mark).
 */
export const INVISIBLE = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g

/**
 * Escapes what a terminal, a log reader or a person could take for something else: {@link escapeInvisible}, and the backslash itself,
 * C-style. File names may hold any of them.
 */
export function printable(text: string): string {
  return escapeInvisible(text.replaceAll('\\', '\\\\'))
}

/** Text in which names have been escaped, or need not be told from what is escaped here. */
export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const named = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character]
    if (named !== undefined) return named
    const code = character.charCodeAt(0).toString(16)
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code.padStart(4, '0')}`
  })
}
