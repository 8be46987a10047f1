import { IN_CLOSE_WRITE } from '../inotify/constants.ts'
import type { Change, Kind } from '../watch/report/change.ts'

/** What happens to a path, as chokidar has it. `isClosed`: nobody writes to it any more, as far as is known. */
export interface PathEvent {
  event: 'add' | 'addDir' | 'change' | 'unlink' | 'unlinkDir'
  path: string
  isClosed: boolean
}

/** What changes of entries are to a list of paths. What is in a directory goes before it, and comes behind it. */
export function eventsOf(changes: readonly Change[]): PathEvent[] {
  const events: PathEvent[] = []
  // Of a directory's change, and of those that it speaks for, which follow it.
  let leaving: PathEvent[] = []
  let coming: PathEvent[] = []
  let above: Change | undefined
  for (const change of changes) {
    if (!('mask' in change)) continue
    if (above === undefined || !speaksFor(above, change)) {
      events.push(...leaving.reverse(), ...coming)
      leaving = []
      coming = []
      above = change
    }
    const { type, path, kind } = change
    const isClosed = change.source !== 'inotify' || (change.mask & IN_CLOSE_WRITE) !== 0
    if (type === 'create') coming.push(added(path, kind, isClosed))
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

function speaksFor(
  above: Change,
  { type, path, mask, ...change }: Extract<Change, { mask: number }>,
): boolean {
  if (mask !== 0) return false
  if (above.type === 'delete') return type === 'delete' && path.startsWith(`${above.path}/`)
  const from = 'from' in change ? change.from : path
  if (above.type === 'rename') return type === 'rename' && from.startsWith(`${above.from}/`)
  const isOfBoth = above.type === 'exchange' && (type === 'exchange' || type === 'rename')
  return isOfBoth && [above.path, above.other].some((each) => from.startsWith(`${each}/`))
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
