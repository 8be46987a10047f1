import { printable } from '../../errors.ts'
import { IN_ALL_EVENTS, IN_CLOSE, IN_MOVE, IN_UNMOUNT } from '../../inotify/constants.ts'
import { formatMask, MASK_BITS } from '../../inotify/mask.ts'
import { UsageError } from '../shared/option.ts'

const MASKS: ReadonlyMap<string, number> = new Map(
  Object.entries({ ...MASK_BITS, IN_CLOSE, IN_MOVE, IN_ALL_EVENTS })
    .filter(([, bit]) => (bit & IN_ALL_EVENTS) === bit || bit === IN_UNMOUNT)
    .map(([name, bit]): [string, number] => [name.replace('IN_', '').toLowerCase(), bit])
    .sort(([a], [b]) => (a < b ? -1 : 1)),
)

/** The mask of inotifywait's event names, in either case, with or without IN_: `close_write,moved_to`. */
export function maskOfNames(names: readonly string[]): number {
  let mask = 0
  for (const name of names.flatMap((list) => list.split(','))) {
    const bit = MASKS.get(name.toLowerCase().replace(/^in_/, ''))
    const known = [...MASKS.keys()].join(', ')
    if (bit === undefined) throw new UsageError(`there is no event '${printable(name)}'; there are ${known}`)
    mask |= bit
  }
  return mask
}

/** A mask as inotifywait prints it: `CLOSE_WRITE,CLOSE`, `CREATE,ISDIR`. */
export function inotifywaitNames(mask: number): string {
  const names = formatMask(mask).replaceAll('IN_', '').split('|')
  if (mask & IN_CLOSE) names.splice(names.findLastIndex((name) => name.startsWith('CLOSE_')) + 1, 0, 'CLOSE')
  return names.join(',')
}
