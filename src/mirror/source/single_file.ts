import { constants } from 'node:os'
import { basename, dirname } from 'node:path'
import { CallError } from '../../mounts/syscalls/call_error.ts'
import { DirectoryHandle, lookUpPath } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { MAX_LINKS } from '../../mounts/syscalls/max_links.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { codeOf } from './errors.ts'

/** Every directory on the way holds a descriptor. */
const MAX_DEPTH = 32

/** The most walks of a way that is replaced meanwhile, as the way over `..data` is. */
const ATTEMPTS = 3

/** The target of a single file's path. */
export interface SingleFile {
  /** The directory of the path, opened before the look into it. */
  readonly above: DirectoryHandle
  /** The directory of the file, which may be the same. The caller closes both. */
  readonly parent: DirectoryHandle
  readonly name: string
  readonly stat: FileStat
  /** The path at which the way would leave its ground; `stat` is that of the link then. undefined for a way that was followed to its end. */
  readonly outside: string | undefined
}

/**
 * The way to a single file. Whoever may write the directory that its name is in may put a symlink there at any time, to what the mirror may
 * read and the target's readers may not: links are followed as long as they stay beneath that directory, as the keys of a ConfigMap do. One
 * that led elsewhere when the mirror began (`/etc/localtime`) was there for the user who named it to see, and is followed as well,
 * to the very path that it led to, and there links may lead on beneath the directory of that one.
 */
export class WayToFile {
  readonly #calls: SyscallThread
  readonly #path: string
  // Ways out of a directory that existed at the beginning.
  readonly #exits = new Set<string>()
  #hasBegun = false

  constructor(calls: SyscallThread, path: string) {
    this.#calls = calls
    this.#path = path
  }

  /** Goes it, each name looked up anew. */
  async go(): Promise<SingleFile> {
    for (let left = ATTEMPTS; ; left--) {
      const walk: Walk = { opened: [], links: 0 }
      try {
        const found = await this.#walk(walk)
        this.#hasBegun = true
        for (const each of walk.opened) if (each !== found.above && each !== found.parent) await each.close()
        return found
      } catch (error) {
        for (const each of walk.opened) await each.close()
        // A directory that `..data` named may be gone before its open.
        const isPassing = ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error)) && walk.links > 0
        if (!isPassing || left === 1) throw error
      }
    }
  }

  #mayLeave(exit: string): boolean {
    if (!this.#hasBegun) this.#exits.add(exit)
    return this.#exits.has(exit)
  }

  async #walk(walk: Walk): Promise<SingleFile> {
    let name = basename(this.#path)
    let ground = await this.#stepOnto(walk, this.#path, dirname(this.#path))
    const above = ground.held
    const link = { above, parent: above, name, stat: await above.lstat(name) }
    for (;;) {
      const end = await goBeneath(walk, ground, [name])
      if (typeof end !== 'string') return { ...end, above, outside: undefined }
      if (!this.#mayLeave(`${ground.path}\0${end}`)) return { ...link, outside: end }
      const isAbsolute = end.startsWith('/')
      name = basename(end)
      ground = await this.#stepOnto(
        walk,
        isAbsolute ? end : `${ground.held.path}/${end}`,
        isAbsolute ? dirname(end) : `${ground.path}/${dirname(end)}`,
      )
    }
  }

  /** The directory of a path. Links on the way to it are followed, as on that to any path which is named. */
  async #stepOnto({ opened }: Walk, path: string, known: string): Promise<Ground> {
    await lookUpPath(this.#calls, path)
    const held = await DirectoryHandle.open(this.#calls, dirname(path))
    opened.push(held)
    return { path: known, held, below: [] }
  }
}

/** The directories that a walk has opened, and the number of links that it has led over. */
interface Walk {
  readonly opened: DirectoryHandle[]
  links: number
}

/** A directory, and those below it on the way. Links may lead anywhere beneath it. */
interface Ground {
  /** By which it is known. */
  readonly path: string
  readonly held: DirectoryHandle
  below: DirectoryHandle[]
}

/** Follows names to their target; or returns the path by which they leave the ground. */
async function goBeneath(
  walk: Walk,
  ground: Ground,
  names: readonly string[],
): Promise<Pick<SingleFile, 'parent' | 'name' | 'stat'> | string> {
  let rest = names
  for (;;) {
    const [name, ...behind] = rest
    if (name === undefined) throw new CallError(constants.errno.EISDIR, 'open')
    if (name === '..') {
      if (ground.below.pop() === undefined) return rest.join('/')
      rest = behind
      continue
    }
    const here = ground.below.at(-1) ?? ground.held
    const stat = await here.lstat(name)
    if (stat.isSymbolicLink()) {
      if (++walk.links > MAX_LINKS) throw new CallError(constants.errno.ELOOP, 'open')
      const to = await beneath(ground, stat.link)
      if (to === undefined) return [stat.link, ...behind].join('/')
      rest = [...to.split('/').filter((part) => part !== '' && part !== '.'), ...behind]
    } else if (behind.length === 0) {
      return { parent: here, name, stat }
    } else {
      if (walk.opened.length > MAX_DEPTH) throw new CallError(constants.errno.ENAMETOOLONG, 'open')
      const held = await here.directory(name)
      walk.opened.push(held)
      ground.below.push(held)
      rest = behind
    }
  }
}

/** A link's text from where it is, or from the ground if it is absolute and leads there; undefined if it leads elsewhere. */
async function beneath(ground: Ground, to: string): Promise<string | undefined> {
  if (!to.startsWith('/')) return to
  for (const known of [ground.path, await ground.held.realpath()]) {
    if (!to.startsWith(`${known}/`)) continue
    ground.below = []
    return to.slice(known.length)
  }
  return undefined
}
