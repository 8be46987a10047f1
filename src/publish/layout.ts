import { randomInt } from 'node:crypto'
import type { HeldDirectory } from '../mounts/held.ts'

/** The symlink by which all keys are reached, and so are swapped at once. */
export const DATA = '..data'
/** What it is renamed from. */
export const DATA_NEXT = '..data_tmp'
/** What a key's link is renamed from where it replaces something. */
export const LINK_NEXT = '..link_tmp'

const VERSION = /^\.\.\d{4}(_\d{2}){5}\.\d+$/

/** The name of a new version directory, as AtomicWriter's: UTC, and digits against a second one in the same second. */
export function versionName(now = new Date()): string {
  const digits = now.toISOString().slice(0, 19).replace(/[-T:]/g, '_')
  return `..${digits}.${randomInt(1_000_000_000, 2 ** 32)}`
}

/** Whether a name is that of a version directory. */
export function isVersionName(name: string): boolean {
  return VERSION.test(name)
}

/** What the link of a key, or of the directory that its path begins with, says. */
export function linkText(name: string): string {
  return `${DATA}/${name}`
}

/** The names of a directory that have to do with the layout. */
export interface Layout {
  /** The directory behind `..data`; '' if it leads to none here. */
  readonly current: string
  /** Whether there is a `..data`. */
  readonly hasData: boolean
  /** Version directories, the current one among them. */
  readonly versions: readonly string[]
  /** What a call that was killed had not renamed yet. */
  readonly next: readonly string[]
  /** The user links. */
  readonly links: ReadonlySet<string>
}

/** Reads what of the layout is in a directory: undefined if `..data` is something else than a symlink. */
export async function readLayout(directory: HeldDirectory): Promise<Layout | undefined> {
  const links = new Set<string>()
  const versions: string[] = []
  const next: string[] = []
  let current = ''
  let hasData = false
  for (const name of (await directory.names()).map(String)) {
    if (isVersionName(name)) versions.push(name)
    else if (name === DATA_NEXT || name === LINK_NEXT) next.push(name)
    else if (name === DATA) {
      const stat = await directory.lstat(name)
      if (!stat.isSymbolicLink()) return undefined
      hasData = true
      // As another tool, or a hand, may have written it.
      const link = stat.link.replace(/^(\.\/+)+/, '').replace(/\/+$/, '')
      // Only what lies in this very directory is ours to remove one day.
      if (link.startsWith('..') && link !== '..' && !link.includes('/')) current = link
    } else if (!name.startsWith('..')) {
      const stat = await directory.lstat(name)
      if (stat.isSymbolicLink() && stat.link === linkText(name)) links.add(name)
    }
  }
  if (current !== '' && !versions.includes(current)) versions.push(current)
  return { current, hasData, versions, next, links }
}
