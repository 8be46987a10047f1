import {
  IN_ACCESS,
  IN_ATTRIB,
  IN_CLOSE_NOWRITE,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_DONT_FOLLOW,
  IN_EXCL_UNLINK,
  IN_IGNORED,
  IN_ISDIR,
  IN_MASK_ADD,
  IN_MASK_CREATE,
  IN_MODIFY,
  IN_MOVE_SELF,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  IN_ONESHOT,
  IN_ONLYDIR,
  IN_OPEN,
  IN_Q_OVERFLOW,
  IN_UNMOUNT,
} from './constants.ts'

// The event comes first, its subject last: 'IN_MOVED_TO|IN_ISDIR'. Not: combinations, flags of inotify_init1(2).
export const MASK_BITS: Readonly<Record<string, number>> = {
  IN_ACCESS,
  IN_MODIFY,
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CLOSE_NOWRITE,
  IN_OPEN,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_MOVE_SELF,
  IN_UNMOUNT,
  IN_Q_OVERFLOW,
  IN_IGNORED,
  IN_ONLYDIR,
  IN_DONT_FOLLOW,
  IN_EXCL_UNLINK,
  IN_MASK_CREATE,
  IN_MASK_ADD,
  IN_ONESHOT,
  IN_ISDIR,
}

const BITS = Object.entries(MASK_BITS)

/**
 * Returns a mask in words: `'IN_MOVED_TO|IN_ISDIR'`. Bits that <sys/inotify.h> does not name come in hexadecimal at the end; an
 * empty mask is `'0'`. Takes masks that JavaScript's `|` has made negative (IN_ONESHOT is bit 31).
 */
export function formatMask(mask: number): string {
  const names: string[] = []
  let rest = mask >>> 0
  for (const [name, bit] of BITS) {
    if ((rest & bit) === 0) continue
    names.push(name)
    rest = (rest & ~bit) >>> 0
  }
  if (rest !== 0) names.push(`0x${rest.toString(16)}`)
  return names.length === 0 ? '0' : names.join('|')
}
