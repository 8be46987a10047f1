import { codeOf } from '../mounts/syscalls/call_error.ts'
import type { DirectoryHandle } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { MAX_LINKS } from '../mounts/syscalls/max_links.ts'
import type { StatKey } from '../mounts/syscalls/stat_watch.ts'
import { textOf } from '../name_key.ts'
import { DATA, nameBeside } from './layout.ts'
import { Torn } from './read_file.ts'

/** The directory of a volume, held open. */
export type Volume = Pick<DirectoryHandle, 'lstat' | 'directory' | 'names'>

/** The way of `..data`. */
export interface DataLink {
  /** The name beside `..data` at which the way ends; undefined if there is no `..data`, or it leads elsewhere. */
  readonly data: string | undefined
  /** The names on the way, `data` the last. */
  readonly way: readonly string[]
  /** The directory at the end, if it can be opened. */
  readonly held: DirectoryHandle | undefined
}

const BYTES = Buffer.from(DATA)

/**
 * Returns true if `..data` is among the names of a directory. Names are listed first: overlay remembers for ever that a name it was asked
 * for was missing, and would not show a `..data` that comes later in a lower directory.
 */
export function hasData(names: readonly Buffer[]): boolean {
  return names.some((name) => name.equals(BYTES))
}

/** Stats `..data`; undefined if there is none. Throws {@link Torn} if it was replaced meanwhile, and the server says so. */
export async function statData(volume: Volume): Promise<FileStat | undefined> {
  try {
    return await volume.lstat(DATA)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) === 'ESTALE') throw new Torn('..data was replaced while it was looked at')
    throw error
  }
}

/** Follows `..data` from entry to entry, and opens the directory at the end. */
export async function followData(volume: Volume, stat: FileStat | undefined): Promise<DataLink> {
  const way: string[] = []
  let data = nameBeside(stat?.link ?? '')
  while (data !== undefined) {
    way.push(data)
    try {
      return { data, way, held: await volume.directory(data) }
    } catch (error) {
      const isLink = ['ELOOP', 'ENOTDIR'].includes(codeOf(error)) && way.length < MAX_LINKS
      const link = isLink ? await whileThere(volume.lstat(data)) : undefined
      if (link?.isSymbolicLink() !== true) return { data, way, held: undefined }
      data = nameBeside(link.link)
    }
  }
  return { data, way, held: undefined }
}

/**
 * Looks again, after all has been read. Returns {@link Torn} if the way of `..data` has changed, or another directory has taken the place
 * of the one at its end: a swap came between.
 *
 * @param read the key of the directory when it was read; undefined if there was none
 * @param most the most names of the volume that are read
 */
export async function tornSince(
  volume: Volume,
  { data, way, held }: DataLink,
  read: StatKey | undefined,
  most: number,
): Promise<Torn | undefined> {
  const find = async () => (hasData(await volume.names(most)) ? await statData(volume) : undefined)
  const [first, rest, heldStat] = await Promise.all([
    way.length === 0 ? find() : statData(volume),
    Promise.all(way.map((name) => whileThere(volume.lstat(name)))),
    held && whileThere(held.stat()),
  ])
  const leads = [first, ...rest].map((stat) => nameBeside(stat?.link ?? ''))
  for (const [index, name] of (way.length === 0 ? [undefined] : way).entries())
    if (leads[index] !== name)
      return new Torn(`..data led to ${shown(name)}, and then to ${shown(leads[index])}`)
  if (data === undefined || read === undefined) return undefined
  if (rest.at(-1)?.ino !== read.ino) return new Torn(`${textOf(data)} was replaced`)
  // FUSE does not know a directory any more that was removed, and does not tell of its links.
  if (held !== undefined && (heldStat === undefined || wasRemoved(read, heldStat)))
    return new Torn(`${textOf(data)} was removed`)
  return undefined
}

/**
 * virtiofs.md: a directory removed on the host reads as an empty one, without an error; only nlink tells. It must have been
 * above 0 before (or be so in the directory above), since some FUSE servers do not count links at all.
 */
export function wasRemoved(before: StatKey, now: FileStat): boolean {
  return before.nlink > 0n && now.nlink === 0n
}

/** Awaits a stat; undefined if the entry is gone. */
export async function whileThere(looking: Promise<FileStat>): Promise<FileStat | undefined> {
  try {
    return await looking
  } catch (error) {
    if (isServerGone(error)) throw error
    return undefined
  }
}

/**
 * Returns true if the server of a FUSE mount is gone, or went (ECONNABORTED) with this request before it. ESTALE and EIO do not say so;
 * a single replaced or damaged file gives them as well.
 */
export function isServerGone(error: unknown): boolean {
  return ['ENOTCONN', 'ECONNABORTED'].includes(codeOf(error))
}

/** Returns a name for messages; there may be none. */
function shown(name: string | undefined): string {
  return name === undefined ? 'nothing beside it' : textOf(name)
}
