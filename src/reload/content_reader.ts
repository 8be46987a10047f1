import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { InotifyError } from '../errors.ts'
import { typeByMagic } from '../mounts/magic.ts'
import { requireProc } from '../mounts/proc.ts'
import { CallError, codeOf } from '../mounts/syscalls/call_error.ts'
import { atOnce } from '../mounts/syscalls/concurrency.ts'
import { DirectoryHandle } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { type ResolvedPath, resolvePath } from '../mounts/syscalls/resolve_path.ts'
import type { SyscallThread } from '../mounts/syscalls/syscall_thread.ts'
import { keyOf, pathOf } from '../name_key.ts'
import { hasData } from '../volume/data_link.ts'
import { isInternal } from '../volume/layout.ts'
import { mostOf, readWhole, Torn } from '../volume/read_file.ts'
import { type Contents, contentsOf, differing, leadsOutward, type Reading } from './contents.ts'

/** The most levels. Each holds a descriptor while the levels below are read. */
const MAX_DEPTH = 32
/** The most of all paths together, in entries, MiB of text and MiB of content, and how the error says so. */
const LIMITS = {
  entries: [65_536, 'more than 65536 entries'],
  // All keys and paths of outward links. Others can make 8 KB with each entry, if links lead from one directory to the next.
  text: [16 * 1024 * 1024, 'the paths below it take more than 16 MiB'],
  // 1 TB of holes, made by one call, would be read for an hour while no change is acted upon.
  bytes: [256 * 1024 * 1024, 'with it the files are more than 256 MiB'],
} as const
/**
 * The file systems that are not read. Their files have another size than they tell, so they never hold still. To open or read some has
 * effects, or waits for an event: /proc/kmsg, trace_pipe. Others who may lay a symlink would have this process, perhaps root's, do it.
 */
const OF_THE_KERNEL: ReadonlySet<string | undefined> = new Set(['proc', 'sysfs', 'debugfs', 'tracefs'])
/** The number of files that are read at once. Each may hold 256 KiB. */
const AT_ONCE = 64

type Entry = readonly [name: Buffer, stat: FileStat]
/** The directories above an entry; none for one of the paths. */
type Above = ReadonlySet<string>

/** Reads the content of the paths: whole, and of one moment. Never opens anything but regular files for reading. */
export class ContentReader {
  readonly calls: SyscallThread
  readonly paths: readonly string[]
  /** The mount of each path when it last had entries. */
  readonly mounts = new Map<string, bigint>()

  constructor(calls: SyscallThread, paths: readonly string[]) {
    this.calls = calls
    this.paths = paths
  }

  /** @throws {InotifyError} a path, or something below it, is not there or cannot be read */
  async read(): Promise<Reading> {
    requireProc()
    const { versions: before, contents, outward } = await new Walk(this, () => {}).walk()
    // A change between two reads, as a swap of `..data` between two keys, shows in a second walk.
    const { versions } = await new Walk(this).walk()
    const kept = [...contents].filter(([key]) => versions.has(key))
    return { ...contentsOf(new Map(kept)), versions, moving: new Set(differing(before, versions)), outward }
  }

  /**
   * Returns the bytes of a file that is one of the paths, or lies below one.
   *
   * @param keys the content that was found: other bytes than those of the file then are not returned
   * @throws {InotifyError} EAGAIN: the file has changed since; ENOENT: it was not there; it cannot be read
   */
  async bytes(path: string, { keys }: Pick<Contents, 'keys'>): Promise<Buffer> {
    const [first = '', another] = this.paths
    const below = path === first ? basename(path) : relative(first, path)
    const known = keys.get(latin1(another === undefined ? below : path))
    if (known === undefined)
      throw refusal('ENOENT', path, 'no such file was found when the paths were looked at')
    const chunks: Buffer[] = []
    const reader = new ContentReader(this.calls, [path])
    const { contents } = await new Walk(reader, (chunk) => void chunks.push(chunk)).walk()
    if (contents.size === 1 && contents.get(latin1(basename(path))) === known) return Buffer.concat(chunks)
    throw refusal('EAGAIN', path, 'it has changed since it was looked at, and is looked at again')
  }
}

/** One look at everything. The key of an entry is the bytes of its path, latin1; '' for a directory that is the only path. */
class Walk {
  readonly versions = new Map<string, string>()
  // The text that stands for each key's content.
  readonly contents = new Map<string, string>()
  readonly outward: string[] = []
  readonly #reader: ContentReader
  readonly #keep: ((chunk: Buffer) => void) | undefined
  // The directory that keys are relative to.
  #base = '/'
  // Devices whose files may be read.
  readonly #readable = new Set<bigint>()
  readonly #taken = { entries: 0, text: 0, bytes: 0 }

  /** @param keep gets what is read; undefined: the content is not read */
  constructor(reader: ContentReader, keep?: (chunk: Buffer) => void) {
    this.#reader = reader
    this.#keep = keep
  }

  async walk(): Promise<this> {
    const { calls, paths } = this.#reader
    for (const path of paths)
      try {
        const reached = await resolvePath(calls, path)
        const isFile = reached.stat.isFile()
        // Two of several paths may have a key of one name.
        const isOnly = paths.length === 1
        if (isOnly) this.#base = isFile ? dirname(path) : path
        const key = latin1(isOnly ? (isFile ? basename(path) : '') : path)
        const take = () => this.#target(reached, key, new Set())
        await (isFile ? this.#met(key, take) : take())
      } catch (error) {
        throw readError(error, path)
      }
    return this
  }

  async #directory(held: DirectoryHandle, key: string, above: Above): Promise<void> {
    const { dev, ino, mountOrDevice: mount } = held.opened
    const here = `${dev} ${ino}`
    if (above.has(here)) return
    if (above.size === MAX_DEPTH)
      throw refusal('E2BIG', this.#shown(key), `it lies more than ${MAX_DEPTH} directories deep`)
    const names = await held.names(LIMITS.entries[0] + 1)
    if (above.size === 0) {
      const { mounts } = this.#reader
      if (names.length > 0) mounts.set(key, mount)
      // The mount of the path is gone, and the empty directory below it comes to light, which is no content.
      else if ((mounts.get(key) ?? mount) !== mount)
        throw refusal('ENOENT', this.#shown(key), 'its mount is gone, and an empty directory is left')
    }
    const isVolume = hasData(names)
    const keys = names.filter((name) => !isInternal(name.toString(), isVolume))
    this.#take('entries', keys.length, key)
    const prefix = key === '' ? '' : `${key}/`
    const inside = new Set([...above, here])
    // Made anew for each use: these texts may be long.
    const keyIn = (name: Buffer) => prefix + name.toString('latin1')
    const others: Entry[] = []
    const look = (name: Buffer) =>
      this.#met(keyIn(name), async () => {
        const stat = await held.lstat(name)
        if (stat.isFile()) await this.#file(held, name, stat, keyIn(name))
        else others.push([name, stat])
      })
    await atOnce(keys.sort(Buffer.compare), look, AT_ONCE)
    // One after another, as each holds a descriptor.
    for (const other of others)
      await this.#met(keyIn(other[0]), () => this.#other(held, other, keyIn(other[0]), inside))
  }

  /** Reads a regular file, of the length that it had when it was opened. One that is replaced or written meanwhile is not read to its end: that may take long. */
  async #file(parent: DirectoryHandle, name: string | Buffer, stat: FileStat, key: string): Promise<void> {
    const keep = this.#keep
    if (keep === undefined) return this.#add(key, versionOf(stat), '')
    if (!this.#readable.has(stat.dev)) {
      // Before the first open for reading: O_PATH opens nothing.
      await using held = await parent.hold(name)
      const type = typeByMagic(await this.#reader.calls.fileSystem(held.fd))
      if (OF_THE_KERNEL.has(type)) {
        const hint = `it is a file of the kernel's (${type}), which is not content: name regular files`
        throw refusal('EINVAL', this.#shown(key), hint)
      }
      this.#readable.add(held.opened.dev)
    }
    await using file = await parent.file(name, mostOf(Number(stat.size)))
    const version = versionOf(file.opened)
    const length = Number(file.opened.size)
    this.#take('bytes', length, key)
    // Its ctime tells of a name that it has lost, too.
    const { digest } = await readWhole(file, length, (chunk, now) => {
      if (versionOf(now) !== version) throw new Torn('it changed while it was read')
      keep(chunk)
    })
    this.#add(key, version, digest)
  }

  /** Takes in a directory, or a link as its target. */
  async #other(parent: DirectoryHandle, [name, stat]: Entry, key: string, above: Above): Promise<void> {
    if (stat.isDirectory()) {
      await using held = await parent.directory(name)
      return await this.#directory(held, key, above)
    }
    if (!stat.isSymbolicLink()) return this.#add(key, versionOf(stat), NO_CONTENT)
    if (leadsOutward(stat.link)) {
      const path = this.#shown(key)
      // The link is watched by its path as text: another name would seem to lead nowhere, for ever.
      if (!isUtf8(Buffer.from(key, 'latin1'))) {
        const hint =
          'a symlink whose path is not UTF-8 is not followed out of its directory: give it another name'
        throw new InotifyError({ errno: 'EILSEQ', syscall: 'readlink', path, hint })
      }
      this.#take('text', path.length)
      this.outward.push(path)
    }
    const reached = await resolvePath(this.#reader.calls, `${parent.path}/${keyOf(name)}`).catch((error) => {
      if (!NOWHERE.includes(codeOf(error))) throw error
    })
    // A link can lead nowhere for long, so its text stands for its content.
    if (!reached) return this.#add(key, versionOf(stat), `nowhere: ${latin1(stat.link)}`)
    await this.#target(reached, key, above)
  }

  /** Takes in the end of a link, or of a path. */
  async #target({ parent, name, stat }: ResolvedPath, key: string, above: Above): Promise<void> {
    await using end = parent
    if (stat.isFile()) return await this.#file(end, name, stat, key)
    if (!stat.isDirectory()) {
      if (above.size === 0) throw refusal('EINVAL', this.#shown(key), `it is ${NO_CONTENT}`)
      return this.#add(key, versionOf(stat), NO_CONTENT)
    }
    await using held = await DirectoryHandle.open(this.#reader.calls, `${end.path}/${name}`)
    await this.#directory(held, key, above)
  }

  /** Takes in a key. An entry that has gone since the listing, or has become another, is moving: the other walk has another version of it. */
  async #met(key: string, take: () => Promise<void>): Promise<void> {
    try {
      await take()
    } catch (error) {
      const isUnsettled = error instanceof Torn || MOVED.includes(codeOf(error))
      if (!isUnsettled) throw readError(error, this.#shown(key))
      this.#add(key, this.#keep === undefined ? 'unsettled' : 'unsettled at first', '')
    }
  }

  #add(key: string, version: string, content: string): void {
    this.#take('text', key.length + content.length)
    this.versions.set(key, version)
    this.contents.set(key, content)
  }

  #take(kind: keyof typeof LIMITS, amount: number, key?: string): void {
    const [most, hint] = LIMITS[kind]
    this.#taken[kind] += amount
    if (this.#taken[kind] <= most) return
    const path = key === undefined ? (this.#reader.paths[0] ?? '') : this.#shown(key)
    throw refusal('E2BIG', path, `${hint}: name the files, or a directory with fewer`)
  }

  /** Returns the path by which people know a key. */
  #shown(key: string): string {
    return join(this.#base, Buffer.from(key, 'latin1').toString())
  }
}

/** Returns a text that differs once a file has been written to, or has become another. */
function versionOf({ dev, ino, mode, size, mtimeNs, ctimeNs }: FileStat): string {
  return `${dev} ${ino} ${Number(mode) & constants.S_IFMT} ${size} ${mtimeNs} ${ctimeNs}`
}

/** Returns the bytes of a path of keys, a character each. */
function latin1(path: string): string {
  return Buffer.from(pathOf(path)).toString('latin1')
}

const NO_CONTENT = 'neither a file nor a directory'
const NOWHERE = ['ENOENT', 'ENOTDIR', 'ELOOP']
const MOVED = [...NOWHERE, 'ESTALE', 'EPROTOTYPE']

const HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'nothing is done until it is there',
  ENOTDIR: 'a file is where a directory should be on the way to it; nothing is done until it is there',
  EACCES: 'what it holds cannot be compared, and nothing is done until it can be read',
  ENOTCONN: 'the server of its mount is gone; nothing is done until it is back',
}

function refusal(errno: 'E2BIG' | 'EAGAIN' | 'EINVAL' | 'ENOENT', path: string, hint: string): InotifyError {
  return new InotifyError({ errno, syscall: 'read', path, hint })
}

/** Returns an error of a call as one of the path; others, and that of a reloader which was closed, as they are. */
function readError(error: unknown, path: string): unknown {
  if (!(error instanceof CallError) || error.code === 'ECANCELED') return error
  const hint = HINTS[error.code] ?? 'nothing is done until it can be read'
  return new InotifyError({ errno: -error.errno, syscall: error.syscall, path, hint })
}
