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
import { barrier, Inotify } from '../inotify/inotify.ts'
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
  name: string
  nameBytes: Buffer
}

/** What an {@link InotifySource} tells, in the order of the kernel; the next is told when the promise of the last has settled. */
export interface InotifyListener {
  events(events: NameEvent[]): Promise<void>
  /** Events were lost, of any root. */
  overflow(): Promise<void>
  /** The root's directory was deleted, renamed or unmounted; its watch is no more. */
  gone(root: Root): Promise<void>
  failed(error: Error): void
}

/** The roots' watches on one inotify instance. */
export class InotifySource {
  readonly #inotify: Inotify
  readonly #listener: InotifyListener
  // One inode has one wd, by however many paths it is watched.
  readonly #roots = new Map<number, Set<Root>>()
  readonly #barriers = new Map<number, () => void>()
  readonly #pump: Promise<void>

  constructor(persistent: boolean, listener: InotifyListener) {
    this.#inotify = new Inotify({ persistent })
    this.#listener = listener
    this.#pump = this.#run().catch((error: Error) => listener.failed(error))
  }

  /** Watches the directory that `path` (of an open descriptor, so that it is the very one) refers to. Throws InotifyError. */
  attach(root: Root, path: string): void {
    root.wd = this.#inotify.add(path, MASK)
    const roots = this.#roots.get(root.wd)
    if (roots === undefined) this.#roots.set(root.wd, new Set([root]))
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
    return new Promise((resolve) => this.#barriers.set(this.#inotify[barrier](), resolve))
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
        await this.#listener.overflow()
        // A mark that did not fit went the same way, and everything before it has been told now.
        this.#passBarriers()
        continue
      }
      const name = batch.name(i)
      const nameBytes = batch.nameBytes(i)
      for (const root of this.#roots.get(wd) ?? []) {
        if (name !== '') events.push({ root, mask, cookie: batch.cookie(i), name, nameBytes })
        else if (mask & ROOT_GONE) {
          await tellEvents()
          this.detach(root)
          await this.#listener.gone(root)
        }
      }
      if (mask & IN_IGNORED && this.#barriers.has(wd)) {
        await tellEvents()
        this.#barriers.get(wd)?.()
        this.#barriers.delete(wd)
      }
    }
    await tellEvents()
  }

  #passBarriers(): void {
    for (const pass of this.#barriers.values()) pass()
    this.#barriers.clear()
  }
}
