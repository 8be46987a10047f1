import { ByName } from '../tree/by_name.ts'
import type { Directory } from '../tree/directory.ts'

/** The names to be looked at in each directory; undefined: all that is in it. */
export type Questions = ReadonlyMap<Directory, readonly string[] | undefined>

// In place of a name: the whole directory. No entry has this name.
const WHOLE = ''

/**
 * Names, and whole directories, where another entry may be than is known. Each stays until a look counts: it does if nothing was noted of the name between the
 * look and its answer; otherwise the look is ahead of the events.
 */
export class RecheckQueue {
  // By name, the turn of its last doubt or event. A turn begins with each look and each answer, which may add doubts.
  readonly #names = new ByName<Directory, number>()
  // True: a name that was written to where no entry is known. False: a name that may have the other one of two entries.
  readonly #hints = new ByName<Directory, boolean>()
  // True: since there are names with hints, one was written to, or an exchange is known to be real.
  #isSwappedWritten = false
  #turn = 0
  // The turn of the last look.
  #begunAt = 0
  // The questions of the look under way.
  #asked: Questions | undefined

  get isEmpty(): boolean {
    return this.#names.size === 0
  }

  /** True: names were added by {@link addWritten} or {@link addSwapped}, and no look has counted since. */
  get hasHints(): boolean {
    return this.#hints.size > 0
  }

  add(directory: Directory, name: string): void {
    this.#names.put(directory, name, this.#turn)
  }

  /** Adds a whole directory. */
  addAll(directory: Directory): void {
    this.add(directory, WHOLE)
  }

  /** Adds a name that was written to, and at which no entry is known. */
  addWritten(directory: Directory, name: string): void {
    this.noteWritten(directory, name)
    this.#hints.put(directory, name, true)
    this.add(directory, name)
  }

  /** Adds a name at which either of two entries may be: their exchange may have been reported as something else, such as a rename over a file and back. */
  addSwapped(directory: Directory, name: string): void {
    if (!this.mayBeSwapped(directory, name)) this.#hints.put(directory, name, false)
    this.add(directory, name)
  }

  /**
   * Notes that a name was written to, or that an event or a look has shown an entry where none is known. If the name may be swapped, so may the others: the write was
   * perhaps to the other file, and no look can tell that this is another.
   */
  noteWritten(directory: Directory, name: string): void {
    if (this.#hints.size > 0 && this.mayBeSwapped(directory, name)) this.#isSwappedWritten = true
  }

  /** Returns true if another entry than is known may be at a name, and no look has counted since. */
  mayBeSwapped(directory: Directory, name: string): boolean {
    return this.#hints.at(directory, name) !== undefined
  }

  /** Returns true if a write to the entry that has this name may not have been reported. */
  mayBeWritten(directory: Directory, name: string): boolean {
    const hint = this.#hints.at(directory, name)
    return hint === true || (hint === false && this.#isSwappedWritten)
  }

  /** Notes an event about a name: if the name is in doubt, no look before the event counts. */
  noteEvent(directory: Directory, name: string): void {
    const isAsked = this.#asked?.has(directory) && this.#asked.get(directory) === undefined
    if (isAsked || this.#names.at(directory, name) !== undefined) this.add(directory, name)
  }

  /** Drops everything, as all is looked at otherwise; a look under way is out of date. */
  clear(): void {
    this.forget(() => true)
    this.#isSwappedWritten = false
  }

  /** Drops directories; a look under way is out of date, and the other directories stay in doubt. */
  forget(isForgotten: (directory: Directory) => boolean): void {
    this.#asked = undefined
    for (const names of [this.#names, this.#hints]) names.forget(isForgotten)
  }

  /** Returns all that is to be looked at. */
  begin(): Questions {
    this.#begunAt = ++this.#turn
    const questions = new Map<Directory, readonly string[] | undefined>()
    for (const [directory, names] of this.#names)
      questions.set(directory, names.has(WHOLE) ? undefined : [...names.keys()])
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

  /** Returns the names (with the empty one, if all of it was) of a directory that were noted between the last look and its answer. */
  spokenIn(directory: Directory): ReadonlySet<string> {
    const names = [...this.#names.in(directory)].filter(([, turn]) => turn === this.#begunAt)
    return new Set(names.map(([name]) => name))
  }

  /**
   * Settles a directory in which the last look counts, or that cannot be looked into: only names noted since stay in doubt.
   *
   * @returns the names of files that may have been written without a report
   */
  settle(directory: Directory): string[] {
    for (const [name, turn] of [...this.#names.in(directory)])
      if (turn < this.#begunAt) this.#names.take(directory, name)
    const settled = [...this.#hints.in(directory).keys()].filter(
      (name) => this.#names.at(directory, name) === undefined,
    )
    const written = settled.filter((name) => this.mayBeWritten(directory, name))
    for (const name of settled) this.#hints.take(directory, name)
    if (this.#hints.size === 0) this.#isSwappedWritten = false
    return written
  }
}
