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
import { hasData } from '../volume/data_link.ts'
import { isInternal } from '../volume/layout.ts'
import { Torn } from '../volume/torn.ts'
import { contentsOf, leadsOutward, type Reading } from './contents.ts'
import { digestOf, versionOf } from './file_digest.ts'

/** The most levels. Each holds a descriptor while the levels below are read. */
const MAX_DEPTH = 32
const MAX_ENTRIES = 65_536
/** The most text of all keys and paths of outward links. Others can make 8 KB with each entry, if links lead from one directory to the next. */
const MAX_TEXT = 16 * 1024 * 1024
/** The most bytes of all files. 1 TB of holes, made by one call, would be read for an hour while no change is acted upon. */
const MAX_BYTES = 256 * 1024 * 1024
/**
 * The file systems that are not read. Their files have another size than they tell, so they never hold still. To open or read some has
 * effects, or waits for an event: /proc/kmsg, trace_pipe. Others who may lay a symlink would have this process, perhaps root's, do it.
 */
const OF_THE_KERNEL: ReadonlySet<string | undefined> = new Set(['proc', 'sysfs', 'debugfs', 'tracefs'])
/** The number of files that are read at once. Each may hold 256 KiB. */
const AT_ONCE = 64

/** A key: the version that was read, '' if the file did not hold still even for that, and a text that stands for its content. */
interface Found {
  readonly version: string
  readonly content: string
}

/** A directory while it is read. */
interface Place {
  readonly held: DirectoryHandle
  /** The path by which people know it. */
  readonly path: string
  /** The prefix of its keys, latin1. */
  readonly prefix: string
  /** The directories on the way down. */
  readonly above: ReadonlySet<string>
}

/** An entry of a directory. */
interface Entry {
  readonly parent: DirectoryHandle
  readonly name: string | Buffer
  readonly stat: FileStat
}

/** An entry's key, and the path by which people know it. */
interface Known {
  readonly key: string
  readonly shown: string
}

/** Reads the content of the paths: whole, and of one moment. Never opens anything but regular files for reading. */
export class ContentReader {
  readonly #calls: SyscallThread
  readonly #paths: readonly string[]
  // The mount of each path when it last had entries.
  readonly #mounts = new Map<string, bigint>()

  constructor(calls: SyscallThread, paths: readonly string[]) {
    this.#calls = calls
    this.#paths = paths
  }

  /** @throws {InotifyError} a path, or something below it, is not there or cannot be read */
  async read(): Promise<Reading> {
    requireProc()
    const { found, outward } = await this.#walk(true)
    // A change between two reads, as a swap of `..data` between two keys, shows in a second walk.
    const now = (await this.#walk(false)).found
    const versions = new Map([...now].map(([key, { version }]) => [key, version]))
    const isStill = (key: string) => (found.get(key)?.version || undefined) === versions.get(key)
    const moving = [...new Set([...found.keys(), ...now.keys()])].filter((key) => !isStill(key))
    const kept = [...found].filter(([key]) => now.has(key))
    const contents = await contentsOf(new Map(kept.map(([key, { content }]) => [key, content])))
    return { ...contents, versions, moving: new Set(moving), outward }
  }

  async #walk(reads: boolean): Promise<Walk> {
    const walk = new Walk(this.#calls, reads, this.#paths[0] ?? '')
    for (const path of this.#paths) {
      // Two of several paths may have a key of one name.
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
    if (stat.isFile()) return await walk.file(reached, { key: latin1(named ?? basename(path)), shown: path })
    if (!stat.isDirectory()) throw refusal('EINVAL', path, 'it is neither a file nor a directory')
    await using held = await DirectoryHandle.open(this.#calls, `${parent.path}/${name}`)
    await this.#requireMount(held, path)
    const prefix = named === undefined ? '' : `${latin1(named)}/`
    await walk.directory({ held, path, prefix, above: new Set() })
  }

  /** Throws if the mount of a path is gone: the empty directory below it comes to light, which is no content. */
  async #requireMount(held: DirectoryHandle, path: string): Promise<void> {
    const { mountOrDevice: mount } = held.opened
    const isEmpty = (await held.names(1)).length === 0
    const before = this.#mounts.get(path)
    if (isEmpty && before !== undefined && before !== mount)
      throw refusal('ENOENT', path, 'its mount is gone, and an empty directory is left')
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
  // Devices whose files may be read.
  readonly #readable = new Set<bigint>()
  #entries = 0
  #text = 0
  #bytes = 0

  /**
   * @param reads true: the content is read, too
   * @param root one of the paths, for the error about too much in total
   */
  constructor(calls: SyscallThread, reads: boolean, root: string) {
    this.#calls = calls
    this.#reads = reads
    this.#root = root
  }

  async directory({ held, path, prefix, above }: Place): Promise<void> {
    const here = identityOf(held.opened)
    if (above.has(here)) return
    if (above.size === MAX_DEPTH)
      throw refusal('E2BIG', path, `it lies more than ${MAX_DEPTH} directories deep`)
    const inside = new Set([...above, here])
    const names = await held.names(MAX_ENTRIES + 1)
    const isVolume = hasData(names)
    const keys = names.filter((name) => !isInternal(name.toString(), isVolume))
    this.#entries += keys.length
    if (this.#entries > MAX_ENTRIES) {
      const hint = `more than ${MAX_ENTRIES} entries: name the files, or a directory with fewer`
      throw refusal('E2BIG', path, hint)
    }
    const knownBy = (name: Buffer): Known => ({
      key: prefix + name.toString('latin1'),
      shown: join(path, name.toString()),
    })
    const others: Array<Entry & { name: Buffer }> = []
    const look = async (name: Buffer) => {
      const known = knownBy(name)
      await this.#met(known, async () => {
        const entry = { parent: held, name, stat: await held.lstat(name) }
        if (entry.stat.isFile()) await this.#file(entry, known)
        else others.push(entry)
      })
    }
    await atOnce(keys.sort(Buffer.compare), look, AT_ONCE)
    // One after another, as each holds a descriptor.
    for (const other of others) {
      const known = knownBy(other.name)
      await this.#met(known, () => this.#other(other, known, inside))
    }
  }

  async file(entry: Entry, known: Known): Promise<void> {
    await this.#met(known, () => this.#file(entry, known))
  }

  async #file({ parent, name, stat }: Entry, { key, shown }: Known): Promise<void> {
    if (!this.#reads) return this.#add(key, versionOf(stat), '')
    await this.#requireReadable(parent, name, stat, shown)
    const { version, digest } = await digestOf(parent, name, stat.size, (bytes) =>
      this.#takeBytes(bytes, shown),
    )
    this.#add(key, version, digest)
  }

  /** Takes in a directory, or a link as its target. */
  async #other(entry: Entry & { name: Buffer }, known: Known, above: ReadonlySet<string>): Promise<void> {
    const { parent, name, stat } = entry
    const { key, shown } = known
    const below = { path: shown, prefix: `${key}/`, above }
    if (stat.isDirectory()) {
      await using held = await parent.directory(name)
      return await this.directory({ ...below, held })
    }
    if (!stat.isSymbolicLink()) return this.#add(key, versionOf(stat), 'neither a file nor a directory')
    if (leadsOutward(stat.link)) this.#leaveBy(known)
    let reached: ResolvedPath
    try {
      reached = await resolvePath(this.#calls, `${parent.path}/${keyOf(name)}`)
    } catch (error) {
      if (!isNowhere(error)) throw error
      // A link can lead nowhere for long, so its text stands for its content.
      return this.#add(key, versionOf(stat), `nowhere: ${latin1(stat.link)}`)
    }
    await using end = reached.parent
    if (reached.stat.isFile()) return await this.#file(reached, known)
    if (!reached.stat.isDirectory())
      return this.#add(key, versionOf(reached.stat), 'neither a file nor a directory')
    await using held = await DirectoryHandle.open(this.#calls, `${end.path}/${reached.name}`)
    await this.directory({ ...below, held })
  }

  /** Notes a link that leads out of its directory. It is watched by its path as text: another name would seem to lead nowhere, for ever. */
  #leaveBy({ key, shown }: Known): void {
    if (!isUtf8(Buffer.from(key, 'latin1'))) {
      const hint =
        'a symlink whose path is not UTF-8 is not followed out of its directory: give it another name'
      throw new InotifyError({ errno: 'EILSEQ', syscall: 'readlink', path: shown, hint })
    }
    this.#takeText(shown.length)
    this.outward.push(shown)
  }

  /** Takes in a key. An entry that has gone since the listing, or has become another, is moving. */
  async #met({ key, shown }: Known, take: () => Promise<void>): Promise<void> {
    try {
      await take()
    } catch (error) {
      const isUnsettled = error instanceof Torn || (error instanceof CallError && MOVED.has(error.code))
      if (!isUnsettled) throw error instanceof CallError ? readError(error, shown) : error
      this.#add(key, '', '')
    }
  }

  /** Checks a file system before the first open for reading; O_PATH opens nothing. */
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
      throw refusal('EINVAL', shown, hint)
    }
    this.#readable.add(held.opened.dev)
  }

  #takeBytes(bytes: number, shown: string): void {
    this.#bytes += bytes
    if (this.#bytes <= MAX_BYTES) return
    const hint = `with it the files are more than ${MAX_BYTES / 1024 / 1024} MiB: name the files, or a directory with less`
    throw refusal('E2BIG', shown, hint)
  }

  #add(key: string, version: string, content: string): void {
    this.#takeText(key.length + content.length)
    this.found.set(key, { version, content })
  }

  #takeText(length: number): void {
    this.#text += length
    if (this.#text <= MAX_TEXT) return
    const hint = `the paths below it take more than ${MAX_TEXT / 1024 / 1024} MiB: name the files, or a directory with fewer`
    throw refusal('E2BIG', this.#root, hint)
  }
}

function identityOf({ dev, ino }: FileStat): string {
  return `${dev} ${ino}`
}

/** Returns the bytes of a path of keys, a character each. */
function latin1(path: string): string {
  return Buffer.from(pathOf(path)).toString('latin1')
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

function refusal(errno: 'E2BIG' | 'EINVAL' | 'ENOENT', path: string, hint: string): InotifyError {
  return new InotifyError({ errno, syscall: 'read', path, hint })
}

function readError({ code, errno, syscall }: CallError, path: string): Error {
  // An error of this process and not of the path: close().
  if (code === 'ECANCELED') return new CallError(-errno, syscall)
  const hint = HINTS[code] ?? 'nothing is done until it can be read'
  return new InotifyError({ errno: -errno, syscall, path, hint })
}
