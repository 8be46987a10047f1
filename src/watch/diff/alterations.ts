import { alteration, alterationOfMoved, type Entry } from '../scan/entry.ts'
import { isSameEntry, keepsStat, kept } from '../tree/believed_entry.ts'
import { Directory } from '../tree/directory.ts'
import type { Diff } from './diff.ts'

/** Tells of what is where it is believed to be whether it is otherwise than it was: written, another's, or another. */
export class Alterations {
  readonly #diff: Diff

  constructor(diff: Diff) {
    this.#diff = diff
  }

  /** @param since ms since the epoch: what was done before has been told */
  tell(directory: Directory, name: string, before: Entry, now: Entry, since: number): void {
    const { tree, editor } = this.#diff
    if (!tree.isAttached(directory) || !isSameEntry(tree.entriesOf(directory).get(name), before)) return
    const after = this.#leaveInDoubt(directory, name, before, now)
    const altered = alteration(before, after, since)
    editor.update(directory, name, kept(directory, after))
    if (altered === undefined) return
    editor.alter(altered === 'replace' ? 'modify' : altered, directory, name, after)
    if (altered === 'attrib' && this.#mayBeWritten(before, after))
      editor.alter('modify', directory, name, after)
  }

  /** The same of a directory. */
  tellDirectory(directory: Directory, after: Entry, since: number): void {
    const altered = alteration(directory, after, since)
    const knowsOwner = !directory.mount.usesPolling || directory.stat !== undefined
    // One that is kept beyond that is what it was, and never what it is.
    directory.stat = keepsStat(directory.parent ?? directory) ? after.stat : undefined
    const { parent, name } = directory
    if (altered === 'attrib' && knowsOwner && parent !== undefined)
      this.#diff.editor.alter('attrib', parent, name, directory)
  }

  /** The same of what has been moved here, but for what that does to it. Of directories their own listings tell. */
  tellMoved(directory: Directory, name: string, before: Entry, after: Entry): void {
    if (after instanceof Directory) return
    const altered = alterationOfMoved(before, after)
    if (altered !== 'modify' && this.#mayBeWritten(before, after))
      this.#diff.editor.alter('modify', directory, name, after)
    if (altered !== undefined) this.#diff.editor.alter(altered, directory, name, after)
  }

  /**
   * Leaves in doubt an entry that was told before anybody had seen it. It may be another than a listing shows, which its event is still to tell, and a look
   * behind the events says which. The listing at hand, if it is no look or poll, is noted as ahead of events by now.
   */
  #leaveInDoubt(directory: Directory, name: string, before: Entry, after: Entry): Entry {
    const { scans, rechecks } = this.#diff.pending
    if (before.ino !== 0 || !scans.isAheadOf(directory)) return after
    rechecks.add(directory, name)
    return { ...after, ino: 0 }
  }

  /**
   * Since it was saved, that is, as far as its times tell: a rename, a chmod or another link set the ctime, and so does who writes and puts the mtime back. Nobody has told which of
   * them it was, so all of it is told.
   */
  #mayBeWritten({ stat: before }: Entry, { kind, stat: after }: Entry): boolean {
    const { isSaved } = this.#diff.options
    if (!isSaved || kind !== 'file' || before === undefined || after === undefined) return false
    const isRead = before.content !== undefined && before.content === after.content
    return !isRead && before.ctime !== after.ctime
  }
}
