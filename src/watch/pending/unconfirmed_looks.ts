import { alterationOfMoved, type Entry, mayBeSame } from '../scan/entry.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { TreeEditor } from '../tree/tree_editor.ts'
import { ByName } from './by_name.ts'

/** The entry last reported at a name, and the inode number that a look has found there. */
interface Unconfirmed {
  readonly told: Entry
  readonly ino: number
}

/**
 * Differences that looks have shown ahead of the events. Where a poll looks as well, the tree takes a difference over at once, or the poll would report what
 * the event is yet to report. But then no poll and no rescan finds it, and the event may never come: an overflow swallows it, the kernel merges it with the
 * one before, or others have done what was seen. So the entry last reported is kept until an event is about the name. The tree takes that entry back when
 * events were lost, or when a mark behind the look has been met without such an event.
 */
export class UnconfirmedLooks {
  readonly #tree: Tree
  readonly #editor: TreeEditor
  readonly #names = new ByName<Unconfirmed>()

  constructor(tree: Tree) {
    this.#tree = tree
    this.#editor = new TreeEditor(tree, 'inotify')
  }

  get isEmpty(): boolean {
    return this.#names.size === 0
  }

  /** Notes that a look has shown `seen`, which no event has reported: the tree has it, or is about to have it, in place of `before`. */
  note(directory: Directory, name: string, before: Entry, seen: Entry): void {
    if (before instanceof Directory || seen.kind === 'directory') return
    // The first record has the entry as reported; this look adds the inode number, if that was not seen then.
    const first = this.#names.get(directory, name)?.told ?? copyOf(before)
    const told = first.ino === 0 ? { ...first, ino: seen.ino } : first
    if (!mayBeSame(told, seen) || alterationOfMoved(told, seen) !== undefined)
      this.put(directory, name, { told, ino: seen.ino })
    // An earlier look has shown another file, which was reported elsewhere since.
    else this.take(directory, name)
  }

  /**
   * Notes that an event has reported an entry, or another one, at a name. A reader reads what a look has shown, which may be another file than the event was
   * about, that has moved there meanwhile. So a different file that a later look shows is to be reported; if it is the file that the event was about, that
   * file is reported as modified once more.
   *
   * @param entry as it was seen; without a stat: it was gone by then, or another was there
   */
  noteTold(directory: Directory, name: string, entry: Entry): void {
    this.take(directory, name)
    if (keepsStat(directory) && entry.kind !== 'directory')
      this.put(directory, name, { told: copyOf(entry), ino: entry.ino })
  }

  /** Notes that an event has reported another mode or owner at a name. */
  noteAttrib(directory: Directory, name: string, seen: Entry): void {
    const known = this.#names.get(directory, name)
    if (known?.told.stat === undefined || seen.stat === undefined) return
    const { mode, uid, gid, nlink } = seen.stat
    this.put(directory, name, {
      ...known,
      told: { ...known.told, stat: { ...known.told.stat, mode, uid, gid, nlink } },
    })
    this.note(directory, name, known.told, seen)
  }

  /** Takes the record of a name, which is to be {@link put} where its entry arrives. */
  take(directory: Directory, name: string): Unconfirmed | undefined {
    return this.#names.take(directory, name)
  }

  put(directory: Directory, name: string, unconfirmed: Unconfirmed | undefined): void {
    if (unconfirmed !== undefined) this.#names.set(directory, name, unconfirmed)
  }

  /** Returns an entry as it was reported, by its record; as it is, if the record is of another: something else may have come to its name. */
  toldOf(entry: Entry, unconfirmed: Unconfirmed | undefined): Entry {
    if (unconfirmed === undefined) return entry
    const { told, ino } = unconfirmed
    return mayBeSame(entry, { kind: told.kind, ino }) ? told : entry
  }

  /**
   * Takes the present records. Returns what to call when all events queued before have been translated: it takes back what no event has reported, so that
   * the next poll reports it. `waits`: returns true if an entry has left its name, or lies in one that has: more is reported when it arrives.
   */
  hold(waits: (directory: Directory, name: string) => boolean): () => void {
    const held = new Set([...this.#all()].map(([, , each]) => each))
    return () => {
      for (const [directory, name, each] of [...this.#all()]) {
        if (!held.has(each) || waits(directory, name)) continue
        const { told, ino } = each
        // An entry that was not seen when it was reported is compared by its inode number alone.
        if (told.stat !== undefined || told.ino !== ino) this.#revert(directory, name)
        else this.take(directory, name)
      }
    }
  }

  /** Takes back all that looks have shown: events were lost, and the rescan is to find what they would have reported. */
  revert(): void {
    for (const [directory, name] of [...this.#all()]) this.#revert(directory, name)
  }

  #revert(directory: Directory, name: string): void {
    const unconfirmed = this.take(directory, name)
    if (unconfirmed === undefined || !this.#tree.isAttached(directory)) return
    const entry = this.#tree.entriesOf(directory).get(name)
    if (entry === undefined) return
    const told = this.toldOf(entry, unconfirmed)
    if (told === entry || (mayBeSame(entry, told) && alterationOfMoved(told, entry) === undefined)) return
    this.#editor.update(directory, name, told)
    // Else the walker would not tell again what a poll has found before.
    directory.mount.revision++
  }

  *#all(): Generator<[Directory, string, Unconfirmed]> {
    for (const [directory, names] of this.#names)
      for (const [name, each] of names) yield [directory, name, each]
  }
}

function copyOf({ kind, ino, stat }: Entry): Entry {
  return { kind, ino, stat }
}
