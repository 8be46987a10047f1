import { ByName } from '../pending/by_name.ts'
import type { DirtySet } from '../pending/dirty_set.ts'
import type { Entry } from '../scan/entry.ts'
import { isSameEntry, kept } from '../tree/believed_entry.ts'
import { Directory, isWithin } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { Located, TreeEditor } from '../tree/tree_editor.ts'
import type { Alterations } from './alterations.ts'
import type { Diff } from './diff.ts'
import type { Move } from './match_moves.ts'

/**
 * Turns the known tree into the found one, a change at a time: at any moment the tree is what was reported. An entry waits until its place is there and
 * free. Entries that wait for each other in a circle are exchanged. If no entry can go on for another reason, one in the way is reported as deleted, and made
 * again where it belongs, with all that is known of it.
 */
export class EditScript {
  readonly #tree: Tree
  readonly #editor: TreeEditor
  readonly #failed: Pick<DirtySet, 'carry'>
  readonly #alterations: Alterations
  #gone: readonly Located[] = []
  /** The moves of directories, done or not. */
  readonly #moveOf = new Map<Directory, Move>()
  /** Moves whose entry is still to leave its place, by that place. */
  readonly #leaving = new ByName<Move>()
  /** Moves that wait for another, by the move whose entry is in the way. */
  readonly #waiting = new Map<Move, Move>()
  /** Directories that were reported as deleted, and are to be made again. */
  readonly #removed = new Set<Directory>()

  constructor({ tree, editor, pending }: Diff, alterations: Alterations) {
    this.#tree = tree
    this.#editor = editor
    this.#failed = pending.failed
    this.#alterations = alterations
  }

  /** Makes all changes. @param gone the entries that are not where they were; those that move have left already when their turn comes */
  run(moves: readonly Move[], gone: readonly Located[]): void {
    this.#gone = gone
    for (const move of moves) {
      if (move.entry instanceof Directory) this.#moveOf.set(move.entry, move)
      if (move.from !== undefined) this.#leaving.set(move.from.directory, move.from.name, move)
    }
    for (let left = moves; left.length > 0; ) {
      for (const move of left) this.#place(move)
      const still = left.filter(({ isDone }) => !isDone)
      if (still.length === left.length && !this.#release(still)) break
      left = still
    }
    for (const each of gone) this.delete(each)
    // The directories that these were found in are not there any more.
    for (const each of this.#removed) this.#tree.drop(each)
  }

  /** Returns true for a directory that was reported at a place where it was not before. */
  hasPlaced(directory: Directory): boolean {
    return this.#moveOf.get(directory)?.isDone === true
  }

  /** Deletes an entry that is nowhere any more. */
  delete(at: Located): void {
    const { directory, name, entry } = at
    if (this.#tree.isAttached(directory) && isSameEntry(this.#tree.entriesOf(directory).get(name), entry))
      this.#remove(at)
  }

  /** Puts an entry where it was found, if that can be, and then those that have waited for its place, one after the other. */
  #place(first: Move): void {
    for (let move: Move | undefined = first; move !== undefined && this.#isPlaced(move); ) {
      const next = this.#waiting.get(move)
      this.#waiting.delete(move)
      move = next
    }
  }

  #isPlaced(move: Move): boolean {
    const { to, name, from, isDone } = move
    if (isDone) return true
    if (!this.#isInPlace(to)) return false
    const isFree = move.isFree && from === undefined
    const occupant = isFree ? undefined : this.#tree.entriesOf(to).get(name)
    if (occupant !== undefined) {
      const leaving = this.#leaving.get(to, name)
      if (leaving !== undefined) this.#waiting.set(leaving, move)
      if (leaving !== undefined || this.#leavingWithin(occupant).length > 0) return false
    }
    this.#put(move, occupant)
    return true
  }

  /** Returns true if a directory is where it was found. */
  #isInPlace(directory: Directory): boolean {
    let each: Directory | undefined = directory
    let move: Move | undefined
    for (; each !== undefined && move === undefined; each = each.parent) move = this.#moveOf.get(each)
    return move?.isDone !== false && this.#tree.isAttached(directory)
  }

  /** Lets one of these moves go on, as all wait: by an exchange, or by a removal of what is in the way. Returns false if they wait for a directory that is gone. */
  #release(waiting: readonly Move[]): boolean {
    const seen = new Set<Move>()
    let hasExchanged = false
    let last: Move | undefined
    for (const first of waiting) {
      const chain: Move[] = []
      let move: Move | undefined = first
      for (; move !== undefined && !seen.has(move) && this.#isInPlace(move.to); ) {
        seen.add(move)
        chain.push(move)
        move = this.#leaving.get(move.to, move.name)
      }
      const circle = move === undefined ? -1 : chain.indexOf(move)
      if (circle >= 0 && this.#exchange(chain.slice(circle))) hasExchanged = true
      else last ??= chain.at(-1)
    }
    if (hasExchanged) return true
    const occupant = last && this.#tree.entriesOf(last.to).get(last.name)
    if (last === undefined || occupant === undefined) return false
    this.#remove({ directory: last.to, name: last.name, entry: occupant })
    return true
  }

  #put(move: Move, occupant: Entry | undefined): void {
    const { to, name, entry, from } = move
    const isReplaced = occupant !== undefined && this.#mayReplace(move, occupant)
    if (occupant !== undefined && !isReplaced) this.#editor.delete({ directory: to, name, entry: occupant })
    this.#finish(move)
    if (from !== undefined && this.#tree.isAttached(from.directory)) {
      if (entry instanceof Directory) this.#failed.carry(entry, from.directory)
      this.#editor.rename(from, to, name, asKept(move))
      this.#alterations.tellMoved(to, name, from.entry, entry)
    } else if (entry instanceof Directory) this.#create(move, entry)
    else if (isReplaced) {
      this.#editor.update(to, name, kept(to, entry))
      this.#editor.alter('modify', to, name, entry)
    } else this.#editor.create(to, name, kept(to, entry))
  }

  /** Returns true if the entry may replace the occupant, as by rename(2), or as a new version of a file. */
  #mayReplace({ entry, from }: Move, occupant: Entry): boolean {
    if (!(entry instanceof Directory))
      return occupant.kind !== 'directory' && (from !== undefined || occupant.kind === entry.kind)
    const isEmpty = occupant instanceof Directory && this.#tree.entriesOf(occupant).size === 0
    return from !== undefined && isEmpty
  }

  #create({ to, name, base }: Move, directory: Directory): void {
    const { mount } = directory
    if (!this.#removed.delete(directory)) {
      mount.directories++
      if (base !== undefined) {
        mount.base = directory
        if (mount.isLinked) mount.link = base.link
        to.mount.allow(to, name)
        mount.join(to.mount)
      }
    }
    this.#editor.place(to, name, directory)
  }

  /** Exchanges entries that have each other's places: each goes to that of the next, the last to that of the first. Returns false if one lies in another. */
  #exchange(circle: readonly Move[]): boolean {
    const places = circle.map(({ from }) => from as Located)
    const isInside = ({ directory }: Located) =>
      circle.some(({ entry }) => entry instanceof Directory && isWithin(directory, entry))
    if (circle.length === 1 || places.some(isInside)) return false
    for (const [i, move] of circle.entries()) {
      if (move.entry instanceof Directory) this.#failed.carry(move.entry, (places[i] as Located).directory)
      this.#finish(move)
    }
    this.#editor.rotate(circle.map((move, i) => ({ ...(places[i] as Located), as: asKept(move) })))
    for (const [i, { to, name, entry }] of circle.entries())
      this.#alterations.tellMoved(to, name, (places[i] as Located).entry, entry)
    return true
  }

  #leavingWithin(directory: Entry): Move[] {
    if (!(directory instanceof Directory)) return []
    const within = [...this.#leaving].filter(([from]) => isWithin(from, directory))
    return within.flatMap(([, names]) => [...names.values()])
  }

  /** Removes an entry. If it, or an entry in it, was found elsewhere, that is made again there. */
  #remove(at: Located): void {
    const { directory, name, entry } = at
    const isFound = this.#forget(directory, name)
    const inside = this.#leavingWithin(entry)
    if (!(entry instanceof Directory) || (inside.length === 0 && !isFound)) {
      this.#editor.delete(at)
      return
    }
    const gone = this.#gone.filter((each) => isWithin(each.directory, entry))
    this.#editor.remove(at)
    for (const { from } of inside) {
      const { directory, name, entry } = from as Located
      this.#forget(directory, name)
      this.#editor.takeOut({ directory, name, entry })
      if (entry instanceof Directory) this.#removed.add(entry)
    }
    // These were reported as gone: they are not to be made again with the directory that they are in.
    for (const { directory, name, entry } of gone) {
      if (!isSameEntry(this.#tree.entriesOf(directory).get(name), entry)) continue
      this.#editor.takeOut({ directory, name, entry })
      if (entry instanceof Directory) this.#tree.drop(entry)
    }
    if (isFound) this.#removed.add(entry)
    else this.#tree.drop(entry)
  }

  /** Has the entry that was to leave this name made again where it was found. Returns false if there was none. */
  #forget(directory: Directory, name: string): boolean {
    const leaving = this.#leaving.take(directory, name)
    if (leaving !== undefined) leaving.from = undefined
    return leaving !== undefined
  }

  #finish(move: Move): void {
    if (move.from !== undefined) this.#leaving.take(move.from.directory, move.from.name)
    move.isDone = true
  }
}

function asKept({ to, entry }: Move): Entry {
  return entry instanceof Directory ? entry : kept(to, entry)
}
