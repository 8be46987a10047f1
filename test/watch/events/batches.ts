import { PackedBatch } from '../../../src/inotify/batch.ts'
import { BatchView } from '../../../src/watch/events/batch_view.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { bytesOf } from '../../scripts/words.ts'

/** An event; its name is a key, so that "\udcff" is the byte 0xff. */
export type Event = readonly [wd: number, mask: number, name: string, cookie?: number]

const NOT_ASCII = 1 << 30

/** A batch as the addon packs it: 64 names a string. */
export function batchOf(events: readonly Event[]): PackedBatch {
  const rows = new Int32Array(events.length * 4)
  const groups: string[] = []
  events.forEach(([wd, mask, name, cookie = 0], i) => {
    const bytes = bytesOf(name)
    const group = (groups[i >> 6] ?? '') + bytes.toString('latin1')
    groups[i >> 6] = group
    rows.set([wd, mask, cookie, group.length | (bytes.some((byte) => byte > 0x7f) ? NOT_ASCII : 0)], i * 4)
  })
  return new PackedBatch(rows, groups)
}

/**
 * Returns a view of a whole batch, with the result of a look at each name: null for no entry, undefined
 * without a look.
 */
export function viewOf(
  events: readonly Event[],
  look: (name: string, wd: number) => Entry | null | undefined = () => undefined,
  keepsStat = false,
): BatchView {
  const view = new BatchView(batchOf(events), 0, events.length, () => keepsStat)
  for (const [wd, names] of view.named) for (const named of names.values()) named.seen = look(named.name, wd)
  return view
}
