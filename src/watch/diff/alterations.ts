import { alteration, alterationOfMoved, type Entry } from '../scan/entry.ts'
import { isSameEntry, keepsStat, kept } from '../tree/believed_entry.ts'
import { Directory } from '../tree/directory.ts'
import type { Diff } from './diff.ts'

/** Reports entries that are in place and differ from what is known: written, with another mode or owner, or replaced. */
export class Alterations {
  readonly #diff: Diff

  constructor(diff: Diff) {
    this.#diff = diff
  }

  /** Reports how an entry in place differs. @param since ms since the epoch: all changes before have been reported */
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

  /** Reports how a directory differs. */
  tellDirectory(directory: Directory, after: Entry, since: number): void {
    const altered = alteration(directory, after, since)
    const knowsOwner = !directory.mount.usesPolling || directory.stat !== undefined
    // Elsewhere a stat would stay what the directory was, and never be what it is.
    directory.stat = keepsStat(directory.parent ?? directory) ? after.stat : undefined
    const { parent, name } = directory
    if (altered === 'attrib' && knowsOwner && parent !== undefined)
      this.#diff.editor.alter('attrib', parent, name, directory)
  }

  /** Reports how a moved entry differs, but for what a rename does to it. Directories are reported by their own listings. */
  tellMoved(directory: Directory, name: string, before: Entry, after: Entry): void {
    if (after instanceof Directory) return
    const altered = alterationOfMoved(before, after)
    if (altered !== 'modify' && this.#mayBeWritten(before, after))
      this.#diff.editor.alter('modify', directory, name, after)
    if (altered !== undefined) this.#diff.editor.alter(altered, directory, name, after)
  }

  /**
   * Leaves an entry in doubt that was reported before it was seen. The listing may show another entry, which its event is still to report, and a look behind
   * the events tells them apart. The listing at hand, unless it is a look or a poll, is noted by now as ahead of events.
   */
  #leaveInDoubt(directory: Directory, name: string, before: Entry, after: Entry): Entry {
    const { scans, rechecks } = this.#diff.pending
    if (before.ino !== 0 || !scans.isAheadOf(directory)) return after
    rechecks.add(directory, name)
    return { ...after, ino: 0 }
  }

  /**
   * Returns true if a file may have been written since it was saved, as far as its times tell. A rename, a chmod or another link sets the ctime, and so does a
   * write whose mtime is put back. Nothing tells which of them it was, so all of it is reported.
   */
  #mayBeWritten({ stat: before }: Entry, { kind, stat: after }: Entry): boolean {
    const { isSaved } = this.#diff.options
    if (!isSaved || kind !== 'file' || before === undefined || after === undefined) return false
    const isRead = before.content !== undefined && before.content === after.content
    return !isRead && before.ctime !== after.ctime
  }
}
