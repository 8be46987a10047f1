import { IN_CLOSE_WRITE, IN_CREATE, IN_MODIFY } from '../../inotify/constants.ts'
import type { Clock } from '../clock.ts'
import { absorb, append, type Change, type EntryChange, type Kind, pathsOf } from './change.ts'

/** After 50 ms a save is told though its writer has not closed the file: a log stays open. */
const SAVE_MS = 50

/** A held change: a modify, or the create of a file that is being written, and its deadline. */
interface Held {
  change: EntryChange
  until: number
}

/** Returns true if an event will tell that the writer has closed the file: not after a poll, not of a link, nor of a file that was moved here. */
function isWriting(change: Change): boolean {
  if (change.type === 'modify') return (change.mask & (IN_MODIFY | IN_CLOSE_WRITE)) === IN_MODIFY
  return change.type === 'create' && change.kind === 'file' && (change.mask & IN_CREATE) !== 0
}

/** Returns 'directory' if entries may lie below a path of the change. */
function kindOf(change: Change): Kind {
  if (change.type === 'exchange') return change.otherKind === 'directory' ? 'directory' : change.kind
  return 'kind' in change ? change.kind : 'directory'
}

/**
 * Holds changes of a file back while the file is being written.
 *
 * With a time: a 'modify', until its path has had none for so long. Without: a 'modify' by IN_MODIFY and the 'create' of a file, with all that is written
 * meanwhile, until IN_CLOSE_WRITE, for 50 ms at most: a save is one change. A held 'create' is reported before any other change of its path.
 *
 * Other changes pass, and take along what is held of their path: a renamed file is still one that was written. Only a change of a directory looks through all
 * that is held, for what lies below.
 */
export class ModifyDebounce {
  // undefined: a save is one change.
  readonly #quiet: number | undefined
  readonly #clock: Clock
  readonly #report: (changes: Change[]) => void
  // In the order of their deadlines.
  readonly #held = new Set<Held>()
  readonly #byPath = new Map<string, Held>()
  #cancelTimer: (() => void) | undefined

  /** @param quiet ms; undefined: until the file is closed */
  constructor(quiet: number | undefined, clock: Clock, report: (changes: Change[]) => void) {
    this.#quiet = quiet
    this.#clock = clock
    this.#report = report
  }

  take(changes: Change[]): void {
    const passed: Change[] = []
    for (const change of changes) {
      const held = change.type === 'modify' || change.type === 'attrib' ? this.#heldFor(change) : undefined
      if (held !== undefined) this.#join(held, change as EntryChange, passed)
      else if (this.#isToWait(change)) this.#hold(change)
      else {
        // Changes after a loss are compared with what was told of the root.
        if (change.type === 'lost') for (const held of this.#take(change.path, 'directory')) passed.push(held)
        this.#passCreates(change, passed)
        this.#follow(change)
        append(passed, change)
      }
    }
    if (passed.length > 0) this.#report(passed)
    this.#arm()
  }

  /** Returns true if a 'create' of this path waits to be reported. */
  holdsCreate(path: string): boolean {
    return this.#byPath.get(path)?.change.type === 'create'
  }

  /** Tells now what is held back of a path and of what lies below it; without a path: everything. */
  flush(path = '/'): void {
    const changes = this.#take(path, 'directory')
    if (changes.length > 0) this.#report(changes)
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#held.clear()
  }

  /** Returns the held change that a change of content or attributes joins. An 'attrib' does not join a 'modify'. */
  #heldFor({ type, path }: EntryChange): Held | undefined {
    const held = this.#byPath.get(path)
    return type === 'modify' || held?.change.type === 'create' ? held : undefined
  }

  /** Returns true if later changes of its path are waited for. */
  #isToWait(change: Change): change is EntryChange {
    return this.#quiet === undefined ? isWriting(change) : change.type === 'modify'
  }

  #hold(change: EntryChange): void {
    const held = { change, until: this.#clock.elapsed() + (this.#quiet ?? SAVE_MS) }
    this.#byPath.set(change.path, held)
    this.#held.add(held)
  }

  #join(held: Held, change: EntryChange, passed: Change[]): void {
    const isClosed = this.#quiet === undefined && change.type === 'modify' && !isWriting(change)
    if (held.change.type === 'create') {
      absorb(held.change, change)
      this.#correct(change.path, change.kind)
    } else {
      change.mask |= held.change.mask
      held.change = change
    }
    if (this.#quiet !== undefined) {
      held.until = this.#clock.elapsed() + this.#quiet
      // Goes behind all others, whose deadlines are earlier.
      this.#held.delete(held)
      this.#held.add(held)
    } else if (isClosed) append(passed, this.#release(held))
  }

  /** Reports held creates first: an entry must be there before another change of it. */
  #passCreates(change: Change, passed: Change[]): void {
    if (this.#quiet !== undefined || this.#held.size === 0 || change.type === 'attrib') return
    for (const path of pathsOf(change))
      for (const held of this.#at(path, kindOf(change)))
        if (held.change.type === 'create') passed.push(this.#release(held))
  }

  /** Moves what is held of a path to where the path goes, with what is held below it: a change of a directory speaks for all of them. */
  #follow(change: Change): void {
    if (this.#held.size === 0) return
    const kind = kindOf(change)
    if (change.type === 'delete') this.#take(change.path, kind)
    else if (change.type === 'create' || change.type === 'attrib') this.#correct(change.path, kind)
    else if (change.type === 'rename') {
      const { from, path } = change
      this.#take(path, kind)
      this.#move(this.#at(from, kind), from, path)
      this.#correct(path, kind)
    } else if (change.type === 'exchange') {
      const { path, other } = change
      const [there, here] = [this.#at(path, kind), this.#at(other, kind)]
      this.#move(there, path, other)
      this.#move(here, other, path)
      this.#correct(path, change.kind)
      this.#correct(other, change.otherKind)
    }
  }

  /** Returns what is held of a path, and of a directory's what is held below it too, in the order of the deadlines. */
  #at(path: string, kind: Kind): Held[] {
    const own = this.#byPath.get(path)
    if (kind !== 'directory') return own === undefined ? [] : [own]
    const below = path === '/' ? '/' : `${path}/`
    return [...this.#held].filter((held) => held === own || held.change.path.startsWith(below))
  }

  #take(path: string, kind: Kind): Change[] {
    return this.#at(path, kind).map((held) => this.#release(held))
  }

  #move(all: readonly Held[], from: string, to: string): void {
    for (const held of all) {
      const { change } = held
      if (this.#byPath.get(change.path) === held) this.#byPath.delete(change.path)
      change.path = to + change.path.slice(from.length)
      this.#byPath.set(change.path, held)
    }
  }

  /** Corrects the kind, which a later look may have found: the event of a link that came over a file does not say that it is a link. */
  #correct(path: string, kind: Kind): void {
    const held = this.#byPath.get(path)
    if (held !== undefined) held.change.kind = kind
  }

  #arm(): void {
    if (this.#cancelTimer !== undefined) return
    const [next] = this.#held
    if (next === undefined) return
    const wait = Math.max(1, next.until - this.#clock.elapsed())
    this.#cancelTimer = this.#clock.after(wait, () => {
      this.#cancelTimer = undefined
      this.#releaseDue(this.#clock.elapsed())
    })
  }

  #release(held: Held): Change {
    this.#held.delete(held)
    this.#byPath.delete(held.change.path)
    return held.change
  }

  #releaseDue(now: number): void {
    const changes: Change[] = []
    for (const held of this.#held) {
      if (held.until > now) break
      append(changes, this.#release(held))
    }
    if (changes.length > 0) this.#report(changes)
    this.#arm()
  }
}
