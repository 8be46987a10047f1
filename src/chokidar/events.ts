import { IN_CLOSE_WRITE, IN_MOVED_TO } from '../inotify/constants.ts'
import type { Change, Kind } from '../watch/report/change.ts'

/** An event of a path. `isClosed`: nobody writes to the path any more, as far as is known. */
export type PathEvent = [event: 'add' | 'change' | 'unlink', path: string, kind: Kind, isClosed: boolean]

type EntryWise = Extract<Change, { mask: number }>

// A writer has closed it, or it was moved here as it is.
const DONE = IN_CLOSE_WRITE | IN_MOVED_TO

/** Returns the events of a change for its paths. */
export function* eventsOf(change: EntryWise): Generator<PathEvent> {
  const { type, path, kind } = change
  // A poll may find a file amid being written; a rescan tells late in any case.
  const isBeingWritten = type === 'modify' || (type === 'create' && kind === 'file')
  const isClosed = !isBeingWritten || change.source === 'rescan' || (change.mask & DONE) !== 0
  if (type === 'rename') yield ['unlink', change.from, kind, true]
  if (type === 'delete') yield ['unlink', path, kind, true]
  else if (type === 'create' || (type === 'rename' && !change.replaced)) yield ['add', path, kind, isClosed]
  else if (type === 'exchange') {
    yield* replaced(path, change.otherKind, kind, true)
    yield* replaced(change.other, kind, change.otherKind, true)
  } else yield* replaced(path, kind, kind, isClosed)
}

function* replaced(path: string, was: Kind, is: Kind, isClosed: boolean): Generator<PathEvent> {
  if ((was === 'directory') !== (is === 'directory')) {
    yield ['unlink', path, was, isClosed]
    yield ['add', path, is, isClosed]
  } else if (is !== 'directory') yield ['change', path, is, isClosed]
}
