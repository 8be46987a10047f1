import type { Change } from '../report/change.ts'
import type { Stat } from '../report/stat.ts'
import type { Entry } from '../scan/entry.ts'
import type { Directory } from './directory.ts'

// The name by which a directory's own is kept.
const ITSELF = ''

// A rename that has led a look astray is told within a few commands.
const MOST_MISSES = 8

interface Named {
  readonly directory: Directory
  readonly name: string
}

interface Shown extends Readonly<Stat> {
  /** The command in which it was looked at. */
  readonly seenIn: number
}

/** What is shown of something that was seen. */
export function shownStat({ ino }: Pick<Entry, 'ino'>, { size, mode, mtimeMs }: Omit<Stat, 'ino'>): Stat {
  return { size, mode, mtimeMs, ino }
}

/**
 * The stats that are shown of entries, with `stat: true`. They are apart from those that are compared: a look that follows an event may see what later events are still to tell, and an
 * entry that was held against it would be told as unchanged.
 */
export class ShownStats {
  // With a directory that is dropped, those in it go.
  readonly #shown = new WeakMap<Directory, Map<string, Shown>>()
  // Of the command at hand: who keeps a change does not keep what is in its directory.
  readonly #places = new Map<Change, readonly Named[]>()
  // How often nobody has seen it.
  readonly #asked = new Map<Directory, Map<string, number>>()
  #tops = new Set<Directory>()
  #command = 0

  /** What was seen at a name. Not so what may be another's: see {@link ask}. */
  note(directory: Directory, name: string, entry: Entry): void {
    if (entry.stat === undefined || entry.ino === 0) return
    const shown = { ...shownStat(entry, entry.stat), seenIn: this.#command }
    const others = this.#shown.get(directory)
    if (others === undefined) this.#shown.set(directory, new Map([[name, shown]]))
    else others.set(name, shown)
  }

  /** What has this name is gone from there. */
  drop(directory: Directory, name: string): void {
    this.#shown.get(directory)?.delete(name)
  }

  /**
   * It was seen otherwise than it is shown, which may be older: then it is looked at again.
   *
   * @param isKept whether the entry has what was seen
   */
  doubt(directory: Directory, name: string, { stat }: Entry, isKept: boolean): void {
    const shown = this.#shown.get(directory)?.get(name)
    if (stat === undefined || (shown === undefined && isKept)) return
    const { size, mode, mtimeMs } = stat
    if (size !== shown?.size || mode !== shown.mode || mtimeMs !== shown.mtimeMs) this.ask(directory, name)
  }

  get(directory: Directory, name: string, entry?: Entry): Stat | undefined {
    const shown = this.#shown.get(directory)?.get(name)
    // Of a directory its listing says which one it is: one that was found before its event came may be another than was looked at.
    const ino = entry?.kind === 'directory' ? entry.ino : 0
    if (shown !== undefined) return shownStat({ ino: ino || shown.ino }, shown)
    // Where polls compare it, it is kept with the entry.
    return entry?.stat && shownStat(entry, entry.stat)
  }

  /** Whether it was looked at in the command at hand. */
  isFresh(directory: Directory, name: string): boolean {
    return this.#shown.get(directory)?.get(name)?.seenIn === this.#command
  }

  /** The next command begins. */
  advance(): void {
    this.#command++
    this.#places.clear()
  }

  /** A change leads to these names: they are looked at before it is told. What an event tells has been seen by no scan before. */
  askFor(change: Change, ...places: Named[]): void {
    this.#places.set(change, places)
    for (const { directory, name } of places) {
      if ('source' in change && change.source === 'inotify') this.drop(directory, name)
      this.ask(directory, name)
    }
  }

  /** Where a change leads, of which {@link askFor} was told: the directory may have moved since. */
  placesOf(change: Change): readonly Named[] | undefined {
    return this.#places.get(change)
  }

  /** What has this name is to be looked at when the command at hand is done; and again behind the next ones, until it has been seen. */
  ask(directory: Directory, name: string): void {
    const names = this.#asked.get(directory)
    if (names === undefined) this.#asked.set(directory, new Map([[name, 0]]))
    else names.set(name, 0)
  }

  get asked(): ReadonlyMap<Directory, ReadonlyMap<string, number>> {
    return this.#asked
  }

  /** Nobody has seen it. What may not be looked at is given up: it is asked for again when it is told of, or its directory is listed. */
  miss(directory: Directory, name: string): void {
    const names = this.#asked.get(directory)
    const misses = 1 + (names?.get(name) ?? 0)
    if (misses < MOST_MISSES) names?.set(name, misses)
    else this.answer(directory, name)
  }

  /** Takes {@link ask} back: it has been seen, or is not there any more. */
  answer(directory: Directory, name: string): void {
    const names = this.#asked.get(directory)
    names?.delete(name)
    if (names?.size === 0) this.#asked.delete(directory)
  }

  /** A root's directory, which has no name in another. */
  noteTop(top: Directory, seen: Entry): void {
    this.note(top, ITSELF, seen)
  }

  ofTop(top: Directory): Stat | undefined {
    return this.get(top, ITSELF, top)
  }

  /** A root's directory is to be looked at, when the command at hand is done. */
  askForTop(top: Directory): void {
    this.#tops.add(top)
  }

  takeTops(): Set<Directory> {
    const asked = this.#tops
    this.#tops = new Set()
    return asked
  }
}
