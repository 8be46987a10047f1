import { readlink, realpath } from 'node:fs/promises'
import { constants } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { MAX_LINKS } from './max_links.ts'
import { asStatxError, errnoOf, statxError } from './statx_error.ts'

/** The target of a path, and the links on the way. */
export interface Resolved {
  realPath: string
  /** The directory of each symlink followed, in order: the real one, so its mount is the link's. */
  linkDirectories: string[]
  /** The path and the text of each link, in the same order. */
  links: Array<{ path: string; to: string }>
  /** The directories that a '..' leaves again, with nothing of the further way below. The path leads on only if they are directories. */
  left: string[]
}

/** Returns the text of the symlink at `entry`; undefined if there is none. `path` is the path that is followed. */
export type ReadLink = (entry: string, path: string) => Promise<string | undefined> | string | undefined

/**
 * The links of procfs that the kernel jumps through without reading them. readlink(2) gives a description of them, valid in the other
 * process's namespace or nowhere ('pipe:[123]').
 */
const MAGIC_LINK = /^\/proc\/\d+\/(task\/\d+\/)?(cwd|exe|root|(fd|map_files|ns)\/[^/]+)$/

/** Resolves a path component by component, as the kernel does, and keeps the links, which realpath(3) does not tell. */
export async function followSymlinks(path: string, readLink: ReadLink = linkTarget): Promise<Resolved> {
  // Most paths have no links, and one call tells so. The slow way below meets the same errors as the call.
  if (readLink === linkTarget && (await realpath(path).catch(() => undefined)) === path)
    return { realPath: path, linkDirectories: [], links: [], left: [] }
  const { isCircle, ...resolved } = await followAll(path, readLink)
  if (isCircle) throw statxError(constants.errno.ELOOP, path)
  return resolved
}

/** Resolves a path up to where its links go round. Then each link of the circle is told once, and `realPath` is one of them. */
export async function followUpToCircle(path: string, readLink: ReadLink): Promise<Resolved> {
  return upToCircle(await followAll(path, readLink))
}

/** {@link followUpToCircle} for each path. Follows the way to a common directory once. */
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

/** @param above the target of the path's directory, if known */
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

/** Returns readlink(2)'s text, or that of `read` in its place. */
export async function linkTarget(
  entry: string,
  path: string,
  read: (entry: string) => Promise<string> = readlink,
): Promise<string | undefined> {
  try {
    return await read(entry)
  } catch (error) {
    // EINVAL: the entry exists and is no symlink (readlink(2)).
    if (errnoOf(error) === constants.errno.EINVAL) return undefined
    throw asStatxError(error, path)
  }
}
