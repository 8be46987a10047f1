import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { basename, join } from 'node:path'
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
import { mostOf, readWhole } from '../volume/read_file.ts'
import { Torn } from '../volume/torn.ts'
import { contentsOf, differing, leadsOutward, type Reading } from './contents.ts'

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

/** An entry's place on the way down. */
interface Place {
  /** Its key, latin1; '' for a directory that is the only path. */
  readonly key: string
  /** The path by which people know it. */
  readonly shown: string
  /** The directories above; none for one of the paths. */
  readonly above: ReadonlySet<string>
}

/** The inputs of a walk. */
interface Task {
  readonly calls: SyscallThread
  readonly paths: readonly string[]
  /** The mount of each path when it last had entries. */
  readonly mounts: Map<string, bigint>
}

/** Reads the content of the paths: whole, and of one moment. Never opens anything but regular files for reading. */
export class ContentReader {
  readonly #task: Task

  constructor(calls: SyscallThread, paths: readonly string[]) {
    this.#task = { calls, paths, mounts: new Map() }
  }

  /** @throws {InotifyError} a path, or something below it, is not there or cannot be read */
  async read(): Promise<Reading> {
    requireProc()
    const { found, outward } = await new Walk(this.#task, true).walk()
    // A change between two reads, as a swap of `..data` between two keys, shows in a second walk.
    const now = (await new Walk(this.#task, false).walk()).found
    const versions = new Map([...now].map(([key, { version }]) => [key, version]))
    const before = [...found].flatMap(([key, { version }]) =>
      version === '' ? [] : [[key, version] as const],
    )
    const moving = new Set(differing(new Map(before), versions))
    const kept = [...found].filter(([key]) => now.has(key))
    const contents = contentsOf(new Map(kept.map(([key, { content }]) => [key, content])))
    return { ...contents, versions, moving, outward }
  }
}

/** One look at everything. */
class Walk {
  // Each key's version, '' if the file did not hold still even for that, and a text that stands for its content.
  readonly found = new Map<string, { version: string; content: string }>()
  readonly outward: string[] = []
  readonly #task: Task
  readonly #reads: boolean
  // Devices whose files may be read.
  readonly #readable = new Set<bigint>()
  readonly #taken = { entries: 0, text: 0, bytes: 0 }

  /** @param reads true: the content is read, too */
  constructor(task: Task, reads: boolean) {
    this.#task = task
    this.#reads = reads
  }

  async walk(): Promise<this> {
    for (const path of this.#task.paths) await this.#path(path)
    return this
  }

  /** Takes in one of the paths. */
  async #path(path: string): Promise<void> {
    try {
      const reached = await resolvePath(this.#task.calls, path)
      const isFile = reached.stat.isFile()
      // Two of several paths may have a key of one name.
      const key = this.#task.paths.length > 1 ? path : isFile ? basename(path) : ''
      const place = { key: latin1(key), shown: path, above: new Set<string>() }
      const take = () => this.#target(reached, place)
      await (isFile ? this.#met(place, take) : take())
    } catch (error) {
      throw error instanceof CallError ? readError(error, path) : error
    }
  }

  async #directory(held: DirectoryHandle, { key, shown, above }: Place): Promise<void> {
    const here = `${held.opened.dev} ${held.opened.ino}`
    if (above.has(here)) return
    if (above.size === MAX_DEPTH)
      throw refusal('E2BIG', shown, `it lies more than ${MAX_DEPTH} directories deep`)
    const names = await held.names(LIMITS.entries[0] + 1)
    if (above.size === 0) this.#requireMount(held.opened, names.length === 0, shown)
    const isVolume = hasData(names)
    const keys = names.filter((name) => !isInternal(name.toString(), isVolume))
    this.#take('entries', keys.length, shown)
    const prefix = key === '' ? '' : `${key}/`
    const inside = new Set([...above, here])
    // Made anew for each use: these texts may be long.
    const placeOf = (name: Buffer): Place => ({
      key: prefix + name.toString('latin1'),
      shown: join(shown, name.toString()),
      above: inside,
    })
    const others: Array<[Buffer, FileStat]> = []
    const look = (name: Buffer) => {
      const place = placeOf(name)
      return this.#met(place, async () => {
        const stat = await held.lstat(name)
        if (stat.isFile()) await this.#file(held, name, stat, place)
        else others.push([name, stat])
      })
    }
    await atOnce(keys.sort(Buffer.compare), look, AT_ONCE)
    // One after another, as each holds a descriptor.
    for (const [name, stat] of others) {
      const place = placeOf(name)
      await this.#met(place, () => this.#other(held, name, stat, place))
    }
  }

  /** Reads a regular file, of the length that it had when it was opened. One that is replaced or written meanwhile is not read to its end: that may take long. */
  async #file(
    parent: DirectoryHandle,
    name: string | Buffer,
    stat: FileStat,
    { key, shown }: Place,
  ): Promise<void> {
    if (!this.#reads) return this.#add(key, versionOf(stat), '')
    await this.#requireReadable(parent, name, stat, shown)
    await using file = await parent.file(name, mostOf(Number(stat.size)))
    const version = versionOf(file.opened)
    const length = Number(file.opened.size)
    this.#take('bytes', length, shown)
    // Its ctime tells of a name that it has lost, too.
    const { digest } = await readWhole(file, length, (_, now) => {
      if (versionOf(now) !== version) throw new Torn('it changed while it was read')
    })
    this.#add(key, version, digest)
  }

  /** Takes in a directory, or a link as its target. */
  async #other(parent: DirectoryHandle, name: Buffer, stat: FileStat, place: Place): Promise<void> {
    if (stat.isDirectory()) {
      await using held = await parent.directory(name)
      return await this.#directory(held, place)
    }
    if (!stat.isSymbolicLink()) return this.#add(place.key, versionOf(stat), NO_CONTENT)
    if (leadsOutward(stat.link)) this.#leaveBy(place)
    const reached = await resolvePath(this.#task.calls, `${parent.path}/${keyOf(name)}`).catch((error) => {
      if (!NOWHERE.includes(codeOf(error))) throw error
    })
    // A link can lead nowhere for long, so its text stands for its content.
    if (!reached) return this.#add(place.key, versionOf(stat), `nowhere: ${latin1(stat.link)}`)
    await this.#target(reached, place)
  }

  /** Takes in the end of a link, or of a path. */
  async #target({ parent, name, stat }: ResolvedPath, place: Place): Promise<void> {
    await using end = parent
    if (stat.isFile()) return await this.#file(end, name, stat, place)
    if (!stat.isDirectory()) {
      if (place.above.size === 0) throw refusal('EINVAL', place.shown, `it is ${NO_CONTENT}`)
      return this.#add(place.key, versionOf(stat), NO_CONTENT)
    }
    await using held = await DirectoryHandle.open(this.#task.calls, `${end.path}/${name}`)
    await this.#directory(held, place)
  }

  /** Notes a link that leads out of its directory. It is watched by its path as text: another name would seem to lead nowhere, for ever. */
  #leaveBy({ key, shown }: Place): void {
    if (!isUtf8(Buffer.from(key, 'latin1'))) {
      const hint =
        'a symlink whose path is not UTF-8 is not followed out of its directory: give it another name'
      throw new InotifyError({ errno: 'EILSEQ', syscall: 'readlink', path: shown, hint })
    }
    this.#take('text', shown.length)
    this.outward.push(shown)
  }

  /** Takes in a key. An entry that has gone since the listing, or has become another, is moving. */
  async #met({ key, shown }: Place, take: () => Promise<void>): Promise<void> {
    try {
      await take()
    } catch (error) {
      const isUnsettled = error instanceof Torn || MOVED.includes(codeOf(error))
      if (!isUnsettled) throw error instanceof CallError ? readError(error, shown) : error
      this.#add(key, '', '')
    }
  }

  /** Throws if the mount of a path is gone: the empty directory below it comes to light, which is no content. */
  #requireMount({ mountOrDevice: mount }: FileStat, isEmpty: boolean, path: string): void {
    if (!isEmpty) this.#task.mounts.set(path, mount)
    else if ((this.#task.mounts.get(path) ?? mount) !== mount)
      throw refusal('ENOENT', path, 'its mount is gone, and an empty directory is left')
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
    const type = typeByMagic(await this.#task.calls.fileSystem(held.fd))
    if (OF_THE_KERNEL.has(type)) {
      const hint = `it is a file of the kernel's (${type}), which is not content: name regular files`
      throw refusal('EINVAL', shown, hint)
    }
    this.#readable.add(held.opened.dev)
  }

  #add(key: string, version: string, content: string): void {
    this.#take('text', key.length + content.length)
    this.found.set(key, { version, content })
  }

  #take(kind: keyof typeof LIMITS, amount: number, path = this.#task.paths[0] ?? ''): void {
    const [most, hint] = LIMITS[kind]
    this.#taken[kind] += amount
    if (this.#taken[kind] > most)
      throw refusal('E2BIG', path, `${hint}: name the files, or a directory with fewer`)
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

function refusal(errno: 'E2BIG' | 'EINVAL' | 'ENOENT', path: string, hint: string): InotifyError {
  return new InotifyError({ errno, syscall: 'read', path, hint })
}

function readError({ code, errno, syscall }: CallError, path: string): Error {
  // An error of this process and not of the path: close().
  if (code === 'ECANCELED') return new CallError(-errno, syscall)
  const hint = HINTS[code] ?? 'nothing is done until it can be read'
  return new InotifyError({ errno: -errno, syscall, path, hint })
}
