import { readlink, realpath } from 'node:fs/promises'
import { constants } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { MAX_LINKS } from './max_links.ts'
import { asStatxError, errnoOf, statxError } from './statx_error.ts'

/** Where a path leads, and over which links. */
export interface Resolved {
  realPath: string
  /** The directory of each symlink followed, in order: the real one, so its mount is the link's. */
  linkDirectories: string[]
  /** The links themselves, in the same order: where each lies, and what it says. */
  links: Array<{ path: string; to: string }>
  /** What a '..' leaves again, and nothing of what follows is below: only if it is a directory does the path lead on. */
  left: string[]
}

/** What the symlink at `entry` says; undefined if there is none. `path` is the one that is followed. */
export type ReadLink = (entry: string, path: string) => Promise<string | undefined> | string | undefined

/**
 * Links of procfs that the kernel jumps through and does not read: what readlink(2) says of them is a
 * description, valid in the other process's namespace or nowhere ('pipe:[123]').
 */
const MAGIC_LINK = /^\/proc\/\d+\/(task\/\d+\/)?(cwd|exe|root|(fd|map_files|ns)\/[^/]+)$/

/**
 * Resolves a path component by component, as the kernel does, and keeps what realpath(3) does not tell: the
 * links.
 */
export async function followSymlinks(path: string, readLink: ReadLink = linkTarget): Promise<Resolved> {
  // As a rule there are none, and one call says so. What it fails with, the slow way tells as well.
  if (readLink === linkTarget && (await realpath(path).catch(() => undefined)) === path)
    return { realPath: path, linkDirectories: [], links: [], left: [] }
  const { isCircle, ...resolved } = await followAll(path, readLink)
  if (isCircle) throw statxError(constants.errno.ELOOP, path)
  return resolved
}

/** The same, up to where links go round: then each of them is told once, and `realPath` is one of them. */
export async function followUpToCircle(path: string, readLink: ReadLink): Promise<Resolved> {
  return upToCircle(await followAll(path, readLink))
}

/** {@link followUpToCircle} each of these: the way to a directory that they have in common once. */
export async function followTogether(paths: readonly string[], readLink: ReadLink): Promise<Resolved[]> {
  const ways = new Map<string, ReturnType<typeof followAll>>()
  const wayTo = (directory: string) => {
    const way = ways.get(directory) ?? followAll(directory, readLink)
    ways.set(directory, way)
    return way
  }
  const follow = async (path: string) => {
    const way = await wayTo(dirname(path))
    return upToCircle(way.isCircle ? await followAll(path, readLink) : await followAll(path, readLink, way))
  }
  return await Promise.all(paths.map(follow))
}

function upToCircle({ isCircle, ...resolved }: Followed): Resolved {
  if (!isCircle) return resolved
  const links = new Map(resolved.links.map((link) => [link.path, link]))
  return { ...resolved, links: [...links.values()] }
}

interface Followed extends Resolved {
  isCircle: boolean
}

/** @param above where what it lies in leads, if that is known */
async function followAll(path: string, readLink: ReadLink, above?: Resolved): Promise<Followed> {
  const pending = components(above === undefined ? resolve(path) : basename(path))
  const linkDirectories = [...(above?.linkDirectories ?? [])]
  const links = [...(above?.links ?? [])]
  const left = [...(above?.left ?? [])]
  let realPath = above?.realPath ?? '/'
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    // realPath is without links at every step, so '..' may be taken by the letter.
    if (name === '..') {
      const isOnTheWay = links.some((link) => link.path.startsWith(`${realPath}/`))
      if (realPath !== '/' && !isOnTheWay) left.push(realPath)
      realPath = dirname(realPath)
      continue
    }
    const entry = join(realPath, name)
    const target = MAGIC_LINK.test(entry) ? undefined : await readLink(entry, path)
    if (target === undefined) {
      realPath = entry
      continue
    }
    links.push({ path: entry, to: target })
    if (linkDirectories.push(realPath) > MAX_LINKS)
      return { realPath: entry, linkDirectories, links, left, isCircle: true }
    if (target.startsWith('/')) realPath = '/'
    pending.unshift(...components(target))
  }
  return { realPath, linkDirectories, links, left, isCircle: false }
}

function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

/** What readlink(2) says, or `read` in its place. */
export async function linkTarget(
  entry: string,
  path: string,
  read: (entry: string) => Promise<string> = readlink,
): Promise<string | undefined> {
  try {
    return await read(entry)
  } catch (error) {
    // EINVAL: it exists and is none (readlink(2)).
    if (errnoOf(error) === constants.errno.EINVAL) return undefined
    throw asStatxError(error, path)
  }
}
