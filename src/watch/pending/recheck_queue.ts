import type { Directory } from '../tree/directory.ts'

/** What is asked of a directory: what is at these names; undefined: what is in it. */
export type Questions = ReadonlyMap<Directory, readonly string[] | undefined>

const NONE: readonly string[] = []

/**
 * Names, and whole directories, of which something else may be there than is believed. What was seen of a name counts if nothing has
 * been said of it between the look and the answer: otherwise it is ahead of the events, and stays in doubt.
 */
export class RecheckQueue {
  readonly #names = new Map<Directory, Set<string>>()
  readonly #whole = new Set<Directory>()
  readonly #written = new Map<Directory, Set<string>>()
  readonly #swapped = new Map<Directory, Set<string>>()
  // Since there have been names that may be swapped: whether what has one was written, or an exchange is known to have been.
  #isSwappedWritten = false
  // By the cookie of what has left a name: what was said of the name.
  readonly #left = new Map<number, { wasWritten: boolean; wasSwapped: boolean }>()
  // While a look is under way: what was asked, and what has been said since.
  #asked: Questions | undefined
  readonly #spoken = new Map<Directory, Set<string>>()

  get isEmpty(): boolean {
    return this.#names.size === 0 && this.#whole.size === 0 && this.#asked === undefined
  }

  /** Whether a look has been begun, and not answered yet. */
  get isUnderWay(): boolean {
    return this.#asked !== undefined
  }

  add(directory: Directory, name: string): void {
    put(this.#names, directory, name)
    this.noteEvent(directory, name)
  }

  /**
   * An event has told that what has this name was written, and nothing is believed to have it. Where an exchange was taken for a rename over a file and
   * back, something does, which is believed to be elsewhere and may be there again before anybody looks.
   */
  addWritten(directory: Directory, name: string): void {
    if (this.wasSwapped(directory, name)) this.#isSwappedWritten = true
    put(this.#written, directory, name)
    this.add(directory, name)
  }

  /** An event has told that what has this name was written, and that was told of what is believed to have it, which may be the other one of an exchange. */
  noteWritten(directory: Directory, name: string): void {
    if (!this.wasSwapped(directory, name)) return
    this.#isSwappedWritten = true
    put(this.#written, directory, name)
  }

  /** Whether what had this name may have been written, and nobody was told. */
  wasWritten(directory: Directory, name: string): boolean {
    return this.#written.get(directory)?.has(name) === true
  }

  /** An exchange may have been told as something else: what has this name may be either of the two. */
  addSwapped(directory: Directory, name: string): void {
    put(this.#swapped, directory, name)
    this.add(directory, name)
  }

  /** Whether what had this name may be the other one of an exchange, and nobody has looked since. */
  wasSwapped(directory: Directory, name: string): boolean {
    return this.#swapped.get(directory)?.has(name) === true
  }

  /** Of a directory: see {@link wasSwapped}. */
  swappedIn(directory: Directory): Iterable<string> {
    return this.#swapped.get(directory) ?? NONE
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
    const wasWritten = this.wasWritten(directory, name)
    const wasSwapped = this.wasSwapped(directory, name)
    if (wasWritten || wasSwapped) this.#left.set(cookie, { wasWritten, wasSwapped })
  }

  /** An event has told that something has arrived at this name, which may have left another by {@link noteLeft}. */
  noteArrived(directory: Directory, name: string, cookie: number): void {
    const left = this.#left.get(cookie)
    if (left?.wasWritten) this.addWritten(directory, name)
    if (left?.wasSwapped) this.addSwapped(directory, name)
  }

  /** All that is in it. */
  addAll(directory: Directory): void {
    this.#whole.add(directory)
  }

  /** An event has told of a name. */
  noteEvent(directory: Directory, name: string): void {
    if (this.#asked !== undefined) put(this.#spoken, directory, name)
  }

  /** All is looked at otherwise; a look under way is out of date. */
  clear(): void {
    this.#written.clear()
    this.#swapped.clear()
    this.#left.clear()
    this.#isSwappedWritten = false
    this.#drop()
  }

  /** Of these directories nothing is to be known any more; a look under way is out of date, and the others stay in doubt. */
  forget(isForgotten: (directory: Directory) => boolean): void {
    if (this.#asked !== undefined) this.abort(this.#asked)
    for (const directory of this.#whole) if (isForgotten(directory)) this.#whole.delete(directory)
    for (const names of [this.#names, this.#written, this.#swapped])
      for (const directory of names.keys()) if (isForgotten(directory)) names.delete(directory)
  }

  /** What there is to be looked at now; to be answered, or taken back. */
  begin(): Questions {
    const questions = new Map<Directory, readonly string[] | undefined>()
    for (const [directory, names] of this.#names) questions.set(directory, [...names])
    for (const directory of this.#whole) questions.set(directory, undefined)
    this.#drop()
    this.#asked = questions
    return questions
  }

  /** What has been said since of a directory that was asked about: that stays in doubt. undefined: all is out of date. */
  commit(questions: Questions): ((directory: Directory) => ReadonlySet<string>) | undefined {
    if (this.#asked !== questions) return undefined
    this.#asked = undefined
    const spoken = new Map(this.#spoken)
    this.#spoken.clear()
    for (const [directory, asked] of questions) {
      const spokenIn = spoken.get(directory)
      // There may be hundreds of thousands of either.
      const names = asked && new Set(asked)
      for (const name of spokenIn ?? []) if (names?.has(name) !== false) put(this.#names, directory, name)
    }
    return (directory) => spoken.get(directory) ?? new Set()
  }

  /**
   * What was seen of these names counts, or the directory is not to be known any more. Until then what may have been written, or exchanged, stays so: a
   * look at a directory that has moved, or for which something was short, has compared nothing.
   *
   * @returns the names at which a file may be that was written, and nobody was told: it was under the other name of an exchange, and is back where it is
   * believed to be, as the look has shown before the events that tell of that were queued
   */
  settle(directory: Directory, names: readonly string[] | undefined, spoken: ReadonlySet<string>): string[] {
    const written: string[] = []
    for (const name of names ?? this.#swapped.get(directory) ?? []) {
      if (spoken.has(name) || !this.wasSwapped(directory, name)) continue
      take(this.#swapped, directory, name)
      if (this.#isSwappedWritten) written.push(name)
    }
    for (const name of names ?? this.#written.get(directory) ?? [])
      if (!spoken.has(name)) take(this.#written, directory, name)
    if (this.#swapped.size > 0) return written
    this.#isSwappedWritten = false
    // What has left one of these names has arrived: both halves are queued at once, and the look that counts was made behind the first.
    if (this.#written.size === 0) this.#left.clear()
    return written
  }

  /** Nobody could look. */
  abort(questions: Questions): void {
    this.#asked = undefined
    this.#spoken.clear()
    for (const [directory, names] of questions) this.renew(directory, names)
  }

  renew(directory: Directory, names: readonly string[] | undefined): void {
    if (names === undefined) this.#whole.add(directory)
    else for (const name of names) put(this.#names, directory, name)
  }

  #drop(): void {
    this.#names.clear()
    this.#whole.clear()
    this.#asked = undefined
    this.#spoken.clear()
  }
}

function put(names: Map<Directory, Set<string>>, directory: Directory, name: string): void {
  const known = names.get(directory)
  if (known === undefined) names.set(directory, new Set([name]))
  else known.add(name)
}

function take(names: Map<Directory, Set<string>>, directory: Directory, name: string): void {
  const known = names.get(directory)
  known?.delete(name)
  if (known?.size === 0) names.delete(directory)
}
