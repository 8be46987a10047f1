import { codeOf } from '../../mounts/syscalls/call_error.ts'
import { textOf } from '../../name_key.ts'
import { isServerGone } from '../../volume/data_link.ts'

export { Torn } from '../../volume/read_file.ts'
export { codeOf }

/** The source cannot be reached, or its path leads to something else. Nothing may be concluded about its entries. */
export class SourceLost extends Error {
  override readonly name = 'SourceLost'
}

/** The path leads to another directory than the one that was read: names missing in the old one need not be gone. */
export class Replaced extends Error {
  override readonly name = 'Replaced'
}

/** Somebody else has changed the target: the entry at the path, relative to it, is not the mirror's. */
export class Displaced extends Error {
  override readonly name = 'Displaced'
  readonly path: string

  constructor(path: string) {
    super(`${path} is not what was put there`)
    this.path = path
  }
}

/** Bytes of a symlink's text that are told: it may have 4,095, and there may be thousands of them. */
const MOST_TOLD = 200

/** A symlink leads out of where it may. */
export class LinksOutside extends Error {
  override readonly name = 'LinksOutside'

  constructor(where: string, to: string) {
    const text = textOf(to)
    const bytes = Buffer.from(text)
    const told = bytes
      .subarray(0, MOST_TOLD)
      .toString()
      .replace(/\ufffd$/, '')
    super(`links outside ${where}: ${bytes.length > MOST_TOLD ? `${told}...` : text}`)
  }
}

/** Throws, in a `catch`, {@link Displaced} for an entry of the mirror's that is gone or replaced. */
export function orDisplaced(path: string): (error: unknown) => never {
  return (error) => {
    throw ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error)) ? new Displaced(path) : error
  }
}

/** Errors of the process or the system, not of an entry: an entry that could not be looked at for one is neither gone nor somebody else's. */
const SHORTAGES = ['ECANCELED', 'EMFILE', 'ENFILE', 'ENOMEM']

/** Counts, in a `catch`, an entry that cannot be looked at (a neighbour's mount) as missing; but throws if descriptors or memory are short. */
export function orAbsent(error: unknown): undefined {
  if (SHORTAGES.includes(codeOf(error))) throw error
}

/** The sentence of an error without the call and the path in it: 'EACCES: permission denied'. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return codeOf(error) === '' ? error.message : (error.message.split(',')[0] ?? error.message)
}

/** Returns true if an error anywhere speaks for the whole source. */
export function losesSource(error: unknown): boolean {
  return error instanceof SourceLost || isServerGone(error)
}
