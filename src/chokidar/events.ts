import { IN_CLOSE_WRITE, IN_MOVED_TO } from '../inotify/constants.ts'
import type { Change, Kind } from '../watch/report/change.ts'
import { isBelow } from './ignored.ts'

/** What happens to a path, as chokidar has it. `isClosed`: nobody writes to it any more, as far as is known. */
export interface PathEvent {
  event: 'add' | 'addDir' | 'change' | 'unlink' | 'unlinkDir'
  path: string
  isClosed: boolean
}

// A writer has closed it, or it was moved here as it is.
const DONE = IN_CLOSE_WRITE | IN_MOVED_TO

type EntryWise = Extract<Change, { mask: number }>

/** What changes of entries are to a list of paths. What is in a directory goes before it, and comes behind it. */
export function eventsOf(changes: readonly Change[]): PathEvent[] {
  const events: PathEvent[] = []
  // Of a directory's change, and of those that it speaks for, which follow it.
  let leaving: PathEvent[] = []
  let coming: PathEvent[] = []
  let above: EntryWise | undefined
  for (const change of changes) {
    if (!('mask' in change)) continue
    if (above === undefined || !speaksFor(above, change)) {
      // Of a directory they may be more than a call takes.
      for (const event of leaving.reverse()) events.push(event)
      for (const event of coming) events.push(event)
      leaving = []
      coming = []
      above = change
    }
    const { type, path, kind } = change
    // A poll may find a file amid being written; what was lost sight of is told late in any case.
    const isClosed = change.source === 'rescan' || (change.mask & DONE) !== 0
    if (type === 'create') coming.push(added(path, kind, isClosed || kind !== 'file'))
    else if (type === 'delete') leaving.push(removed(path, kind))
    else if (type === 'rename') {
      leaving.push(removed(change.from, kind))
      coming.push(change.replaced && kind !== 'directory' ? changed(path, true) : added(path, kind, true))
    } else if (type !== 'exchange') {
      if (kind !== 'directory') coming.push(changed(path, type === 'attrib' || isClosed))
    } else if ((kind === 'directory') !== (change.otherKind === 'directory')) {
      leaving.push(removed(path, change.otherKind), removed(change.other, kind))
      coming.push(added(path, kind, true), added(change.other, change.otherKind, true))
    } else if (kind !== 'directory') coming.push(changed(path, true), changed(change.other, true))
  }
  return [...events, ...leaving.reverse(), ...coming]
}

/** A directory's change is followed by those of what is below it. */
function speaksFor(above: EntryWise, change: EntryWise): boolean {
  return change.mask === 0 && change.type === above.type && isBelow(fromOf(change), fromOf(above))
}

function fromOf(change: EntryWise): string {
  return 'from' in change ? change.from : change.path
}

export function added(path: string, kind: Kind, isClosed: boolean): PathEvent {
  return { event: kind === 'directory' ? 'addDir' : 'add', path, isClosed }
}

export function removed(path: string, kind: Kind): PathEvent {
  return { event: kind === 'directory' ? 'unlinkDir' : 'unlink', path, isClosed: true }
}

function changed(path: string, isClosed: boolean): PathEvent {
  return { event: 'change', path, isClosed }
}
