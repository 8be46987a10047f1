/** What the paths held at one moment. */
export interface Contents {
  /** What stands for the content of each key. Names as latin1, so that every name of bytes has one. */
  readonly keys: ReadonlyMap<string, string>
  /** Of all keys and what they hold. */
  readonly digest: string
}

/** What a look has found. */
export interface Reading extends Contents {
  /** Another of each key that has been written to, or has become another. */
  readonly versions: ReadonlyMap<string, string>
  /** The keys that did not hold still while all was read, or may be; all others were there at one moment. */
  readonly moving: ReadonlySet<string>
  /** Absolute paths of the symlinks that lead out of the directory that they are in. */
  readonly outward: readonly string[]
}

/** A file did not hold still while it was read. */
export class Unsettled extends Error {
  override readonly name = 'Unsettled'
}

export async function contentsOf(keys: ReadonlyMap<string, string>): Promise<Contents> {
  // Loaded here: its 5 MiB of memory are not for those who came for the raw events.
  const { createHash } = await import('node:crypto')
  const hash = createHash('sha256')
  // No name holds a NUL, and no digest.
  for (const key of [...keys.keys()].sort()) hash.update(`${key}\0${keys.get(key)}\0`, 'latin1')
  return { keys, digest: hash.digest('hex') }
}

/** The same, but that these keys, and those below them, are what they were before. */
export async function heldAt(
  now: Contents,
  held: ReadonlySet<string>,
  before: Contents | undefined,
): Promise<Contents> {
  if (held.size === 0) return now
  const isHeld = (key: string): boolean =>
    held.has(key) || (key.includes('/') && isHeld(key.slice(0, key.lastIndexOf('/'))))
  const kept = [...(before?.keys ?? [])].filter(([key]) => isHeld(key))
  return await contentsOf(new Map([...[...now.keys].filter(([key]) => !isHeld(key)), ...kept]))
}

/** The keys in which two contents differ. */
export function differingKeys(before: Contents | undefined, after: Contents): string[] {
  const old = before?.keys ?? new Map<string, string>()
  const names = new Set([...old.keys(), ...after.keys.keys()])
  return [...names].filter((name) => old.get(name) !== after.keys.get(name))
}

/** Keys as people know them, in order. */
export function shownKeys(keys: Iterable<string>): string[] {
  return [...new Set(keys)].map((key) => Buffer.from(key, 'latin1').toString()).sort()
}

/**
 * Which of a directory's names are no keys: the AtomicWriter's own. Beside a `..data` that is all that begins with two dots, for keys
 * may not; without one (before the first swap) what it is about to make.
 */
export function isInternal(name: string, hasData: boolean): boolean {
  if (!name.startsWith('..')) return false
  return hasData || name === '..data' || name === '..data_tmp' || /^\.\.\d{4}(_\d\d){5}/.test(name)
}

/** Whether a link leads to where its directory cannot be seen to change: `key` to `..data/key` does not. */
export function leadsOutward(to: string): boolean {
  return to.startsWith('/') || to.split('/').some((part) => part === '..')
}
