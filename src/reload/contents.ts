import { createHash } from 'node:crypto'

/** The content of the paths at one moment. */
export interface Contents {
  /** The text that stands for each key's content. Names as latin1, so that every name of bytes has one. */
  readonly keys: ReadonlyMap<string, string>
  /** The digest of all keys and their content. */
  readonly digest: string
}

/** The findings of a look. */
export interface Reading extends Contents {
  /** The version of each key, which differs once a file has been written to, or has become another. */
  readonly versions: ReadonlyMap<string, string>
  /** The keys that did not, or may not, hold still during the reading; all others were there at one moment. */
  readonly moving: ReadonlySet<string>
  /** Absolute paths of the symlinks that lead out of the directory that they are in. */
  readonly outward: readonly string[]
}

export function contentsOf(keys: ReadonlyMap<string, string>): Contents {
  const hash = createHash('sha256')
  // Neither a name nor a digest has a NUL.
  for (const key of [...keys.keys()].sort()) hash.update(`${key}\0${keys.get(key)}\0`, 'latin1')
  return { keys, digest: hash.digest('hex') }
}

/** Returns `now`, but with these keys, and those below them, as they were before. */
export function heldAt(now: Contents, held: ReadonlySet<string>, before: Contents | undefined): Contents {
  if (held.size === 0) return now
  const isHeld = (key: string): boolean =>
    held.has(key) || (key.includes('/') && isHeld(key.slice(0, key.lastIndexOf('/'))))
  const kept = [...(before?.keys ?? [])].filter(([key]) => isHeld(key))
  return contentsOf(new Map([...[...now.keys].filter(([key]) => !isHeld(key)), ...kept]))
}

/** Returns the keys that one of two maps lacks, or has with another value. */
export function differing(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): string[] {
  const keys = new Set([...one.keys(), ...other.keys()])
  return [...keys].filter((key) => one.get(key) !== other.get(key))
}

/** Returns keys as people know them, in order. */
export function shownKeys(keys: Iterable<string>): string[] {
  return [...new Set(keys)].map((key) => Buffer.from(key, 'latin1').toString()).sort()
}

/** Returns true if a link's target can change unseen by its directory: `..data/key` cannot. */
export function leadsOutward(to: string): boolean {
  return to.startsWith('/') || to.split('/').some((part) => part === '..')
}
