import { dirname } from 'node:path'
import { type Backend, type Choice, chooseBackend } from './filesystems.ts'
import { mountOf } from './mount_of.ts'
import type { Mount } from './mountinfo.ts'
import { followSymlinks, type Resolved } from './syscalls/symlinks.ts'

/** The mounts on the way to what a path stands for. */
export interface MountsOnPath {
  realPath: string
  /** The mount of each symlink followed, in order, the same one twice in a row only once. */
  hops: Mount[]
  /** The mount of the real path. */
  mount: Mount
  /** All of them, and those of directories that a '..' leaves again, each once. */
  all: Mount[]
}

/** Follows an existing path. Rejects with InotifyError, syscall 'statx', if it cannot be followed. */
export async function mountsOnPath(
  path: string,
  lookup: (path: string) => Mount,
  follow: (path: string) => Promise<Resolved> = followSymlinks,
): Promise<MountsOnPath> {
  const mount = lookup(path)
  const { realPath, linkDirectories, left } = await follow(path)
  const hops = linkDirectories.map(lookup).filter((hop, i, hops) => i === 0 || !isSame(hops[i - 1], hop))
  const leftOn = left.map((directory) => lookup(dirname(directory)))
  return { realPath, hops, mount, all: distinct([...hops, ...leftOn, mount]) }
}

const BY_NEED: readonly Backend[] = ['inotify', 'inotify+poll', 'poll']

/**
 * The source for a path that crosses these mounts, and why: the most that one of them needs. Whoever can change a link unseen
 * changes unseen what the path means.
 */
export function chooseAmong(mounts: readonly Mount[]): Choice {
  const [first, ...others] = mounts.map(chooseBackend)
  if (first === undefined) throw new Error('a path lies on a mount')
  return others.reduce((a, b) => (BY_NEED.indexOf(a.backend) < BY_NEED.indexOf(b.backend) ? b : a), first)
}

/** The source for an existing path. Rejects as {@link mountsOnPath}. */
export async function chooseForPath(
  path: string,
  lookup: (path: string) => Mount = mountOf,
  follow: (path: string) => Promise<Resolved> = followSymlinks,
): Promise<Choice> {
  return chooseAmong((await mountsOnPath(path, lookup, follow)).all)
}

/** Each once. */
export function distinct(mounts: readonly Mount[]): Mount[] {
  return mounts.filter((mount, i) => mounts.findIndex((each) => isSame(each, mount)) === i)
}

/** By the type too, since several may have the id 0. */
export function isSame(a: Mount | undefined, b: Mount): boolean {
  return a?.id === b.id && a.type === b.type
}
