import {
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_ISDIR,
  IN_MODIFY,
  IN_MOVED_FROM,
  IN_MOVED_TO,
} from '../../inotify/constants.ts'
import { CLOCK_SLACK_MS } from '../clock.ts'
import type { Pending } from '../pending/pending.ts'
import type { PendingMove } from '../pending/pending_moves.ts'
import type { Change } from '../report/change.ts'
import type { Rules } from '../rules.ts'
import { alteration, alterationOfMoved, type Entry, sameFile, UNKNOWN_OWNER } from '../scan/entry.ts'
import { kept } from '../tree/believed_entry.ts'
import { Directory, isToEvents, isWithin } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { TreeEditor } from '../tree/tree_editor.ts'
import type { BatchView } from './batch_view.ts'
import { type DueEvent, Renames, type TranslatorContext } from './renames.ts'
import { ABOUT_NAME } from './watch_mask.ts'

/** Turns events into changes and keeps the tree. */
export class Translator {
  readonly #tree: Tree
  readonly #rules: Rules
  readonly #pending: Pending
  readonly #editor: TreeEditor
  readonly #renames: Renames

  constructor({ tree, rules, pending }: TranslatorContext) {
    this.#tree = tree
    this.#rules = rules
    this.#pending = pending
    this.#editor = new TreeEditor(tree, 'inotify')
    this.#renames = new Renames({ tree, rules, pending }, this.#editor)
  }

  translate(index: BatchView): Change[] {
    const { batch, start, end } = index
    for (let i = start; i < end; i++) {
      const name = index.name(i)
      if (name === '' || index.done.has(i)) continue
      const wd = batch.wd(i)
      const [mask, cookie] = [batch.mask(i), batch.cookie(i)]
      const directory = this.#tree.onlyAt(wd)
      if (directory !== undefined) this.#translate({ index, i, directory, mask, cookie, name })
      else
        for (const each of this.#tree.at(wd)) {
          // One directory may lie in the other, by a link, and have gone with it.
          if (this.#tree.isAttached(each)) this.#translate({ index, i, directory: each, mask, cookie, name })
        }
    }
    return this.#editor.take()
  }

  /** Ends departures for which nothing more will come: an entry that has not arrived by now has left the tree and becomes a delete. */
  giveUp(pendingMoves: readonly PendingMove[] = [...this.#pending.moves]): Change[] {
    for (const move of pendingMoves) this.#renames.giveUp(move)
    return this.#editor.take()
  }

  /**
   * Takes over what a look has shown of an entry, where a poll looks as well and would find it again. A change whose event is yet to come is reported at once: the
   * event may be lost in an overflow, or merged by the kernel, or there may be none, as others have made it.
   */
  takeSeen(directory: Directory, name: string, entry: Entry, seen: Entry): Change[] {
    const altered = entry.stat && alterationOfMoved(entry, seen)
    entry.stat = seen.stat
    if (altered !== undefined && !(entry instanceof Directory))
      this.#editor.alter(altered, directory, name, entry)
    return this.#editor.take()
  }

  /** Reports the files at these names as modified: they may have been written under other names, which was not reported. */
  tellWritten(directory: Directory, names: readonly string[]): Change[] {
    // The same look may have shown that a directory above is gone.
    if (!this.#tree.isAttached(directory)) return []
    for (const name of names) {
      const entry = this.#tree.entriesOf(directory).get(name)
      if (entry !== undefined && entry.kind !== 'directory')
        this.#editor.alter('modify', directory, name, entry)
    }
    return this.#editor.take()
  }

  #translate(event: DueEvent): void {
    const { directory, mask, cookie, name } = event
    // The directory is on its way: its new place is not known yet, nor whether that is in the tree. It is listed there.
    const above = this.#pending.moves.above(directory)
    if (above !== undefined) {
      if (cookie === above.cookie) above.isInDoubt = true
      this.#pending.work.list(directory, this.#pending.consistentUntil - CLOCK_SLACK_MS)
      return
    }
    // A rename of a directory above has taken it too deep, which no listing reports. The topmost one too deep is listed
    // again, which ends with an error, and the entries below are dropped.
    const beyond = this.#editor.beyondDepth(directory)
    if (beyond !== undefined) {
      this.#pending.work.list(beyond)
      return
    }
    if (mask & ABOUT_NAME && !this.#pending.moves.isEmpty) {
      const next = this.#renames.vacate(event)
      if (next !== undefined) this.#translate(next)
      // The directory may have gone with that event.
      if (!this.#tree.isAttached(directory)) return
    }
    const entries = this.#tree.entriesOf(directory)
    const known = entries.get(name)
    const stored = known === undefined ? this.#storedName(event, entries) : name
    const { anyCase } = directory.mount
    // On other mounts the event may have been about an entry that is gone, or not known yet.
    if (stored === undefined || (stored !== name && !anyCase)) this.#pending.rechecks.addAll(directory)
    if (stored === undefined && anyCase) return
    if (stored !== undefined && stored !== name) {
      this.#translate({ ...event, name: stored })
      return
    }
    if (mask & IN_ISDIR && mask & (IN_MOVED_FROM | IN_MOVED_TO)) this.#pending.movedBetween.add(directory)
    if (mask & IN_MOVED_TO) {
      // Other departures with this cookie, by other paths of the same wd, do not arrive here as well.
      event.index.done.add(event.i)
      if (!this.#renames.arrive(event, known)) this.#arriveFromOutside(event, known)
    } else if (mask & IN_MOVED_FROM) this.#renames.depart(event, known)
    else if (mask & (IN_CREATE | IN_DELETE)) {
      this.#renames.noteMade(directory)
      if (mask & IN_CREATE) this.#create(event, known)
      else this.#delete(event, known)
    } else if (mask & (IN_MODIFY | IN_CLOSE_WRITE)) this.#alter('modify', event, known)
    else if (mask & IN_ATTRIB) this.#alter('attrib', event, known)
    if (mask & ABOUT_NAME && this.#pending.scans.isAheadOf(directory)) {
      // The event may be older than the listing, and have been about another entry of that name.
      this.#pending.rechecks.add(directory, name)
      this.#pending.scans.noteEvent(directory, name)
    }
  }

  /**
   * Returns the name that a listing has in place of one that no entry has. Where names are the same in any case (vfat, ntfs-3g, cifs, a directory of ext4 with casefold), an event has the
   * name that the caller has used. undefined: only a listing can tell.
   */
  #storedName({ directory, mask, name }: DueEvent, entries: ReadonlyMap<string, Entry>): string | undefined {
    const { anyCase } = directory.mount
    // If the mount is not known to be so, a new entry has the name that it was given.
    if (!anyCase && mask & (IN_CREATE | IN_MOVED_TO)) return name
    const kind = mask & IN_ISDIR ? 'directory' : 'file'
    if (this.#rules.hidesSome && this.#rules.hides(this.#editor.pathOf(directory, name), kind)) return name
    const other = otherCase(entries, name)
    if (other !== undefined) return mask & ABOUT_NAME ? undefined : other
    return anyCase && name !== name.toLowerCase() ? undefined : name
  }

  #create(event: DueEvent, known: Entry | undefined): void {
    const { directory, mask, name } = event
    if (known === undefined) this.#put(event)
    // Known already: from the listing that followed the watch, or from a poll.
    else if (isToEvents(known) !== ((mask & IN_ISDIR) !== 0)) this.#pending.rechecks.add(directory, name)
  }

  #put({ index, i, directory, mask, name }: DueEvent): void {
    const seen = index.seenOf(i)
    const isDirectory = (mask & IN_ISDIR) !== 0
    const fits = seen && (seen.kind === 'directory') === isDirectory ? seen : undefined
    const kind = isDirectory ? 'directory' : (fits?.kind ?? 'file')
    if (this.#rules.hidesSome && this.#rules.hides(this.#editor.pathOf(directory, name), kind)) return
    // A link is reported as the kind of its end.
    if (kind === 'symlink' && this.#rules.followsLinks) {
      this.#pending.work.look(directory, name)
      return
    }
    if (isDirectory && this.#rules.recursive) {
      const created = this.#editor.createDirectory(directory, name, mask)
      this.#pending.work.list(created)
    } else {
      const created = fits ? kept(directory, fits) : { kind, ino: 0 }
      this.#editor.create(directory, name, created, mask)
    }
  }

  #delete({ directory, mask, name }: DueEvent, entry: Entry | undefined): void {
    if (entry === undefined) this.#pending.rechecks.noteWritten(directory, name)
    // Another entry has taken the name since, as a listing has shown.
    else if (isToEvents(entry) !== ((mask & IN_ISDIR) !== 0)) this.#pending.rechecks.add(directory, name)
    else this.#remove(directory, mask, name, entry)
  }

  #remove(directory: Directory, mask: number, name: string, entry: Entry): void {
    this.#pending.scans.noteEvent(directory, name, entry)
    this.#editor.delete({ directory, name, entry }, mask)
  }

  #alter(type: 'modify' | 'attrib', event: DueEvent, entry: Entry | undefined): void {
    const { directory, mask, name } = event
    // O_TMPFILE writes to a name that never exists; IN_EXCL_UNLINK does not hold back queued events; or the file has
    // changed places with a directory: its events are queued after it has its new name, and others may write before.
    if (entry === undefined || isToEvents(entry) !== ((mask & IN_ISDIR) !== 0)) {
      if (type === 'modify') this.#pending.rechecks.addWritten(directory, name)
      else this.#pending.rechecks.add(directory, name)
      return
    }
    if (entry instanceof Directory) {
      entry.owner = UNKNOWN_OWNER
      this.#retry(entry)
    }
    const seen = event.index.seenOf(event.i)
    let told = type
    const isSeen = seen && seen.kind === entry.kind && directory.mount.usesPolling
    if (isSeen) {
      // Later writes are reported with this event, as a poll would find nothing left to report.
      if (alteration(entry, seen, 0) === 'modify') told = 'modify'
      entry.stat = seen.stat
      if (!(entry instanceof Directory)) entry.ino = seen.ino
    }
    // A later look at it, under another name, finds no difference to what it was before.
    else if (type === 'modify' && entry.stat !== undefined) entry.stat = undefined
    if (told === 'modify') this.#pending.rechecks.noteWritten(directory, name)
    this.#editor.alter(told, directory, name, entry, mask)
  }

  /** Lists directories again that could not be read and may be readable now: this one, and those in it, which are reached through it. */
  #retry(directory: Directory): void {
    const { uncovered, closed } = directory.mount
    const { work } = this.#pending
    if (uncovered.has(directory)) work.list(directory)
    for (const each of closed) if (isWithin(each, directory)) work.list(each)
  }

  #arriveFromOutside(event: DueEvent, known: Entry | undefined): void {
    const { directory, mask, name } = event
    const seen = event.index.seenOf(event.i)
    const isDirectory = (mask & IN_ISDIR) !== 0
    if (known === undefined) this.#put(event)
    else if (isToEvents(known) !== isDirectory || (seen && seen.kind !== known.kind)) {
      this.#remove(directory, mask, name, known)
      this.#put(event)
    } else if (known instanceof Directory) {
      // Found before its event; or it has replaced an empty directory, which no event reports. The listing will tell.
      this.#pending.work.list(known)
    } else if (!isDirectory) {
      // If the file is the same, the listing or the poll was quicker than the event.
      const isShown = this.#pending.scans.hasShown(directory, name)
      if (seen && sameFile(known, seen) && isShown) return
      // An entry shown by a listing has come later than this event, if another event of the name is to come.
      const unseen = isShown ? known : { kind: known.kind, ino: 0 }
      const arrived = seen ? kept(directory, seen) : unseen
      this.#pending.scans.noteEvent(directory, name, known)
      this.#editor.update(directory, name, arrived)
      this.#editor.alter('modify', directory, name, known, mask)
      if (known.kind === 'symlink' && this.#rules.followsLinks) this.#pending.work.look(directory, name)
    }
  }
}

/** Returns the entry that has an event's name in another case, for a name that no entry has. */
function otherCase(entries: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const lower = name.toLowerCase()
  for (const each of entries.keys())
    if (each.length === name.length && each.toLowerCase() === lower) return each
  return undefined
}
