import { isUtf8 } from 'node:buffer'
import { basename, join } from 'node:path'
import { InotifyError } from '../errors.ts'
import { typeByMagic } from '../mounts/magic.ts'
import { requireProc } from '../mounts/proc.ts'
import { CallError } from '../mounts/syscalls/call_error.ts'
import { atOnce } from '../mounts/syscalls/concurrency.ts'
import { DirectoryHandle } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { type ResolvedPath, resolvePath } from '../mounts/syscalls/resolve_path.ts'
import type { SyscallThread } from '../mounts/syscalls/syscall_thread.ts'
import { keyOf, pathOf } from '../name_key.ts'
import { contentsOf, isInternal, leadsOutward, type Reading, Unsettled } from './contents.ts'
import { digestOf, versionOf } from './file_digest.ts'

/** Each level holds a descriptor while what is below it is read. */
const MAX_DEPTH = 32
const MAX_ENTRIES = 65_536
/** Of all keys, and the paths of links that lead out: whoever may write a directory makes one of 8 KB with each entry, where links lead from one directory to the next. */
const MAX_TEXT = 16 * 1024 * 1024
/** Of all files: 1 TB of holes, made by one call, would be read for an hour while no change is acted upon. */
const MAX_BYTES = 256 * 1024 * 1024
/**
 * Their files say another size than they have, so they never hold still; to open or read some does something, or waits for an event:
 * /proc/kmsg, trace_pipe. Whoever may lay a symlink would have this process, perhaps root's, do it.
 */
const OF_THE_KERNEL: ReadonlySet<string | undefined> = new Set(['proc', 'sysfs', 'debugfs', 'tracefs'])
/** How many files are looked at at once. Each may hold 256 KiB. */
const AT_ONCE = 64
/** How often what changes while it is read is read again at once. */
const ATTEMPTS = 5

/** A key: the version that was looked at, '' where it did not hold still even for that, and what stands for its content. */
interface Found {
  readonly version: string
  readonly content: string
}

/** A directory while it is read. */
interface Place {
  readonly held: DirectoryHandle
  /** By which people know it. */
  readonly path: string
  /** Of its keys, latin1. */
  readonly prefix: string
  /** The directories that lead to it, itself included. */
  readonly above: ReadonlySet<string>
}

/** Reads what the paths hold: whole, and of one moment. Nothing that is no regular file is ever opened for reading. */
export class ContentReader {
  readonly #calls: SyscallThread
  readonly #paths: readonly string[]
  // The mount that each was on when it last had something to show.
  readonly #mounts = new Map<string, bigint>()

  constructor(calls: SyscallThread, paths: readonly string[]) {
    this.#calls = calls
    this.#paths = paths
  }

  /**
   * Reads once more at once, a few times, if anything else moves meanwhile than the keys in `restless`.
   *
   * @throws {InotifyError} a path, or something below it, is not there or cannot be read
   */
  async read(restless: ReadonlySet<string> = new Set()): Promise<Reading> {
    requireProc()
    for (let attempt = 1; ; attempt++) {
      const reading = await this.#readOnce()
      if (attempt === ATTEMPTS || [...reading.moving].every((key) => restless.has(key))) return reading
    }
  }

  async #readOnce(): Promise<Reading> {
    const { found, outward } = await this.#walk(true)
    // Whatever changed meanwhile, a swap of `..data` between two keys for one, shows in what is there now.
    const now = (await this.#walk(false)).found
    const versionOf = (key: string) => found.get(key)?.version || undefined
    const all = new Set([...found.keys(), ...now.keys()])
    const moving = [...all].filter(
      (key) => versionOf(key) === undefined || versionOf(key) !== now.get(key)?.version,
    )
    const contents = await contentsOf(new Map([...found].map(([key, { content }]) => [key, content])))
    const versions = new Map([...now].map(([key, { version }]) => [key, version]))
    return { ...contents, versions, moving: new Set(moving), outward }
  }

  async #walk(reads: boolean): Promise<Walk> {
    const walk = new Walk(this.#calls, reads, this.#paths[0] ?? '')
    for (const path of this.#paths) {
      // Where there are several, two may have a key of one name.
      const named = this.#paths.length === 1 ? undefined : path
      try {
        await this.#root(walk, path, named)
      } catch (error) {
        throw error instanceof CallError ? readError(error, path) : error
      }
    }
    return walk
  }

  async #root(walk: Walk, path: string, named: string | undefined): Promise<void> {
    const reached = await resolvePath(this.#calls, path)
    await using parent = reached.parent
    const { name, stat } = reached
    if (stat.isFile()) return await walk.file(parent, name, stat, latin1(named ?? basename(path)), path)
    if (!stat.isDirectory()) {
      const hint = 'it is neither a file nor a directory'
      throw new InotifyError({ errno: 'EINVAL', syscall: 'read', path, hint })
    }
    await using held = await DirectoryHandle.open(this.#calls, `${parent.path}/${name}`)
    await this.#requireMount(held, path)
    await walk.directory({
      held,
      path,
      prefix: named === undefined ? '' : `${latin1(named)}/`,
      above: new Set(),
    })
  }

  /** Once a mount is gone the empty directory below it comes to light: that is no content. */
  async #requireMount(held: DirectoryHandle, path: string): Promise<void> {
    const { mountOrDevice: mount } = held.opened
    const isEmpty = (await held.names(1)).length === 0
    const before = this.#mounts.get(path)
    if (isEmpty && before !== undefined && before !== mount) {
      const hint = 'its mount is gone, and an empty directory is left'
      throw new InotifyError({ errno: 'ENOENT', syscall: 'read', path, hint })
    }
    if (!isEmpty) this.#mounts.set(path, mount)
  }
}

/** One look at everything. */
class Walk {
  readonly found = new Map<string, Found>()
  readonly outward: string[] = []
  readonly #calls: SyscallThread
  readonly #reads: boolean
  readonly #root: string
  // Devices of which a file may be read.
  readonly #readable = new Set<bigint>()
  #entries = 0
  #text = 0
  #bytes = 0

  /**
   * @param reads whether the content is read, too
   * @param root one of the paths, for what is too much altogether
   */
  constructor(calls: SyscallThread, reads: boolean, root: string) {
    this.#calls = calls
    this.#reads = reads
    this.#root = root
  }

  async directory(place: Place): Promise<void> {
    const { held, path } = place
    const here = identityOf(held.opened)
    if (place.above.has(here)) return
    if (place.above.size === MAX_DEPTH) {
      throw new InotifyError({
        errno: 'E2BIG',
        syscall: 'read',
        path,
        hint: `it lies more than ${MAX_DEPTH} directories deep`,
      })
    }
    const above = new Set([...place.above, here])
    const names = await held.names(MAX_ENTRIES + 1)
    const hasData = names.some((name) => name.toString() === '..data')
    const keys = names.filter((name) => !isInternal(name.toString(), hasData))
    this.#entries += keys.length
    if (this.#entries > MAX_ENTRIES) {
      const hint = `more than ${MAX_ENTRIES} entries: name the files, or a directory with fewer`
      throw new InotifyError({ errno: 'E2BIG', syscall: 'read', path, hint })
    }
    const others: Array<() => Promise<void>> = []
    const inside = { ...place, above }
    const look = async (name: Buffer) => {
      const other = await this.#entry(inside, name)
      if (other !== undefined) others.push(other)
    }
    await atOnce(keys.sort(Buffer.compare), look, AT_ONCE)
    // Each holds a descriptor.
    for (const other of others) await other()
  }

  /** @param shown the path by which people know it */
  async file(
    parent: DirectoryHandle,
    name: string | Buffer,
    stat: FileStat,
    key: string,
    shown: string,
  ): Promise<void> {
    if (!this.#reads) return this.#add(key, versionOf(stat), '')
    await this.#met(key, shown, async () => {
      await this.#requireReadable(parent, name, stat, shown)
      const { version, digest } = await digestOf(parent, name, stat.size, (bytes) =>
        this.#takeBytes(bytes, shown),
      )
      this.#add(key, version, digest)
    })
  }

  /** Takes in a file; what is no file is left to the function that is returned. */
  async #entry(place: Place, bytes: Buffer): Promise<(() => Promise<void>) | undefined> {
    const { held, path, prefix } = place
    const key = prefix + bytes.toString('latin1')
    const shown = join(path, bytes.toString())
    let other: (() => Promise<void>) | undefined
    await this.#met(key, shown, async () => {
      const stat = await held.lstat(bytes)
      if (stat.isFile()) return await this.file(held, bytes, stat, key, shown)
      if (stat.isSymbolicLink()) other = () => this.#link(place, bytes, stat, key)
      else if (stat.isDirectory()) other = () => this.#below(place, bytes, key, shown)
      else this.#add(key, versionOf(stat), 'neither a file nor a directory')
    })
    return other && (() => this.#met(key, shown, other as () => Promise<void>))
  }

  async #below(place: Place, bytes: Buffer, key: string, shown: string): Promise<void> {
    await using held = await place.held.directory(bytes)
    await this.directory({ ...place, held, path: shown, prefix: `${key}/` })
  }

  /** What has gone since it was listed, or become something else, moves. */
  async #met(key: string, shown: string, take: () => Promise<void>): Promise<void> {
    try {
      await take()
    } catch (error) {
      const isUnsettled = error instanceof Unsettled || (error instanceof CallError && MOVED.has(error.code))
      if (!isUnsettled) throw error instanceof CallError ? readError(error, shown) : error
      this.#add(key, '', '')
    }
  }

  /** A link is what it leads to. */
  async #link(place: Place, bytes: Buffer, stat: FileStat, key: string): Promise<void> {
    const shown = join(place.path, bytes.toString())
    if (leadsOutward(stat.link)) {
      // Watched by its path, which is text: taken for another name it would seem to lead nowhere, for ever.
      if (!isText(key)) {
        const hint =
          'a symlink whose path is not UTF-8 is not followed out of its directory: give it another name'
        throw new InotifyError({ errno: 'EILSEQ', syscall: 'readlink', path: shown, hint })
      }
      this.#takeText(shown.length)
      this.outward.push(shown)
    }
    let reached: ResolvedPath
    try {
      reached = await resolvePath(this.#calls, `${place.held.path}/${keyOf(bytes)}`)
    } catch (error) {
      if (!isNowhere(error)) throw error
      // A link that leads nowhere is something that can stay so; where it leads is what there is to know of it.
      return this.#add(key, versionOf(stat), `nowhere: ${latin1(stat.link)}`)
    }
    await using parent = reached.parent
    const { name, stat: target } = reached
    if (target.isFile()) return await this.file(parent, name, target, key, shown)
    if (!target.isDirectory()) return this.#add(key, versionOf(target), 'neither a file nor a directory')
    await using held = await DirectoryHandle.open(this.#calls, `${parent.path}/${name}`)
    await this.directory({ ...place, held, path: shown, prefix: `${key}/` })
  }

  /** Before it is opened for reading; O_PATH opens nothing. */
  async #requireReadable(
    parent: DirectoryHandle,
    name: string | Buffer,
    stat: FileStat,
    shown: string,
  ): Promise<void> {
    if (this.#readable.has(stat.dev)) return
    await using held = await parent.hold(name)
    const type = typeByMagic(await this.#calls.fileSystem(held.fd))
    if (OF_THE_KERNEL.has(type)) {
      const hint = `it is a file of the kernel's (${type}), which is not content: name regular files`
      throw new InotifyError({ errno: 'EINVAL', syscall: 'read', path: shown, hint })
    }
    this.#readable.add(held.opened.dev)
  }

  #takeBytes(bytes: number, shown: string): void {
    this.#bytes += bytes
    if (this.#bytes <= MAX_BYTES) return
    const hint = `with it the files are more than ${MAX_BYTES / 1024 / 1024} MiB: name the files, or a directory with less`
    throw new InotifyError({ errno: 'E2BIG', syscall: 'read', path: shown, hint })
  }

  #add(key: string, version: string, content: string): void {
    this.#takeText(key.length + content.length)
    this.found.set(key, { version, content })
  }

  #takeText(length: number): void {
    this.#text += length
    if (this.#text <= MAX_TEXT) return
    const hint = `the paths below it take more than ${MAX_TEXT / 1024 / 1024} MiB: name the files, or a directory with fewer`
    throw new InotifyError({ errno: 'E2BIG', syscall: 'read', path: this.#root, hint })
  }
}

function identityOf({ dev, ino }: FileStat): string {
  return `${dev} ${ino}`
}

/** The bytes of a path of keys, a character each. */
function latin1(path: string): string {
  return Buffer.from(pathOf(path)).toString('latin1')
}

function isText(key: string): boolean {
  return isUtf8(Buffer.from(key, 'latin1'))
}

function isNowhere(error: unknown): boolean {
  return error instanceof CallError && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code)
}

const MOVED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE', 'EPROTOTYPE'])

const HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'nothing is done until it is there',
  ENOTDIR: 'a file is where a directory should be on the way to it; nothing is done until it is there',
  EACCES: 'what it holds cannot be compared, and nothing is done until it can be read',
  ENOTCONN: 'the server of its mount is gone; nothing is done until it is back',
}

function readError({ code, errno, syscall }: CallError, path: string): Error {
  // Not of the path, but of this process: close().
  if (code === 'ECANCELED') return new CallError(-errno, syscall)
  const hint = HINTS[code] ?? 'nothing is done until it can be read'
  return new InotifyError({ errno: -errno, syscall, path, hint })
}
