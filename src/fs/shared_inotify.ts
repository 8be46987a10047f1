import type { EventBatch } from '../inotify/batch.ts'
import {
  IN_ATTRIB,
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_MODIFY,
  IN_MOVE,
  IN_MOVE_SELF,
  IN_Q_OVERFLOW,
} from '../inotify/constants.ts'
import { Inotify } from '../inotify/inotify.ts'
import type { ChangeSource, OnChange, OnError } from './fs_watcher.ts'

// What libuv asks for (uv_fs_event_start in src/unix/linux.c), and so fs.watch().
const MASK = IN_ATTRIB | IN_CREATE | IN_MODIFY | IN_DELETE | IN_DELETE_SELF | IN_MOVE | IN_MOVE_SELF
const CHANGES = IN_ATTRIB | IN_MODIFY

interface Sink {
  /** What an event without a name is about. */
  name: Buffer
  onChange: OnChange
  onError: OnError
}

/**
 * One inotify instance for all watches of a thread, as fs.watch() has it: there are 128 for a user. It is open while there is one that watches, and keeps the process
 * while one of them does. An inode has one watch, however many watch it.
 */
export class SharedInotify {
  #inotify: Inotify | undefined
  readonly #sinks = new Map<number, Set<Sink>>()
  #refs = 0

  /** Throws InotifyError as the path cannot be watched. */
  watch(path: string | Buffer, name: Buffer, onChange: OnChange, onError: OnError): ChangeSource {
    const wd = this.#add(path)
    const sink = { name, onChange, onError }
    const others = this.#sinks.get(wd) ?? new Set()
    this.#sinks.set(wd, others.add(sink))
    let isPersistent = true
    this.#hold(1)
    const hold = (persistent: boolean) => {
      if (persistent !== isPersistent) this.#hold(persistent ? 1 : -1)
      isPersistent = persistent
    }
    return {
      ref: () => hold(true),
      unref: () => hold(false),
      close: () => {
        hold(false)
        this.#remove(wd, sink)
      },
    }
  }

  #add(path: string | Buffer): number {
    if (this.#inotify !== undefined) return this.#inotify.add(path, MASK)
    const inotify = new Inotify({ persistent: false })
    try {
      const wd = inotify.add(path, MASK)
      inotify.on('events', (batch) => this.#tell(batch)).on('error', (error) => this.#fail(error))
      this.#inotify = inotify
      return wd
    } catch (error) {
      inotify.close()
      throw error
    }
  }

  /** It has closed of itself: events can no longer be read. */
  #fail(error: Error): void {
    const all = [...this.#sinks.values()].flatMap((sinks) => [...sinks])
    for (const { onError } of all) onError(error)
  }

  #remove(wd: number, sink: Sink): void {
    const sinks = this.#sinks.get(wd)
    sinks?.delete(sink)
    if (sinks?.size !== 0) return
    this.#sinks.delete(wd)
    if (this.#sinks.size > 0) {
      try {
        this.#inotify?.remove(wd)
      } catch {
        // EINVAL: what was watched is gone, and its watch with it.
      }
      return
    }
    this.#inotify?.close()
    this.#inotify = undefined
  }

  #hold(by: number): void {
    this.#refs += by
    if (this.#refs === 0) this.#inotify?.unref()
    else this.#inotify?.ref()
  }

  #tell(batch: EventBatch): void {
    for (let i = 0; i < batch.length; i++) {
      const mask = batch.mask(i)
      if (mask & IN_Q_OVERFLOW) for (const sinks of [...this.#sinks.values()]) tellAll(sinks, 'rename', null)
      const sinks = this.#sinks.get(batch.wd(i))
      if (sinks === undefined) continue
      // As libuv has it: what is anything but these, if only IN_ISDIR or IN_IGNORED, is a rename.
      const type = mask & ~CHANGES ? 'rename' : 'change'
      tellAll(sinks, type, batch.name(i) === '' ? undefined : batch.nameBytes(i))
    }
  }
}

/** @param name undefined: their own; null: nobody knows */
function tellAll(sinks: Iterable<Sink>, type: 'rename' | 'change', name: Buffer | null | undefined): void {
  for (const { name: own, onChange } of [...sinks]) onChange(type, name === undefined ? own : name)
}
