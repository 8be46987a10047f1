import * as constants from './constants.ts'

// IN_CLOSE, IN_MOVE and IN_ALL_EVENTS are spelt by their parts, and the flags of inotify_init1 are no part of a mask.
const NOT_A_BIT = new Set(['IN_CLOSE', 'IN_MOVE', 'IN_ALL_EVENTS', 'IN_CLOEXEC', 'IN_NONBLOCK'])

const BITS: ReadonlyArray<readonly [name: string, bit: number]> = Object.entries(constants)
  .filter(([name]) => !NOT_A_BIT.has(name))
  .sort(([, a], [, b]) => order(a) - order(b))

// What happened first, what it happened to behind: 'IN_MOVED_TO|IN_ISDIR'.
function order(bit: number): number {
  return bit === constants.IN_ISDIR ? Number.MAX_SAFE_INTEGER : bit
}

/**
 * A mask in words: 'IN_MOVED_TO|IN_ISDIR'. Bits that <sys/inotify.h> does not name are given in hexadecimal at the end; an
 * empty mask is '0'. Accepts a mask that JavaScript's `|` has made negative (IN_ONESHOT is bit 31).
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
