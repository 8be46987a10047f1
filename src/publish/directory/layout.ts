import { isUtf8 } from 'node:buffer'
import { randomInt } from 'node:crypto'
import type { InotifyError } from '../../errors.ts'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { isLaidByAnother } from '../../mounts/syscalls/ownership.ts'
import { failure } from '../failure.ts'

/** The symlink by which all keys are reached, so that one rename swaps them at once. */
export const DATA = '..data'
/** The name from which `..data` is renamed. */
export const DATA_NEXT = '..data_tmp'
/** The name from which a key's link is renamed if it replaces something. */
export const LINK_NEXT = '..link_tmp'

/** The most names that are read: others who may write to the directory may have made millions. */
const MOST_NAMES = 65_536
/** Go's MkdirTemp ends it with digits, mkdtemp(3) with letters too. */
const VERSION = /^\.\.\d{4}(_\d{2}){5}\.[0-9A-Za-z]+$/

/** The name of a new version directory, as AtomicWriter's: UTC, and digits against a second one in the same second. */
export function versionName(now = new Date()): string {
  const digits = now.toISOString().slice(0, 19).replace(/[-T:]/g, '_')
  return `..${digits}.${randomInt(1_000_000_000, 2 ** 32)}`
}

/** Returns true for the name of a version directory. */
export function isVersionName(name: string): boolean {
  return VERSION.test(name)
}

/** Returns the text of the link of a key, or of the directory that its path begins with. */
export function linkText(name: string): string {
  return `${DATA}/${name}`
}

/** The names of a directory that belong to the layout. */
export interface Layout {
  /** The version directory behind `..data`; '' if it leads to none here. */
  readonly current: string
  /** True: the directory has a `..data`. */
  readonly hasData: boolean
  /** The version directories, the current one among them. */
  readonly versions: readonly string[]
  /** The links that a killed call had not renamed yet. */
  readonly next: readonly string[]
  /** The user links. */
  readonly links: ReadonlySet<string>
  /** The names that another user has laid in a sticky directory, and can exchange at any time. */
  readonly others: ReadonlySet<string>
}

/** Reads the layout of a directory: undefined if `..data` is something else than a symlink. */
export async function readLayout(directory: DirectoryHandle, shown: string): Promise<Layout | undefined> {
  const above = await directory.stat()
  const all = await directory.names(MOST_NAMES + 1)
  if (all.length > MOST_NAMES) throw tooManyNames(shown)
  // A name that is no UTF-8 belongs to no key and not to the layout.
  const names = all.filter((name) => isUtf8(name)).map(String)
  const links = new Set<string>()
  const others = new Set<string>()
  const versions = names.filter(isVersionName)
  const next: string[] = []
  let current = ''
  let hasData = false
  for (const name of names) {
    const isNext = name === DATA_NEXT || name === LINK_NEXT
    if (name.startsWith('..') && name !== DATA && !isNext) continue
    const stat = await lookAt(directory, name)
    if (stat === undefined) continue
    if (isLaidByAnother(stat, above)) others.add(name)
    else if (isNext) next.push(name)
    else if (name === DATA) {
      if (!stat.isSymbolicLink()) return undefined
      hasData = true
      // Another tool, or a hand, may have written the link with './' or a slash at the end.
      const link = stat.link.replace(/^(\.\/+)+/, '').replace(/\/+$/, '')
      // Only a version that lies in this very directory is ours to remove one day.
      if (versions.includes(link)) current = link
    } else if (stat.isSymbolicLink() && stat.link === linkText(name)) links.add(name)
  }
  const version = current === '' ? undefined : await lookAt(directory, current)
  if (version === undefined) current = ''
  else if (isLaidByAnother(version, above)) others.add(current)
  return { current, hasData, versions, next, links, others }
}

/** Returns undefined for an entry that has gone since the listing: other programs in the directory take no lock of ours. */
async function lookAt(directory: DirectoryHandle, name: string): Promise<FileStat | undefined> {
  try {
    return await directory.lstat(name)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function tooManyNames(shown: string): InotifyError {
  const hint = `it has more than ${MOST_NAMES} entries, and each would be looked at: publish into a directory of its own`
  return failure('EFBIG', 'getdents64', shown, hint)
}
