import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { InotifyError } from '../../errors.ts'
import type { Kind } from '../../watch/report/change.ts'
import type { EventRow } from './event_format.ts'

/** Returns the lines of a file ('-': stdin). Rejects with InotifyError if the file cannot be read, and with the signal's reason when that aborts: a user may be typing. */
export async function pathsIn(file: string, signal: AbortSignal): Promise<string[]> {
  try {
    const stream = file === '-' ? process.stdin : createReadStream(file)
    return (await text(addAbortSignal(signal, stream))).split('\n').filter((line) => line !== '')
  } catch (error) {
    signal.throwIfAborted()
    const { errno, syscall = 'read' } = error as NodeJS.ErrnoException
    if (errno === undefined) throw error
    throw new InotifyError({ errno: -errno, syscall, path: file })
  }
}

/** Turns the absolute paths of changes into the paths that the command line began with. */
export class GivenPaths {
  readonly #given = new Map<string, string>()

  constructor(paths: readonly string[]) {
    for (const path of paths) if (!this.#given.has(resolve(path))) this.#given.set(resolve(path), path)
  }

  /** Returns the place of a path, which begins as on the command line; without a kind the path is a root. */
  place(path: string, kind?: Kind): Pick<EventRow, 'watched' | 'name'> {
    const given = this.#given.get(path)
    if (given !== undefined && kind !== 'directory') return { watched: given, name: '' }
    const shown = this.#below(path) ?? (given === undefined ? path : withSlash(given))
    const end = shown.lastIndexOf('/') + 1
    return { watched: shown.slice(0, end), name: shown.slice(end) }
  }

  /** Returns the place as one path. */
  shown(path: string, kind: Kind): string {
    const { watched, name } = this.place(path, kind)
    return watched + name
  }

  /** Shortens a path by the innermost watched directory above it. */
  #below(path: string): string | undefined {
    for (let end = path.lastIndexOf('/'); end >= 0; end = path.lastIndexOf('/', end - 1)) {
      const given = this.#given.get(path.slice(0, end) || '/')
      if (given !== undefined) return withSlash(given) + path.slice(end + 1)
      if (end === 0) break
    }
    return undefined
  }
}

function withSlash(directory: string): string {
  return directory.endsWith('/') ? directory : `${directory}/`
}
