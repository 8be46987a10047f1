import { constants as fs } from 'node:fs'
import { constants as os } from 'node:os'
import { loadAddon, type NativeCalls } from '../../addon.ts'
import { keysOf, pathOf } from '../../name_key.ts'
import { CallError } from './call_error.ts'
import { FileStat } from './file_stat.ts'
import { packStatWatch, type StatProbe } from './stat_watch.ts'

/** openat(2): a path that is found from the working directory, or an absolute one. */
export const AT_FDCWD = -100
/** unlinkat(2): a directory is to be removed. */
export const AT_REMOVEDIR = 0x200
/** renameat2(2). */
export const RENAME_EXCHANGE = 2
/** flock(2). */
export const LOCK_EX = 2
export const LOCK_NB = 4
export const LOCK_UN = 8
/** open(2): a reference to the inode only. Opens no device, waits for no FIFO, needs no permission to read. Not in node:fs. */
export const O_PATH = 0o10000000

// The order is that of Call::Kind in native/syscalls/call.h; the names are those in errors.
const KINDS = [
  'open',
  'openat2',
  'open regular',
  'close',
  'statx',
  'fstatfs',
  'readlink',
  'getdents64',
  'look up',
  'read',
  'write',
  'mkdir',
  'symlink',
  'link',
  'rename',
  'unlink',
  'chmod',
  'chown',
  'fsync',
  'flock',
  'utimensat',
  'await change',
] as const
type Kind = (typeof KINDS)[number]

/** A name in a directory that is held open; '' is the directory itself. A string is a key (see name_key.ts), a Buffer the bytes themselves. */
export interface At {
  readonly fd: number
  readonly name: string | Buffer
  /** True: the name is looked up anew before it is stat'ed, read or opened beneath: see LookUpAgain in native/base/statx.cc. */
  readonly revalidate?: boolean
}

/** A descriptor, and the stat of its file at the opening. */
export interface Opened {
  readonly fd: number
  readonly stat: FileStat
}

/** A regular file, and the content that was read at its opening. */
export interface OpenedFile extends Opened {
  readonly content: Buffer
  /** The stat after the read; undefined if nothing was to be read. */
  readonly after: FileStat | undefined
}

/** The end of a wait: a probe has changed, the limit has passed, or another call was wanted. */
export interface Waited {
  readonly ended: 'changed' | 'quiet' | 'interrupted'
  /** The longest look, in ms. */
  readonly longest: number
}

/** The times of the looks, all in ms. */
export interface WaitInterval {
  /** From now to the first look. Doubles for each later look, up to `interval`. */
  readonly soon: number
  readonly interval: number
  /** The end of the wait. */
  readonly limit: number
}

interface Pending {
  readonly kind: Kind
  readonly keepsAlive: boolean
  resolve(answer: Answer): void
  reject(error: Error): void
}

interface Answer {
  readonly result: number
  readonly data: Buffer
}

interface Arguments {
  readonly numbers?: readonly number[]
  readonly one?: string | Buffer
  readonly other?: string | Buffer
  readonly keepsAlive?: boolean
}

/**
 * System calls on a thread of their own, one after another. A mount that has stopped answering (a stopped virtiofsd, a dead NFS server)
 * holds a call beyond the reach of SIGKILL: on libuv's pool of four threads it would soon hold all that this process does with files.
 *
 * Strings are keys, names as well as paths and what symlinks say (see name_key.ts): the kernel gets their bytes.
 *
 * Each call rejects with a {@link CallError}: ECANCELED if it had not been answered at {@link end}.
 */
export class SyscallThread {
  readonly #pending = new Map<number, Pending>()
  #native: NativeCalls | undefined
  #last = 0
  #keepingAlive = 0
  #ended = false
  // The calls that owe an answer. A wait for a change owes one once another call is behind it.
  #owed = 0
  // performance.now() of the last answer, or of the first call that owed one.
  #since = 0

  /** The ms for which the thread has owed an answer; 0 if nothing but waits are asked of it. */
  get unanswered(): number {
    return this.#owed === 0 ? 0 : performance.now() - this.#since
  }

  /** open(2): symlinks are followed. */
  open(path: string | Buffer, flags: number): Promise<Opened> {
    return this.#open('open', { numbers: [AT_FDCWD, flags], one: path })
  }

  /** open(2) of a name that must be new, to be written. */
  create({ fd, name }: At, mode: number): Promise<Opened> {
    const flags = fs.O_CREAT | fs.O_EXCL | fs.O_WRONLY | fs.O_NOFOLLOW
    return this.#open('open', { numbers: [fd, flags, mode], one: name })
  }

  /** openat2(2) of a single name, RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS: ELOOP for a symlink. */
  openBeneath({ fd, name, revalidate }: At, flags: number): Promise<Opened> {
    return this.#open('openat2', { numbers: [fd, flags, Number(revalidate === true)], one: name })
  }

  /**
   * Opens a regular file and reads up to `most` bytes; an entry of another type is not opened at all: EPROTOTYPE. If the name is looked
   * up anew, the page cache of the file is not trusted either.
   */
  async openRegular({ fd, name, revalidate }: At, most = 0): Promise<OpenedFile> {
    const asked = { numbers: [fd, most, Number(revalidate === true)], one: name }
    const { result, data } = await this.#ask('open regular', asked)
    const stats = most > 0 ? 2 : 1
    return {
      fd: result,
      stat: new FileStat(data.subarray(0, FileStat.BYTES)),
      after: most > 0 ? new FileStat(data.subarray(FileStat.BYTES, 2 * FileStat.BYTES)) : undefined,
      content: data.subarray(stats * FileStat.BYTES),
    }
  }

  /**
   * Closes a descriptor that one of these calls gave, and no other. Needs no await: later calls run later on the thread, and a file that
   * is not written has no failure to report. After {@link end} no descriptor is left to be closed.
   */
  close(fd: number): void {
    if (!this.#ended) this.#native?.push(0, KINDS.indexOf('close'), fd, 0, 0, null, null)
  }

  /** statx(2), without following a symlink. Asks the server, whatever the kernel remembers. */
  async stat({ fd, name, revalidate }: At): Promise<FileStat> {
    const asked = { numbers: [fd, 0, Number(revalidate === true)], one: name }
    return new FileStat((await this.#ask('statx', asked)).data)
  }

  /** The magic number of a descriptor's file system: statfs(2). */
  async fileSystem(fd: number): Promise<number> {
    return (await this.#ask('fstatfs', { numbers: [fd] })).result
  }

  async readlink(at: At): Promise<string> {
    return keysOf(await this.readlinkBytes(at))
  }

  /** Returns the text of a symlink as bytes. */
  async readlinkBytes({ fd, name, revalidate }: At): Promise<Buffer> {
    return (await this.#ask('readlink', { numbers: [fd, 0, Number(revalidate === true)], one: name })).data
  }

  /**
   * Returns the first `most` names in a directory, as bytes: a name need not be UTF-8.
   *
   * @param revalidate true: the server is asked, whatever is remembered of an earlier listing
   */
  async names(fd: number, most: number, revalidate = false): Promise<Buffer[]> {
    const { data } = await this.#ask('getdents64', { numbers: [fd, most, Number(revalidate)] })
    const names: Buffer[] = []
    for (let at = 0, end = 0; at < data.length; at = end + 1) {
      end = data.indexOf(0, at)
      names.push(data.subarray(at, end))
    }
    return names
  }

  /** Has the file system look up a name anew, or each component of a path from the first down. */
  async lookUpAgain({ fd, name }: At): Promise<void> {
    await this.#ask('look up', { numbers: [fd], one: name })
  }

  /** Reads up to `most` bytes from the descriptor's position; none at the end. */
  async read(fd: number, most: number): Promise<Buffer> {
    return (await this.#ask('read', { numbers: [fd, most] })).data
  }

  /** Writes all of the data. */
  async write(fd: number, data: Buffer): Promise<void> {
    await this.#ask('write', { numbers: [fd], one: data })
  }

  async mkdir({ fd, name }: At, mode: number): Promise<void> {
    await this.#ask('mkdir', { numbers: [fd, mode], one: name })
  }

  async symlink(to: string | Buffer, { fd, name }: At): Promise<void> {
    await this.#ask('symlink', { numbers: [fd], one: to, other: name })
  }

  /** A hard link. */
  async link(from: At, to: At): Promise<void> {
    await this.#ask('link', { numbers: [from.fd, to.fd], one: from.name, other: to.name })
  }

  /** renameat2(2). */
  async rename(from: At, to: At, flags = 0): Promise<void> {
    await this.#ask('rename', { numbers: [from.fd, to.fd, flags], one: from.name, other: to.name })
  }

  async unlink({ fd, name }: At, flags = 0): Promise<void> {
    await this.#ask('unlink', { numbers: [fd, flags], one: name })
  }

  /** chmod(2) of a descriptor's file, for O_PATH too. */
  async chmod(fd: number, mode: number): Promise<void> {
    await this.#ask('chmod', { numbers: [fd, mode] })
  }

  async chown(fd: number, uid: number, gid: number): Promise<void> {
    await this.#ask('chown', { numbers: [fd, uid, gid] })
  }

  /** fsync(2). Not for a descriptor of O_PATH. */
  async sync(fd: number): Promise<void> {
    await this.#ask('fsync', { numbers: [fd] })
  }

  /** flock(2), until the descriptor is closed. Not for O_PATH. Without LOCK_NB the thread waits, and later calls wait with it. */
  async lock(fd: number, operation: number): Promise<void> {
    await this.#ask('flock', { numbers: [fd, operation] })
  }

  /** Gives a file the time of the last change of another, and of the last access too unless `modifiedOnly`. */
  async copyTimes(from: number, to: number, modifiedOnly = false): Promise<void> {
    await this.#ask('utimensat', { numbers: [from, to, Number(modifiedOnly)] })
  }

  /**
   * Looks at the probes until one has changed, for `limit` ms, or until another call is made. No look wakes this thread.
   *
   * @param keepsAlive true: the wait keeps the process running
   */
  async awaitChange(
    probes: readonly StatProbe[],
    { soon, interval, limit }: WaitInterval,
    keepsAlive: boolean,
  ): Promise<Waited> {
    const asked = { numbers: [soon, interval, limit], one: packStatWatch(probes), keepsAlive }
    const { result, data } = await this.#answer('await change', asked)
    const longest = data.length === 8 ? Number(data.readBigUInt64LE()) / 1e6 : 0
    if (result >= 0) return { ended: 'changed', longest }
    if (result === -os.errno.ETIMEDOUT) return { ended: 'quiet', longest }
    if (result === -os.errno.EINTR) return { ended: 'interrupted', longest }
    throw new CallError(-result, 'await change')
  }

  /**
   * Ends the thread, or leaves the thread behind if a call holds it. Pending calls reject with ECANCELED. Descriptors are closed now, or
   * when the thread comes free.
   */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#native?.close()
    for (const { kind, reject } of this.#pending.values()) reject(new CallError(os.errno.ECANCELED, kind))
    this.#pending.clear()
    this.#owed = 0
  }

  async #open(kind: Kind, asked: Arguments): Promise<Opened> {
    const { result, data } = await this.#ask(kind, asked)
    return { fd: result, stat: new FileStat(data) }
  }

  async #ask(kind: Kind, asked: Arguments): Promise<Answer> {
    const answer = await this.#answer(kind, asked)
    if (answer.result < 0) throw new CallError(-answer.result, kind)
    return answer
  }

  #answer(kind: Kind, { numbers = [], one, other, keepsAlive = true }: Arguments): Promise<Answer> {
    if (this.#ended) return Promise.reject(new CallError(os.errno.ECANCELED, kind))
    const native = this.#opened()
    // 0 marks calls without an answer.
    this.#last = (this.#last % (2 ** 32 - 1)) + 1
    const id = this.#last
    const [a = 0, b = 0, c = 0] = numbers
    const error = native.push(id, KINDS.indexOf(kind), a, b, c, bytesOf(one), bytesOf(other))
    if (error < 0) return Promise.reject(new CallError(-error, kind))
    if (kind !== 'await change' && this.#owed++ === 0) this.#since = performance.now()
    if (keepsAlive && this.#keepingAlive++ === 0) native.ref()
    return new Promise((resolve, reject) => this.#pending.set(id, { kind, keepsAlive, resolve, reject }))
  }

  #opened(): NativeCalls {
    if (this.#native !== undefined) return this.#native
    const native = new (loadAddon().Calls)()
    const error = native.open((id, result, data) => this.#settle(native, id, { result, data }))
    if (error < 0) throw new CallError(-error, 'open')
    this.#native = native
    return native
  }

  #settle(native: NativeCalls, id: number, answer: Answer): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    this.#since = performance.now()
    if (pending.kind !== 'await change') this.#owed--
    if (pending.keepsAlive && --this.#keepingAlive === 0) native.unref()
    pending.resolve(answer)
  }
}

function bytesOf(text: string | Buffer | undefined): string | Buffer | null {
  return typeof text === 'string' ? pathOf(text) : (text ?? null)
}
