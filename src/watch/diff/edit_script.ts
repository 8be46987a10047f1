import type { DirtySet } from '../pending/dirty_set.ts'
import type { Entry } from '../scan/entry.ts'
import { isSameEntry, kept } from '../tree/believed_entry.ts'
import { ByName } from '../tree/by_name.ts'
import { Directory, isWithin } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { Located, TreeEditor } from '../tree/tree_editor.ts'
import type { Alterations } from './alterations.ts'
import type { Diff } from './diff.ts'
import type { Move } from './match_moves.ts'

/**
 * Turns the known tree into the found one, a change at a time: at any moment the tree is what was reported. An entry waits until its place is there and
 * free. Entries that have each other's places are exchanged. Of entries that wait for each other in another circle, one in the way is reported as deleted, and
 * made again where it belongs, with all that is known of it.
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
  readonly #leaving = new ByName<Directory, Move>()
  /** Moves that wait, by the move that each waits for. */
  readonly #waiting = new Map<Move, Move[]>()
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
      if (move.from !== undefined) this.#leaving.put(move.from.directory, move.from.name, move)
    }
    for (let left = moves; left.length > 0; ) {
      this.#waiting.clear()
      for (const move of left) this.#place(move)
      const still = left.filter(({ isDone }) => !isDone)
      // The entry that a move waited for may have moved on with a directory above.
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

  /** Puts an entry where it was found, if that can be, and then those that have waited for it. */
  #place(first: Move): void {
    const due = [first]
    for (const move of due) {
      const blocker = move.isDone ? undefined : this.#blockerOf(move)
      const others = blocker && this.#waiting.get(blocker)
      if (others !== undefined) others.push(move)
      else if (blocker !== undefined) this.#waiting.set(blocker, [move])
      else if (!move.isDone && this.#tree.isAttached(move.to)) this.#put(move)
      if (!move.isDone) continue
      for (const waiting of this.#waiting.get(move) ?? []) due.push(waiting)
      this.#waiting.delete(move)
    }
  }

  /** Returns a move that has to be made before. undefined: there is none, or the directory that the entry goes to is gone. */
  #blockerOf(move: Move): Move | undefined {
    const above = this.#moveAbove(move)
    if (above?.isDone === false) return above
    const occupant = this.#occupantOf(move)
    return occupant && (this.#leaving.at(move.to, move.name) ?? this.#leavingWithin(occupant)[0])
  }

  /** Returns the move of the directory that an entry goes to, or of the nearest one above that moves. */
  #moveAbove({ to }: Move): Move | undefined {
    let above: Move | undefined
    for (let each: Directory | undefined = to; each !== undefined && above === undefined; each = each.parent)
      above = this.#moveOf.get(each)
    return above
  }

  #occupantOf({ to, name, from, isFree }: Move): Entry | undefined {
    const mayBeTaken = this.#tree.isAttached(to) && !(isFree && from === undefined)
    return mayBeTaken ? this.#tree.entriesOf(to).get(name) : undefined
  }

  /** Lets moves go on that wait for each other in a circle. Returns false if none do: those that are left wait for a directory that is gone. */
  #release(waiting: readonly Move[]): boolean {
    const seen = new Set<Move>()
    let hasReleased = false
    for (const first of waiting) {
      const chain: Move[] = []
      let move: Move | undefined = first
      for (; move !== undefined && !seen.has(move); move = this.#blockerOf(move)) {
        seen.add(move)
        chain.push(move)
      }
      const begin = move === undefined ? -1 : chain.indexOf(move)
      if (begin >= 0 && this.#break(chain.slice(begin))) hasReleased = true
    }
    return hasReleased
  }

  /** Breaks a circle, in which each move waits for the next: by an exchange, or by a removal of what is in the way. Returns true if that was possible. */
  #break(circle: readonly Move[]): boolean {
    const isOfPlaces = circle.every(
      ({ to, name }, i) => this.#leaving.at(to, name) === circle[(i + 1) % circle.length],
    )
    if (isOfPlaces && this.#exchange(circle)) return true
    const blocked = circle.filter((move) => this.#moveAbove(move)?.isDone !== false)
    const stuck = blocked.find(({ to, name }) => this.#leaving.at(to, name) === undefined) ?? blocked.at(-1)
    const entry = stuck && this.#occupantOf(stuck)
    if (stuck === undefined || entry === undefined) return false
    this.#remove({ directory: stuck.to, name: stuck.name, entry })
    return true
  }

  #put(move: Move): void {
    const { to, name, entry, from } = move
    const occupant = this.#occupantOf(move)
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
        to.mount.refused.take(to, name)
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
