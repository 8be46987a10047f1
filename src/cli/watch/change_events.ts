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
import type { EntryChange, ExchangeChange, RenameChange } from '../../watch/report/change.ts'

// In the order in which the kernel queues events.
const EVENTS = [IN_CREATE, IN_MOVED_FROM, IN_MOVED_TO, IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE, IN_DELETE]

const WRITTEN = IN_MODIFY | IN_CLOSE_WRITE

/** Returns the changes that the kernel reports for one: an exchange is two renames. */
export function reportedAs(
  change: EntryChange | RenameChange | ExchangeChange,
): Array<EntryChange | RenameChange> {
  if (change.type !== 'exchange') return [change]
  const { path, other, kind, otherKind, mask, source } = change
  const there = { type: 'rename', from: other, path, replaced: false, kind, mask, source } as const
  return [there, { ...there, from: path, path: other, kind: otherKind }]
}

/** Returns the requested events of a change, as inotifywait would print them: a rename has several. Each mask is the bit of an event, and IN_ISDIR. */
export function eventsOf(change: EntryChange | RenameChange, asked: number) {
  const { path, kind } = change
  const isDirectory = kind === 'directory' ? IN_ISDIR : 0
  const mask = maskOf(change, asked) & asked
  return EVENTS.filter((bit) => mask & bit).map((bit) => ({
    path: bit === IN_MOVED_FROM && change.type === 'rename' ? change.from : path,
    kind,
    mask: bit | isDirectory,
  }))
}

/**
 * Returns the bits of the raw mask that fit the change. Without such a bit, the bits that an event would have had: as a rule those of
 * one whole write. If none of those is asked for, the bit of a rename, which may have made the change as well: a caller that waits for
 * `moved_to` alone waits for a file that is put in place.
 */
function maskOf({ type, kind, mask }: EntryChange | RenameChange, asked: number): number {
  const written = kind === 'file' ? IN_CLOSE_WRITE : 0
  switch (type) {
    case 'create':
      return mask & (IN_CREATE | IN_MOVED_TO) || either(IN_CREATE | written, IN_MOVED_TO, asked)
    case 'modify':
      return mask & (WRITTEN | IN_MOVED_TO) || either(WRITTEN, IN_MOVED_TO, asked)
    case 'delete':
      return mask & (IN_DELETE | IN_MOVED_FROM) || either(IN_DELETE, IN_MOVED_FROM, asked)
    case 'attrib':
      return IN_ATTRIB
    case 'rename':
      return IN_MOVED_FROM | IN_MOVED_TO
  }
}

function either(usual: number, rename: number, asked: number): number {
  return usual & asked ? usual : rename
}
