import { constants } from 'node:os'
import { basename, dirname } from 'node:path'
import { CallError } from '../../mounts/syscalls/call_error.ts'
import { DirectoryHandle, lookUpPath } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { MAX_LINKS } from '../../mounts/syscalls/max_links.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { codeOf, LinksOutside } from './errors.ts'
import type { SourceHandle } from './source_handle.ts'

/** Every directory on the way holds a descriptor. */
const MAX_DEPTH = 32

/** The most walks of a way that is replaced meanwhile, as the way over `..data` is. */
const ATTEMPTS = 3

/** The target of a single file's path. */
interface SingleFile {
  /** The directory of the path, opened before the look into it. */
  readonly above: DirectoryHandle
  /** The directory of the file, which may be the same. {@link asDirectory} closes both. */
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

  /** Goes it, each name looked up anew. The file is the only entry of the directory that this returns, and has the name `alias` there. */
  async go(alias: string): Promise<SourceHandle> {
    for (let left = ATTEMPTS; ; left--) {
      const walk: Walk = { opened: [], links: 0 }
      let found: SingleFile | undefined
      try {
        found = await this.#walk(walk)
        this.#hasBegun = true
        return asDirectory(found, alias)
      } catch (error) {
        // A directory that `..data` named may be gone before its open.
        const isPassing = ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error)) && walk.links > 0
        if (!isPassing || left === 1) throw error
      } finally {
        for (const each of walk.opened)
          if (each !== found?.above && each !== found?.parent) await each.close()
      }
    }
  }

  #mayLeave(exit: string): boolean {
    if (!this.#hasBegun) this.#exits.add(exit)
    return this.#exits.has(exit)
  }

  async #walk(walk: Walk): Promise<SingleFile> {
    // The ground, by which path that is known, and the directories below it on the way. Links may lead anywhere beneath it.
    let [ground, known] = [await this.#stepOnto(walk, this.#path), dirname(this.#path)]
    let below: DirectoryHandle[] = []
    let rest = [basename(this.#path)]
    const [above, [first = '']] = [ground, rest]
    const link = { above, parent: above, name: first, stat: await above.lstat(first) }
    for (;;) {
      const [name, ...behind] = rest
      if (name === undefined) throw new CallError(constants.errno.EISDIR, 'open')
      const here = below.at(-1) ?? ground
      let exit: string | undefined
      if (name === '..') {
        if (below.pop() === undefined) exit = rest.join('/')
        else rest = behind
      } else {
        const stat = await here.lstat(name)
        if (stat.isSymbolicLink()) {
          if (++walk.links > MAX_LINKS) throw new CallError(constants.errno.ELOOP, 'open')
          const to = stat.link
          const isIn = (path: string) => to.startsWith(`${path}/`)
          const base = to.startsWith('/') ? [known, await ground.realpath()].find(isIn) : ''
          if (base === undefined) exit = [to, ...behind].join('/')
          // An absolute link that leads beneath the ground begins there.
          else if (base !== '') below = []
          const parts = to.slice(base?.length).split('/')
          rest = [...parts.filter((part) => part !== '' && part !== '.'), ...behind]
        } else {
          if (behind.length === 0) return { above, parent: here, name, stat, outside: undefined }
          if (walk.opened.length > MAX_DEPTH) throw new CallError(constants.errno.ENAMETOOLONG, 'open')
          const held = await here.directory(name)
          walk.opened.push(held)
          below.push(held)
          rest = behind
        }
      }
      if (exit === undefined) continue
      if (!this.#mayLeave(`${known}\0${exit}`)) return { ...link, outside: exit }
      const isAbsolute = exit.startsWith('/')
      ground = await this.#stepOnto(walk, isAbsolute ? exit : `${ground.path}/${exit}`)
      known = isAbsolute ? dirname(exit) : `${known}/${dirname(exit)}`
      below = []
      rest = [basename(exit)]
    }
  }

  /** Opens the directory of a path. Links on the way to it are followed, as on that to any path which is named. */
  async #stepOnto({ opened }: Walk, path: string): Promise<DirectoryHandle> {
    await lookUpPath(this.#calls, path)
    const held = await DirectoryHandle.open(this.#calls, dirname(path))
    opened.push(held)
    return held
  }
}

/** The directories that a walk has opened, and the number of links that it has led over. */
interface Walk {
  readonly opened: DirectoryHandle[]
  links: number
}

/** A single file as a directory that has only this: what is mirrored file by file is mirrored like any other. */
function asDirectory({ above, parent, name, stat, outside }: SingleFile, alias: string): SourceHandle {
  const look = () => parent.lstat(name)
  return {
    revalidates: parent.revalidates,
    opened: stat,
    place: above.opened,
    at: (entry) => (entry === undefined ? above.at() : parent.at(name)),
    names: async () => [Buffer.from(alias)],
    stat: look,
    async lstat() {
      if (outside !== undefined) throw new LinksOutside("the source's directory", outside)
      return await look()
    },
    async directory() {
      throw new CallError(constants.errno.ENOTDIR, 'open')
    },
    file: (_entry, most) => parent.file(name, most),
    hold: () => parent.hold(name),
    async [Symbol.asyncDispose]() {
      await above.close()
      if (parent !== above) await parent.close()
    },
  }
}
