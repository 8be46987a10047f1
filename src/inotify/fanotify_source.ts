import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { loadAddon } from '../addon.ts'
import { InotifyError } from '../errors.ts'
import { keysOf } from '../name_key.ts'
import { openHint } from './limits.ts'

/** An event of a file system that {@link Fanotify.add} has marked. */
export interface FanotifyEvent {
  /**
   * The absolute path as it was when the event was read; bytes that are no UTF-8 are U+FFFD. `undefined`: by then its directory was gone, or no path through the mount that was added led to it.
   */
  path: string | undefined
  /** The bits of inotify, joined where the kernel has merged events: test it with `&`, print it with {@link formatMask}. IN_Q_OVERFLOW: the queue was full, and events are lost. */
  mask: number
  /** The process that made the change, as this process's pid namespace numbers it; 0: one outside of that, or an overflow. */
  pid: number
  /** The name of the process (/proc/PID/comm); `undefined` if it had ended when the event was read. */
  comm: string | undefined
}

/** ms from a read to the next: others may keep a file system busy. */
const REST_MS = 1

/** Events of whole file systems. Their paths are keys: see name_key.ts. */
export class FanotifySource {
  readonly #native = new (loadAddon().Fanotify)()
  readonly #take: (events: FanotifyEvent[]) => void
  readonly #fail: (error: InotifyError) => void
  readonly #hasRoom: () => boolean
  #isResting = false

  /**
   * Throws InotifyError.
   *
   * @param take gets what one read gives
   * @param fail gets the error by which events can no longer be read
   * @param hasRoom returns false if nothing is to be read until {@link resume}
   */
  constructor(
    take: (events: FanotifyEvent[]) => void,
    fail: (error: InotifyError) => void,
    hasRoom = () => true,
  ) {
    this.#take = take
    this.#fail = fail
    this.#hasRoom = hasRoom
    const error = this.#native.open(() => this.#readInTurn())
    if (error < 0) throw fanotifyError(-error, 'fanotify_init')
  }

  /** Marks the file system of a directory. Throws InotifyError. */
  add(path: string | Buffer): void {
    const error = this.#native.add(path)
    if (error < 0) throw fanotifyError(-error, 'fanotify_mark', path)
  }

  /** Reads what is queued, up to 64 KiB. Returns false if there was nothing. */
  read(): boolean {
    const found = this.#native.read()
    if (typeof found === 'number') {
      this.close()
      this.#fail(fanotifyError(-found, 'read'))
      return false
    }
    const comms = new Map<number, string | undefined>()
    const events = found.map(({ mask, pid, path }) => {
      if (!comms.has(pid)) comms.set(pid, commOf(pid))
      const key = path === undefined ? undefined : keysOf(Buffer.from(path, 'latin1'))
      return { path: key, mask, pid, comm: comms.get(pid) }
    })
    if (events.length > 0) this.#take(events)
    return events.length > 0
  }

  /** Reads again, when there is room. */
  resume(): void {
    if (!this.#isResting) this.#native.flow(this.#hasRoom())
  }

  /** Lets the process end though this is open. */
  unref(): void {
    this.#native.unref()
  }

  close(): void {
    this.#native.close()
  }

  #readInTurn(): void {
    this.#isResting = true
    this.#native.flow(false)
    setTimeout(() => {
      this.#isResting = false
      this.resume()
    }, REST_MS)
    this.read()
  }
}

function commOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').slice(0, -1)
  } catch {
    return undefined
  }
}

/** @param errno as a call of fanotify(7) gives it */
export function fanotifyError(errno: number, syscall: string, path?: string | Buffer): InotifyError {
  return new InotifyError({ errno, syscall, path, hint: HINTS.get(errno) ?? openHint(errno) })
}

const HINTS: ReadonlyMap<number, string> = new Map([
  [
    constants.errno.EPERM,
    'to be told of a whole file system takes CAP_SYS_ADMIN, and its paths take CAP_DAC_READ_SEARCH, where the file system was mounted: ' +
      'run as root of the host, or give both (AmbientCapabilities= in a systemd unit, --cap-add for a container)',
  ],
  [
    constants.errno.ENODEV,
    'this file system (FUSE, virtiofs, NFS) has no number by which fanotify could name it: nobody tells who changes it',
  ],
  [
    constants.errno.EOPNOTSUPP,
    'this file system (an overlay without nfs_export=on, procfs) gives no file handles: nobody tells who changes it',
  ],
  [
    constants.errno.EXDEV,
    'this is a subvolume of btrfs, and only the whole can be marked: mount its top level (subvolid=5), and add that',
  ],
  [
    constants.errno.ENOTDIR,
    'the path must be of a directory, and by a file that is mounted alone its directory is not seen',
  ],
  [constants.errno.EINVAL, 'Linux 5.9 or later is needed'],
  [constants.errno.ENOSYS, 'this kernel has no fanotify, or a sandbox or an emulator refuses it'],
  [
    constants.errno.EMFILE,
    "this process has as many files open as it may ('ulimit -n'), or its user as many instances: raise fs.fanotify.max_user_groups",
  ],
])
