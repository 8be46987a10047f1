import { invalidArgument } from '../../errors.ts'
import { isReserved } from '../../volume/layout.ts'
import { bytesOf, type Data } from '../arguments.ts'

/** The content to publish, directory by directory. */
export interface Keys {
  readonly kind: 'directory'
  readonly entries: ReadonlyMap<string, Key | Keys>
}

export interface Key {
  readonly kind: 'file'
  readonly data: Buffer
  readonly mode: number
  /** The group for which the bits of `mode` are meant, if they come from another file. */
  readonly group?: bigint | undefined
}

type Growing = { readonly kind: 'directory'; readonly entries: Map<string, Key | Growing> }

/** The keys and contents that a caller gives, all of one mode; throws a TypeError that names the key which is wrong. */
export function readKeys(files: unknown, mode: number): Keys {
  if (typeof files !== 'object' || files === null || Array.isArray(files) || ArrayBuffer.isView(files))
    throw invalidArgument('files', files, 'an object: the contents by their keys')
  return keysOf(Object.entries(files).map(([key, data]) => ({ key, data, mode })))
}

/** Returns the tree of keys that have a mode each; throws likewise. */
export function keysOf(
  files: Iterable<{ key: string; data: Data; mode: number; group?: bigint | undefined }>,
): Keys {
  const root: Growing = { kind: 'directory', entries: new Map() }
  for (const { key, data, ...rest } of files) {
    const path = components(key)
    const name = path.pop() ?? ''
    let directory = root
    for (const component of path) directory = subdirectory(directory, component, key)
    if (directory.entries.has(name)) throw conflict(key)
    directory.entries.set(name, { kind: 'file', data: bytesOf(`files['${key}']`, data), ...rest })
  }
  return root
}

/**
 * Returns the mode of a directory of keys: whoever has rights on one of its keys may reach that key, and nobody else may. 0755 without
 * keys, as there is nothing to hide.
 */
export function directoryMode(keys: Keys): number {
  if (keys.entries.size === 0) return 0o755
  let bits = 0
  for (const each of keys.entries.values()) bits |= each.kind === 'file' ? each.mode : directoryMode(each)
  return 0o700 | ((bits & 0o070) === 0 ? 0 : 0o050) | ((bits & 0o007) === 0 ? 0 : 0o005)
}

/** Checks AtomicWriter's rules, and that each key can be read back under the given name. */
function components(key: string): string[] {
  const names = key.split('/')
  const isWrong = (name: string) => name === '' || name === '.' || isReserved(name)
  if (names.some(isWrong) || key.includes('\0') || Buffer.from(key).toString() !== key)
    throw invalidArgument('a key of files', key, "a relative path, of names that do not begin with '..'")
  return names
}

function subdirectory(parent: Growing, name: string, key: string): Growing {
  const had = parent.entries.get(name)
  if (had?.kind === 'file') throw conflict(key)
  const directory = had ?? { kind: 'directory', entries: new Map() }
  parent.entries.set(name, directory)
  return directory
}

function conflict(key: string): TypeError {
  return invalidArgument('a key of files', key, 'no directory of another key, nor in one that is a file')
}
