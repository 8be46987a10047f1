import { createReadStream } from 'node:fs'
import { dirname, resolve } from 'node:path'
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
export function givenPaths(paths: readonly string[]) {
  // The first of those that lead to one place.
  const known = new Map(paths.toReversed().map((path) => [resolve(path), path]))

  /** Shortens a path by the innermost watched directory above it. */
  const below = (path: string): string | undefined => {
    for (let above = path; above !== '/'; ) {
      above = dirname(above)
      const given = known.get(above)
      if (given !== undefined) return withSlash(given) + path.slice(withSlash(above).length)
    }
    return undefined
  }
  /** Returns the place of a path, which begins as on the command line; without a kind the path is a root. */
  const place = (path: string, kind?: Kind): Pick<EventRow, 'watched' | 'name'> => {
    const given = known.get(path)
    if (given !== undefined && kind !== 'directory') return { watched: given, name: '' }
    const shown = below(path) ?? (given === undefined ? path : withSlash(given))
    const end = shown.lastIndexOf('/') + 1
    return { watched: shown.slice(0, end), name: shown.slice(end) }
  }
  return {
    place,
    /** Returns the place as one path. */
    shown(path: string, kind: Kind): string {
      const { watched, name } = place(path, kind)
      return watched + name
    },
  }
}

function withSlash(directory: string): string {
  return directory.endsWith('/') ? directory : `${directory}/`
}
