import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { MAX_LINKS } from '../../mounts/syscalls/max_links.ts'
import { textOf } from '../../name_key.ts'
import type { SourceTree } from '../plan/tree.ts'
import { codeOf, losesSource, Torn } from './errors.ts'
import type { SourceHandle } from './source_handle.ts'

const DATA = Buffer.from('..data')

/** The way of `..data`. */
export interface DataLink {
  /** The name beside `..data` at which the way ends; undefined if there is no `..data`, or it leads elsewhere. */
  readonly data: string | undefined
  /** The names on the way, `data` the last. */
  readonly way: readonly string[]
  /** The directory at the end, if it can be opened. */
  readonly held: DirectoryHandle | undefined
}

/**
 * Returns true for `..data` in a listing: overlay remembers for ever that a name it was asked for was missing, and would not show a
 * `..data` that comes later in a lower directory.
 */
export function isData(name: Buffer): boolean {
  return name.equals(DATA)
}

/** Stats `..data`; undefined if there is none. Throws {@link Torn} if it was replaced meanwhile, and the server says so. */
export async function lookAtData(root: SourceHandle): Promise<FileStat | undefined> {
  try {
    return await root.lstat('..data')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) === 'ESTALE') throw new Torn('..data was replaced while it was looked at')
    throw error
  }
}

/** The entry beside `..data` that a link there leads to; undefined if it is no link, or leads elsewhere. */
export function besideData(link: FileStat | undefined): string | undefined {
  const name = (link?.link ?? '').replace(/^(\.\/+)+/, '').replace(/\/+$/, '')
  return name.includes('/') || ['', '.', '..'].includes(name) ? undefined : name
}

/** Follows `..data` from entry to entry, and opens the directory at the end. */
export async function followData(root: SourceHandle, looked: FileStat | undefined): Promise<DataLink> {
  const way: string[] = []
  let data = besideData(looked)
  while (data !== undefined) {
    way.push(data)
    try {
      return { data, way, held: await root.directory(data) }
    } catch (error) {
      const isLink = ['ELOOP', 'ENOTDIR'].includes(codeOf(error)) && way.length < MAX_LINKS
      const link = isLink ? await whileThere(root.lstat(data)) : undefined
      if (link?.isSymbolicLink() !== true) return { data, way, held: undefined }
      data = besideData(link)
    }
  }
  return { data, way, held: undefined }
}

/** Returns why there is no generation behind a `..data` that leads to `data`; undefined if there is one. */
export function whyNoGeneration({ entries }: SourceTree, data: string): string | undefined {
  const generation = entries.get(data)
  for (const node of [entries.get('..data'), generation]) if (node?.kind === 'unreadable') return node.reason
  if (generation === undefined) return `leads to ${textOf(data)}, which is not there`
  return generation.kind === 'directory' ? undefined : `leads to ${textOf(data)}, which is no directory`
}

/** Awaits a stat; undefined if the entry is gone. */
export async function whileThere(looking: Promise<FileStat>): Promise<FileStat | undefined> {
  try {
    return await looking
  } catch (error) {
    if (losesSource(error)) throw error
    return undefined
  }
}
