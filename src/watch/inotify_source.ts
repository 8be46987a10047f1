import type { EventBatch } from '../inotify/batch.ts'
import {
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_EXCL_UNLINK,
  IN_IGNORED,
  IN_MODIFY,
  IN_MOVE,
  IN_MOVE_SELF,
  IN_ONLYDIR,
  IN_Q_OVERFLOW,
  IN_UNMOUNT,
} from '../inotify/constants.ts'
import { barrier, type Inotify } from '../inotify/inotify.ts'
import { keyOf } from './names.ts'
import type { Root } from './root.ts'

// Everything that changes names and identities, always: a mask of fewer lets the kernel merge what must be told apart.
// CLOSE_WRITE: an asynchronous write gives no MODIFY. EXCL_UNLINK: no events under a name that is gone.
const EVENTS =
  IN_CREATE | IN_DELETE | IN_MOVE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF
const MASK = EVENTS | IN_ONLYDIR | IN_EXCL_UNLINK

const ROOT_GONE = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED

/** An event about a name in a root. */
export interface NameEvent {
  root: Root
  mask: number
  cookie: number
  /** As {@link keyOf} makes it. */
  name: string
}

/** What an {@link InotifySource} tells, in the order of the kernel; the next is told when the promise of the last has settled. */
export interface InotifyListener {
  events(events: NameEvent[]): Promise<void>
  /** Events were lost, of any root, and more will not be told. */
  overflow(): Promise<void>
  /** What there is to be seen now is newer than all that was not told; what comes from now on is told again. */
  recover(): Promise<void>
  /** The root's directory was deleted, renamed or unmounted; its watch is no more. */
  gone(root: Root): Promise<void>
  /** Reading failed: nothing is told any more. */
  failed(error: Error): void
}

/** The roots' watches on one inotify instance. */
export class InotifySource {
  readonly #inotify: Inotify
  readonly #listener: InotifyListener
  // One inode has one wd, by however many paths it is watched.
  readonly #roots = new Map<number, Set<Root>>()
  // In the order in which they were set.
  readonly #barriers = new Map<number, () => void>()
  // After an overflow, until a barrier is met: what is in the queue is older than any listing that could be made now, and would take
  // back what that has shown.
  #isLost = false
  readonly #pump: Promise<void>

  constructor(inotify: Inotify, listener: InotifyListener) {
    this.#inotify = inotify
    this.#listener = listener
    this.#pump = this.#run().catch((error: Error) => listener.failed(error))
  }

  /**
   * Watches the directory that `path` (of an open descriptor, so that it is the very one) refers to; again, if the watch is gone: an
   * overflow swallows the IN_IGNORED that would have told. Throws InotifyError.
   */
  attach(root: Root, path: string): void {
    const wd = this.#inotify.add(path, MASK)
    if (root.wd !== undefined && root.wd !== wd) this.detach(root)
    root.wd = wd
    const roots = this.#roots.get(wd)
    if (roots === undefined) this.#roots.set(wd, new Set([root]))
    else roots.add(root)
  }

  detach(root: Root): void {
    const { wd } = root
    const roots = wd === undefined ? undefined : this.#roots.get(wd)
    root.wd = undefined
    if (wd === undefined || roots === undefined) return
    roots.delete(root)
    if (roots.size > 0) return
    this.#roots.delete(wd)
    try {
      this.#inotify.remove(wd)
    } catch {
      // EINVAL: the kernel has removed it already, and its IN_IGNORED is on the way.
    }
  }

  /** Resolves when everything that the kernel had queued before has been told. */
  barrier(): Promise<void> {
    return new Promise((resolve, reject) => this.#setBarrier(resolve).catch(reject))
  }

  async close(): Promise<void> {
    this.#inotify.close()
    this.#passBarriers()
    await this.#pump
  }

  async #run(): Promise<void> {
    for await (const batch of this.#inotify) await this.#deliver(batch)
  }

  async #deliver(batch: EventBatch): Promise<void> {
    let events: NameEvent[] = []
    const tellEvents = async () => {
      if (events.length > 0) await this.#listener.events(events)
      events = []
    }
    for (let i = 0; i < batch.length; i++) {
      const wd = batch.wd(i)
      const mask = batch.mask(i)
      if (mask & IN_Q_OVERFLOW) {
        await tellEvents()
        if (!this.#isLost) await this.#listener.overflow()
        this.#isLost = true
        // This overflow may have swallowed the barrier that the last one set.
        await this.#setBarrier(() => {}).catch(() => this.#recover())
        continue
      }
      for (const root of this.#isLost ? [] : (this.#roots.get(wd) ?? [])) {
        const name = nameIn(batch, i)
        if (name !== '') events.push({ root, mask, cookie: batch.cookie(i), name })
        else if (mask & ROOT_GONE) {
          await tellEvents()
          this.detach(root)
          await this.#listener.gone(root)
        }
      }
      if (mask & IN_IGNORED && this.#barriers.has(wd)) {
        await tellEvents()
        if (this.#isLost) await this.#recover()
        this.#passBarriers(wd)
      }
    }
    await tellEvents()
  }

  async #recover(): Promise<void> {
    this.#isLost = false
    await this.#listener.recover()
  }

  async #setBarrier(pass: () => void): Promise<void> {
    this.#barriers.set(this.#inotify[barrier](), pass)
  }

  /** Those that were set before it as well: an overflow has swallowed them. All, without a `last`. */
  #passBarriers(last?: number): void {
    for (const [wd, pass] of this.#barriers) {
      this.#barriers.delete(wd)
      pass()
      if (wd === last) return
    }
  }
}

function nameIn(batch: EventBatch, i: number): string {
  const name = batch.name(i)
  return name.includes('\ufffd') ? keyOf(batch.nameBytes(i)) : name
}
