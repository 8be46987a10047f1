import type { DirtySet } from '../pending/dirty_set.ts'
import type { Entry } from '../scan/entry.ts'
import { isSameEntry, kept } from '../tree/believed_entry.ts'
import { Directory, isWithin } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { Located, TreeEditor } from '../tree/tree_editor.ts'
import type { Alterations } from './alterations.ts'
import type { Diff } from './diff.ts'
import type { Move } from './match_moves.ts'

/** The most moves that wait for each other, each with its frames on the stack. */
const MAX_CHAIN = 1000

/**
 * Turns the known tree into the found one, a change at a time: at any moment the tree is what was reported. An entry in the way makes way first, by
 * going where it belongs. If it cannot, because its own place is not free or not there yet, it is reported as deleted, and made again where it belongs,
 * with all that is known of it. Entries that have each other's places are exchanged.
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
  readonly #leaving = new Map<Directory, Map<string, Move>>()
  /** Directories that were reported as deleted, and are to be made again. */
  readonly #removed = new Set<Directory>()
  readonly #beingPlaced = new Set<Move>()

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
      if (move.from === undefined) continue
      const { directory, name } = move.from
      const names = this.#leaving.get(directory)
      if (names === undefined) this.#leaving.set(directory, new Map([[name, move]]))
      else names.set(name, move)
    }
    // An entry that had to be made again may be one that others wait for: each time fewer are left.
    for (let left = moves, before = -1; left.length !== before; ) {
      before = left.length
      for (const move of left) this.#place(move)
      left = left.filter(({ isDone }) => !isDone)
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
    if (!this.#tree.isAttached(directory) || !isSameEntry(this.#tree.entriesOf(directory).get(name), entry))
      return
    if (entry instanceof Directory) this.#rescue(entry)
    this.#remove(at)
  }

  #place(move: Move): void {
    // An entry being placed waits for this one. The rest of a longer chain is made again, rather than take the stack.
    if (move.isDone || this.#beingPlaced.has(move) || this.#beingPlaced.size >= MAX_CHAIN) return
    this.#beingPlaced.add(move)
    const { to, name } = move
    if (this.#isInPlace(to)) {
      if (move.isFree && move.from === undefined) this.#put(move, undefined)
      else if (!this.#exchange(move)) {
        this.#makeWay(to, name)
        // That may have changed everything.
        if (!move.isDone && this.#isInPlace(to)) this.#put(move, this.#tree.entriesOf(to).get(name))
      }
    }
    this.#beingPlaced.delete(move)
  }

  /** Puts a directory where it was found, if that can be. Returns true if the directory is there. */
  #isInPlace(directory: Directory): boolean {
    let each: Directory | undefined = directory
    let move: Move | undefined
    for (; each !== undefined && move === undefined; each = each.parent) move = this.#moveOf.get(each)
    if (move !== undefined) this.#place(move)
    return move?.isDone !== false && this.#tree.isAttached(directory)
  }

  #put(move: Move, occupant: Entry | undefined): void {
    const { to, name, entry } = move
    const isReplaced = occupant !== undefined && this.#mayReplace(move, occupant)
    if (isReplaced) this.#forget(to, name)
    // The entry being placed may go with the occupant.
    else if (occupant !== undefined) this.#remove({ directory: to, name, entry: occupant })
    const { from } = move
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

  /** Exchanges entries that have each other's places, two or more in a circle. Returns false if there is no circle. */
  #exchange(first: Move): boolean {
    const circle = this.#circleFrom(first)
    if (circle === undefined) return false
    const steps = circle.map(({ from }) => from as Located)
    for (const [i, move] of circle.entries()) {
      if (move.entry instanceof Directory) this.#failed.carry(move.entry, (steps[i] as Located).directory)
      this.#finish(move)
    }
    this.#editor.rotate(circle.map((move, i) => ({ ...(steps[i] as Located), as: asKept(move) })))
    for (const [i, { to, name, entry }] of circle.entries())
      this.#alterations.tellMoved(to, name, (steps[i] as Located).entry, entry)
    return true
  }

  /** Returns moves that each go to the place of the next, the last to that of the first. undefined: they form no circle, or one entry lies in another. */
  #circleFrom(first: Move): Move[] | undefined {
    const circle = new Set<Move>()
    for (let move: Move | undefined = first; move !== first || circle.size === 0; ) {
      // The chain runs into another circle, or is too long to be followed from each of its moves.
      if (move?.from === undefined || circle.has(move) || circle.size >= MAX_CHAIN) return undefined
      circle.add(move)
      move = this.#leaving.get(move.to)?.get(move.name)
    }
    const all = [...circle]
    const isInside = ({ from }: Move) =>
      all.some(({ entry }) => entry instanceof Directory && isWithin((from as Located).directory, entry))
    return all.length > 1 && !all.some(isInside) ? all : undefined
  }

  /** Moves the entry with this name to where it belongs, if that can be. */
  #makeWay(directory: Directory, name: string): void {
    const leaving = this.#leaving.get(directory)?.get(name)
    if (leaving !== undefined) {
      this.#place(leaving)
      return
    }
    const occupant = this.#tree.entriesOf(directory).get(name)
    if (occupant instanceof Directory) this.#rescue(occupant)
  }

  /** Moves entries that were found elsewhere out of a directory that goes. */
  #rescue(directory: Directory): void {
    for (const move of this.#leavingWithin(directory)) this.#place(move)
  }

  #leavingWithin(directory: Directory): Move[] {
    const within = [...this.#leaving].filter(([from]) => isWithin(from, directory))
    const moves = within.flatMap(([, names]) => [...names.values()])
    return [...moves.filter(isOfDirectory), ...moves.filter((move) => !isOfDirectory(move))]
  }

  /** Removes an entry. If it, or an entry in it, was found elsewhere, that is made again there. */
  #remove(at: Located): void {
    const { directory, name, entry } = at
    const isFound = this.#forget(directory, name)
    const inside = entry instanceof Directory ? this.#leavingWithin(entry) : []
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
    const leaving = this.#leaving.get(directory)?.get(name)
    if (leaving === undefined) return false
    this.#leave(leaving)
    leaving.from = undefined
    return true
  }

  #finish(move: Move): void {
    this.#leave(move)
    move.isDone = true
  }

  #leave({ from }: Move): void {
    if (from === undefined) return
    const { directory, name } = from
    const names = this.#leaving.get(directory)
    names?.delete(name)
    if (names?.size === 0) this.#leaving.delete(directory)
  }
}

const isOfDirectory = ({ entry }: Move) => entry instanceof Directory

function asKept({ to, entry }: Move): Entry {
  return entry instanceof Directory ? entry : kept(to, entry)
}
