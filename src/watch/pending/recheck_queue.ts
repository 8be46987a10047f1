import type { Directory } from '../tree/directory.ts'
import { ByName } from './by_name.ts'

/** The names to be looked at in each directory; undefined: all that is in it. */
export type Questions = ReadonlyMap<Directory, readonly string[] | undefined>

interface Hint {
  readonly wasWritten: boolean
  readonly wasSwapped: boolean
}

/**
 * Names, and whole directories, where another entry may be than is known. Each stays until a look counts: it does if nothing was noted of the name between the
 * look and its answer; otherwise the look is ahead of the events.
 */
export class RecheckQueue {
  // By name, the turn of its last doubt or event. A turn begins with each look and each answer, which may add doubts.
  readonly #names = new ByName<number>()
  readonly #whole = new Map<Directory, number>()
  readonly #hints = new ByName<Hint>()
  // By the cookie of an entry that has left a name: the hint of that name.
  readonly #left = new Map<number, Hint>()
  // True: since there are names that may be swapped, a file at one was written, or an exchange is known to be real.
  #isSwappedWritten = false
  #turn = 0
  // The turn of the last look.
  #begunAt = 0
  // The questions of the look under way.
  #asked: Questions | undefined

  get isEmpty(): boolean {
    return this.#names.size === 0 && this.#whole.size === 0
  }

  add(directory: Directory, name: string): void {
    this.#names.set(directory, name, this.#turn)
  }

  /** Adds a whole directory. */
  addAll(directory: Directory): void {
    this.#whole.set(directory, this.#turn)
  }

  /**
   * Notes an event of a write at a name at which no entry is known. If an exchange was taken for a rename over a file and back, there is an entry, which
   * is known elsewhere and may be there again before the recheck looks.
   */
  addWritten(directory: Directory, name: string): void {
    const wasSwapped = this.wasSwapped(directory, name)
    if (wasSwapped) this.#isSwappedWritten = true
    this.#hints.set(directory, name, { wasWritten: true, wasSwapped })
    this.add(directory, name)
  }

  /** Notes an event of a write that was reported of the entry known at this name, which may be the other one of an exchange. */
  noteWritten(directory: Directory, name: string): void {
    if (!this.wasSwapped(directory, name)) return
    this.#isSwappedWritten = true
    this.#hints.set(directory, name, { wasWritten: true, wasSwapped: true })
  }

  /** Returns true if a write to the entry that had this name may not have been reported. */
  wasWritten(directory: Directory, name: string): boolean {
    return this.#hints.get(directory, name)?.wasWritten === true
  }

  /** Adds a name at which either of two entries may be: their exchange may have been reported as something else. */
  addSwapped(directory: Directory, name: string): void {
    this.#hints.set(directory, name, { wasWritten: this.wasWritten(directory, name), wasSwapped: true })
    this.add(directory, name)
  }

  /** Returns true if the entry that had this name may be the other one of an exchange, and no look has counted since. */
  wasSwapped(directory: Directory, name: string): boolean {
    return this.#hints.get(directory, name)?.wasSwapped === true
  }

  /**
   * Notes that an event or a look has shown an entry at a name where none is known. If the name may be swapped, it was, by an exchange reported as a rename
   * over a file and back. The entry at the other name may be known by a look ahead of that, and then no look can tell that it is another.
   */
  noteUnbelieved(directory: Directory, name: string): void {
    if (this.wasSwapped(directory, name)) this.#isSwappedWritten = true
  }

  /**
   * Notes that an entry has left this name which is not the entry known there, if one is. If an exchange was taken for a rename over a file and back, it may be
   * one that is known elsewhere: so the hint of this name goes with it, to where it arrives.
   */
  noteLeft(directory: Directory, name: string, cookie: number): void {
    const hint = this.#hints.get(directory, name)
    if (hint !== undefined) this.#left.set(cookie, hint)
  }

  /** Notes that an entry has arrived at this name, which may have left another by {@link noteLeft}. */
  noteArrived(directory: Directory, name: string, cookie: number): void {
    const left = this.#left.get(cookie)
    if (left?.wasWritten) this.addWritten(directory, name)
    if (left?.wasSwapped) this.addSwapped(directory, name)
  }

  /** Notes an event about a name: if the name is in doubt, no look before the event counts. */
  noteEvent(directory: Directory, name: string): void {
    const isAsked = this.#asked?.has(directory) && this.#asked.get(directory) === undefined
    if (isAsked || this.#names.get(directory, name) !== undefined) this.add(directory, name)
  }

  /** Drops everything, as all is looked at otherwise; a look under way is out of date. */
  clear(): void {
    this.forget(() => true)
    this.#left.clear()
    this.#isSwappedWritten = false
  }

  /** Drops directories; a look under way is out of date, and the other directories stay in doubt. */
  forget(isForgotten: (directory: Directory) => boolean): void {
    this.#asked = undefined
    for (const directory of this.#whole.keys()) if (isForgotten(directory)) this.#whole.delete(directory)
    for (const names of [this.#names, this.#hints]) names.forget(isForgotten)
  }

  /** Returns all that is to be looked at. */
  begin(): Questions {
    this.#begunAt = ++this.#turn
    const questions = new Map<Directory, readonly string[] | undefined>()
    for (const [directory, names] of this.#names) questions.set(directory, [...names.keys()])
    for (const directory of this.#whole.keys()) questions.set(directory, undefined)
    this.#asked = questions
    return questions
  }

  /** Ends a look. Returns false if the look is of no use: all has been looked at otherwise since. */
  end(questions: Questions): boolean {
    const isOfUse = this.#asked === questions
    this.#asked = undefined
    this.#turn++
    return isOfUse
  }

  /** Returns the names of a directory that were noted between the last look and its answer. */
  spokenIn(directory: Directory): ReadonlySet<string> {
    const names = [...this.#names.in(directory)].filter(([, turn]) => turn === this.#begunAt)
    return new Set(names.map(([name]) => name))
  }

  /**
   * Settles a directory in which the last look counts, or that cannot be looked into: only names noted since stay in doubt.
   *
   * @returns the names of files that may have been written without a report: such a file was under the other name of an exchange, and is back at its
   * known name, as the look has shown before the events of that were queued
   */
  settle(directory: Directory): string[] {
    const isInDoubt = (turn: number | undefined) => turn !== undefined && turn >= this.#begunAt
    if (!isInDoubt(this.#whole.get(directory))) this.#whole.delete(directory)
    for (const [name, turn] of [...this.#names.in(directory)])
      if (!isInDoubt(turn)) this.#names.take(directory, name)
    const hints = [...this.#hints.in(directory)].filter(
      ([name]) => this.#names.get(directory, name) === undefined,
    )
    for (const [name] of hints) this.#hints.take(directory, name)
    const written = hints.filter(([, { wasSwapped }]) => wasSwapped && this.#isSwappedWritten)
    if (this.#hints.size === 0) {
      this.#isSwappedWritten = false
      // Entries that left these names have arrived: the kernel queues both halves at once, the look came later.
      this.#left.clear()
    }
    return written.map(([name]) => name)
  }

  /** Yields the names of a directory at which there may be the other one of an exchange. */
  *swappedIn(directory: Directory): Generator<string> {
    for (const [name, { wasSwapped }] of this.#hints.in(directory)) if (wasSwapped) yield name
  }
}
