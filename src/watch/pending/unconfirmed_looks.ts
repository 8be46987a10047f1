import { alterationOfMoved, type Entry, mayBeSame } from '../scan/entry.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { TreeEditor } from '../tree/tree_editor.ts'
import { ByName } from './by_name.ts'

/** What was told last of a name, and the inode number that a look has found there. */
interface Unconfirmed {
  readonly told: Entry
  readonly ino: number
}

/**
 * What looks have shown ahead of the events that tell it. Where a poll looks as well it is believed at once, or the poll would tell what the event is
 * yet to tell. But what is believed already no poll and no rescan finds, and the event may never come: an overflow swallows it, the kernel merges it
 * with the one before, or others have done what was seen. So what was told last is kept until an event tells of the name; it is believed again when
 * events were lost, or when a mark behind the look has been met and none has told.
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

  /** A look has shown of a name what no event has told: it is, or is about to be, believed in place of `before`. */
  note(directory: Directory, name: string, before: Entry, seen: Entry): void {
    if (before instanceof Directory || seen.kind === 'directory') return
    // The first look knows what was told; and shows it, if that could not be seen when it was told.
    const first = this.#names.get(directory, name)?.told ?? copyOf(before)
    const told = first.ino === 0 ? { ...first, ino: seen.ino } : first
    if (!mayBeSame(told, seen) || alterationOfMoved(told, seen) !== undefined)
      this.put(directory, name, { told, ino: seen.ino })
    // An earlier look has shown another file, of which has been told since that it is elsewhere.
    else this.take(directory, name)
  }

  /**
   * An event has told that a name holds something, or something else: whoever reads it reads what a look has shown, though it may be another file than the
   * event was about, that has moved there meanwhile. So what a later look shows instead is to be told, as far as anyone knows: if it is the one that the event
   * was about, a modify of it is told once more.
   *
   * @param entry as it was seen; without a stat: it was not there any more, or another was
   */
  noteTold(directory: Directory, name: string, entry: Entry): void {
    this.take(directory, name)
    if (keepsStat(directory) && entry.kind !== 'directory')
      this.put(directory, name, { told: copyOf(entry), ino: entry.ino })
  }

  /** An event has told that the mode or owner of what has a name is another. */
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

  /** What is kept of a name that was left: that is to be {@link put} where it arrives. */
  take(directory: Directory, name: string): Unconfirmed | undefined {
    return this.#names.take(directory, name)
  }

  put(directory: Directory, name: string, unconfirmed: Unconfirmed | undefined): void {
    if (unconfirmed !== undefined) this.#names.set(directory, name, unconfirmed)
  }

  /** What was told of an entry of which this was kept, if it is that one: something else may have come to its name. */
  toldOf(entry: Entry, unconfirmed: Unconfirmed | undefined): Entry {
    if (unconfirmed === undefined) return entry
    const { told, ino } = unconfirmed
    return mayBeSame(entry, { kind: told.kind, ino }) ? told : entry
  }

  /**
   * The answer is called when all that was queued before it was asked for has been told: what looks until then have shown, and no event has told,
   * the next poll is to tell. `waits`: of what has left its name, or lies in what has, more is told when it arrives.
   */
  hold(waits: (directory: Directory, name: string) => boolean): () => void {
    const held = new Set([...this.#all()].map(([, , each]) => each))
    return () => {
      for (const [directory, name, each] of [...this.#all()]) {
        if (!held.has(each) || waits(directory, name)) continue
        const { told, ino } = each
        // What could not be seen when it was told is held against what is there by its inode number alone.
        if (told.stat !== undefined || told.ino !== ino) this.#revert(directory, name)
        else this.take(directory, name)
      }
    }
  }

  /** Events were lost: what they would have told is to be found. */
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
    // The walker does not tell again what a poll has found before.
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
