import { constants } from 'node:os'
import { getSystemErrorMap } from 'node:util'

/** What an {@link InotifyError} is made of. */
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
 * A failure of a system call, or of a function of this library that stands for one, in the shape of Node's own system
 * errors: `code` ('ENOSPC'), `errno` (negative, as Node has it), `syscall`, `path`; and a `hint` that says what to do.
 */
export class InotifyError extends Error {
  override readonly name = 'InotifyError'
  readonly code: string
  readonly errno: number
  readonly syscall: string
  declare readonly path?: string
  readonly hint: string

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

/** The name of an errno and what it means. libuv's table has not all of them, ESTALE of a network file system for one. */
export function describeErrno(errno: number): [code: string, meaning: string] {
  systemErrors ??= getSystemErrorMap()
  const known = systemErrors.get(-errno)
  if (known !== undefined) return known
  const code = Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `E${errno}`
  return [code, code === 'ESTALE' ? 'stale file handle' : 'unknown error']
}

/** The addon, or a program that comes with it, could not be loaded: says what was tried, on which platform, and what mends it. */
export class AddonLoadError extends Error {
  override readonly name = 'AddonLoadError'
  readonly code = 'ERR_INOTIFY_BRIDGE_ADDON'
  readonly tried: readonly string[]
  readonly hint: string

  constructor(what: string, platform: string, tried: readonly string[], hint: string, cause: unknown) {
    const paths = tried.map((path) => `\n  ${path}`).join('')
    super(
      `inotify-bridge has no ${what} for ${platform}${paths === '' ? '.' : `; tried:${paths}`}\n${hint}`,
      { cause },
    )
    this.tried = tried
    this.hint = hint
  }
}

/** A TypeError in Node's shape for an argument or option of the wrong type or value. */
export function invalidArgument(name: string, value: unknown, expected: string): TypeError {
  const shown = typeof value === 'string' ? `'${printable(value)}'` : String(value)
  return Object.assign(new TypeError(`${name} must be ${expected}; got ${shown}`), {
    code: 'ERR_INVALID_ARG_VALUE',
  })
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
