import type { Directory } from '../tree/directory.ts'
import { ByName } from './by_name.ts'

/** What is asked of a directory: what is at these names; undefined: what is in it. */
export type Questions = ReadonlyMap<Directory, readonly string[] | undefined>

interface Hint {
  readonly wasWritten: boolean
  readonly wasSwapped: boolean
}

/**
 * Names, and whole directories, of which something else may be there than is believed. Each stays until a look counts: what was seen of a name does if nothing
 * has been said of the name between the look and the answer; otherwise it is ahead of the events.
 */
export class RecheckQueue {
  // With the turn at which something was last said of it: one begins with each look, and one with its answer, which may raise doubts itself.
  readonly #names = new ByName<number>()
  readonly #whole = new Map<Directory, number>()
  readonly #hints = new ByName<Hint>()
  // By the cookie of what has left a name: what was said of the name.
  readonly #left = new Map<number, Hint>()
  // Since there have been names that may be swapped: whether what has one was written, or an exchange is known to have been.
  #isSwappedWritten = false
  #turn = 0
  // That of the last look.
  #begunAt = 0
  // While a look is under way.
  #asked: Questions | undefined

  get isEmpty(): boolean {
    return this.#names.size === 0 && this.#whole.size === 0
  }

  add(directory: Directory, name: string): void {
    this.#names.set(directory, name, this.#turn)
  }

  /** All that is in it. */
  addAll(directory: Directory): void {
    this.#whole.set(directory, this.#turn)
  }

  /**
   * An event has told that what has this name was written, and nothing is believed to have it. Where an exchange was taken for a rename over a file and
   * back, something does, which is believed to be elsewhere and may be there again before anybody looks.
   */
  addWritten(directory: Directory, name: string): void {
    const wasSwapped = this.wasSwapped(directory, name)
    if (wasSwapped) this.#isSwappedWritten = true
    this.#hints.set(directory, name, { wasWritten: true, wasSwapped })
    this.add(directory, name)
  }

  /** An event has told that what has this name was written, and that was told of what is believed to have it, which may be the other one of an exchange. */
  noteWritten(directory: Directory, name: string): void {
    if (!this.wasSwapped(directory, name)) return
    this.#isSwappedWritten = true
    this.#hints.set(directory, name, { wasWritten: true, wasSwapped: true })
  }

  /** Whether what had this name may have been written, and nobody was told. */
  wasWritten(directory: Directory, name: string): boolean {
    return this.#hints.get(directory, name)?.wasWritten === true
  }

  /** An exchange may have been told as something else: what has this name may be either of the two. */
  addSwapped(directory: Directory, name: string): void {
    this.#hints.set(directory, name, { wasWritten: this.wasWritten(directory, name), wasSwapped: true })
    this.add(directory, name)
  }

  /** Whether what had this name may be the other one of an exchange, and nobody has looked since. */
  wasSwapped(directory: Directory, name: string): boolean {
    return this.#hints.get(directory, name)?.wasSwapped === true
  }

  /**
   * An event or a look has told of something at this name, where nothing is believed to be. If it may be swapped, it was by an exchange that was told as a rename
   * over a file and back. What is at the other name may be known by what a look has shown ahead of that, and a look cannot tell that it is another.
   */
  noteUnbelieved(directory: Directory, name: string): void {
    if (this.wasSwapped(directory, name)) this.#isSwappedWritten = true
  }

  /**
   * An event has told that something has left this name, and it is not what is believed to be there, if anything is. Where an exchange was taken for a rename
   * over a file and back, it may be what is believed to be elsewhere: so what is said here of the name goes with it, to where it arrives.
   */
  noteLeft(directory: Directory, name: string, cookie: number): void {
    const hint = this.#hints.get(directory, name)
    if (hint !== undefined) this.#left.set(cookie, hint)
  }

  /** An event has told that something has arrived at this name, which may have left another by {@link noteLeft}. */
  noteArrived(directory: Directory, name: string, cookie: number): void {
    const left = this.#left.get(cookie)
    if (left?.wasWritten) this.addWritten(directory, name)
    if (left?.wasSwapped) this.addSwapped(directory, name)
  }

  /** An event has told of a name. */
  noteEvent(directory: Directory, name: string): void {
    const isAsked = this.#asked?.has(directory) && this.#asked.get(directory) === undefined
    if (isAsked || this.#names.get(directory, name) !== undefined) this.add(directory, name)
  }

  /** All is looked at otherwise; a look under way is out of date. */
  clear(): void {
    this.forget(() => true)
    this.#left.clear()
    this.#isSwappedWritten = false
  }

  /** Of these directories nothing is to be known any more; a look under way is out of date, and the others stay in doubt. */
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

  /** Ends a look. Returns whether it is of use: not if all has been looked at otherwise since. */
  end(questions: Questions): boolean {
    const isOfUse = this.#asked === questions
    this.#asked = undefined
    this.#turn++
    return isOfUse
  }

  /** The names of a directory of which something has been said between the last look and its answer. */
  spokenIn(directory: Directory): ReadonlySet<string> {
    const names = [...this.#names.in(directory)].filter(([, turn]) => turn === this.#begunAt)
    return new Set(names.map(([name]) => name))
  }

  /**
   * What the last look has seen in a directory counts, or nobody can look there: only what has been said since stays in doubt.
   *
   * @returns the names at which a file may be that was written, and nobody was told: it was under the other name of an exchange, and is back where it is
   * believed to be, as the look has shown before the events that tell of that were queued
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
      // What has left one of these names has arrived: both halves are queued at once, and the look that counts was made behind the first.
      this.#left.clear()
    }
    return written.map(([name]) => name)
  }

  /** The names of a directory at which there may be the other one of an exchange. */
  *swappedIn(directory: Directory): Generator<string> {
    for (const [name, { wasSwapped }] of this.#hints.in(directory)) if (wasSwapped) yield name
  }
}
