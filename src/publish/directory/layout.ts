import { isUtf8 } from 'node:buffer'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { isLaidByAnother } from '../../mounts/syscalls/ownership.ts'
import { DATA, DATA_NEXT, isReserved, isVersionName, linkText, nameBeside } from '../../volume/layout.ts'
import { lstatIfThere } from '../draft/place.ts'
import { failure } from '../failure.ts'

/** The name from which a key's link is renamed if it replaces something. */
export const LINK_NEXT = '..link_tmp'

/** The most names that are read: others who may write to the directory may have made millions. */
const MOST_NAMES = 65_536
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
  if (all.length > MOST_NAMES) {
    const hint = `it has more than ${MOST_NAMES} entries, and each would be looked at: publish into a directory of its own`
    throw failure('EFBIG', 'getdents64', shown, hint)
  }
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
    if (isReserved(name) && name !== DATA && !isNext) continue
    const stat = await lstatIfThere(directory, name)
    if (stat === undefined) continue
    if (isLaidByAnother(stat, above)) others.add(name)
    else if (isNext) next.push(name)
    else if (name === DATA) {
      if (!stat.isSymbolicLink()) return undefined
      hasData = true
      const beside = nameBeside(stat.link)
      // Only a version that lies in this very directory is ours to remove one day.
      if (beside !== undefined && versions.includes(beside)) current = beside
    } else if (stat.isSymbolicLink() && stat.link === linkText(name)) links.add(name)
  }
  const version = current === '' ? undefined : await lstatIfThere(directory, current)
  if (version === undefined) current = ''
  else if (isLaidByAnother(version, above)) others.add(current)
  return { current, hasData, versions, next, links, others }
}
