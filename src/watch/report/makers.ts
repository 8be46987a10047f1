import { dirname } from 'node:path'
import { InotifyError } from '../../errors.ts'
import { IN_Q_OVERFLOW } from '../../inotify/constants.ts'
import type { FanotifyEvent } from '../../inotify/fanotify_source.ts'
import { textOf } from '../../name_key.ts'
import type { WatchSystem } from '../system.ts'
import { type Change, type ChangeMaker, pathsOf } from './change.ts'
import { codeOf, isMissing } from './watch_error.ts'

/** ms for which an event may be of a change that is told. */
const KEPT_MS = 5000
const MOST_KEPT = 10_000
/** The reads, of 64 KiB each, that take what the kernel's queue has room for (16,384 events), and not all that comes meanwhile. */
const MOST_READS = 32

/** Says which process has made a change, if fanotify(7) has told of the same path lately. */
export class Makers {
  readonly #system: Pick<WatchSystem, 'openFanotify' | 'clock'>
  readonly #failed: (error: unknown) => void
  readonly #errors = new Set<string | undefined>()
  readonly #made = new Map<string, { by: ChangeMaker; at: number }>()
  /** The real paths of those that lead over symlinks. */
  readonly #real = new Map<string, string>()
  #fanotify: ReturnType<WatchSystem['openFanotify']> | undefined
  #isClosed = false

  /** @param failed gets each kind of error once: then nothing is said of some changes, or of all */
  constructor(system: Pick<WatchSystem, 'openFanotify' | 'clock'>, failed: (error: unknown) => void) {
    this.#system = system
    this.#failed = failed
  }

  /** Has changes told of the whole file system of a path. */
  cover(path: string): void {
    if (this.#isClosed) return
    try {
      this.#fanotify ??= this.#system.openFanotify(
        (events) => this.#note(events),
        (error) => {
          this.close()
          this.#fail(error)
        },
      )
      const real = this.#fanotify.add(path)
      if (real === path) this.#real.delete(path)
      else this.#real.set(path, real)
    } catch (error) {
      if (!isMissing(error)) this.#fail(error)
    }
  }

  /** Adds `by` to changes that are told from events. What is queued by now is read first: the kernel queues it for both at once. */
  sign(changes: readonly Change[]): void {
    if (!changes.some(isByEvent)) return
    for (let i = 0; i < MOST_READS && this.#fanotify?.read(); i++);
    for (const change of changes) {
      if (!isByEvent(change)) continue
      const makers = pathsOf(change).map((path) => this.#makerOf(path))
      const by = makers.find((each) => each !== undefined)
      if (by && by.pid > 0) change.by = { ...by }
      else if (by) this.#fail(unseenError(change.path))
    }
  }

  close(): void {
    this.#isClosed = true
    this.#fanotify?.close()
    this.#fanotify = undefined
  }

  #note(events: readonly FanotifyEvent[]): void {
    const at = this.#system.clock.elapsed()
    for (const { path, mask, pid, comm: now } of events) {
      if (mask & IN_Q_OVERFLOW) this.#made.clear()
      if (path === undefined) continue
      const before = this.#made.get(path)?.by
      const comm = now ?? (before?.pid === pid ? before.comm : undefined)
      // The latest are last.
      this.#made.delete(path)
      this.#made.set(path, { by: comm === undefined ? { pid } : { pid, comm }, at })
    }
    for (const path of this.#made.keys()) {
      if (this.#made.size <= MOST_KEPT) break
      this.#made.delete(path)
    }
  }

  #makerOf(path: string): ChangeMaker | undefined {
    const made = this.#made.get(this.#realPathOf(path))
    return made !== undefined && this.#system.clock.elapsed() - made.at < KEPT_MS ? made.by : undefined
  }

  #realPathOf(path: string): string {
    for (let at = path; this.#real.size > 0 && at !== '/'; at = dirname(at)) {
      const real = this.#real.get(at)
      if (real !== undefined) return real + path.slice(at.length)
    }
    return path
  }

  #fail(error: unknown): void {
    const code = codeOf(error)
    if (!this.#errors.has(code)) this.#failed(error)
    this.#errors.add(code)
  }
}

function unseenError(path: string): InotifyError {
  const hint =
    'the process that made this change has no number here: run in the pid namespace of the host (hostPID, --pid=host), and not as the root of a user namespace alone'
  return new InotifyError({ errno: 'ESRCH', syscall: 'fanotify', path: textOf(path), hint })
}

type ByEvent = Exclude<Change, { type: 'overflow' | 'recovered' | 'restored' }>

const isByEvent = (change: Change): change is ByEvent =>
  change.source === 'inotify' &&
  change.type !== 'overflow' &&
  change.type !== 'recovered' &&
  change.type !== 'restored'
