import type { Kind } from '../../../src/index.ts'
import { pathOf } from '../../../src/name_key.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { pack } from '../../../src/watch/scan/packed_entries.ts'

// The layout that src/watch/scan/listing.ts reads.
const HEAD = 80
const ALIGNMENT = 8
const NAME_IS_ASCII = 4
export const BOUNDARY = 1
export const VANISHED = 8

/** The result of a visit to a directory. Properties that are not given are absent. */
export interface RecordSpec {
  id: number
  /** The id of the parent's record. */
  parent?: number
  name: string
  ino?: number
  wd?: number
  error?: number
  flags?: number
  mountId?: number
  device?: [number, number]
  mode?: number
  uid?: number
  gid?: number
  entries?: Iterable<[string, Entry]>
}

/** Returns records as the addon makes them. */
export function recordsOf(specs: readonly RecordSpec[]): Buffer {
  const records = specs.map(recordOf)
  // Buffer.alloc() does not use the pool, whose buffers are not aligned.
  const all = Buffer.alloc(records.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const record of records) end += record.copy(all, end)
  return all
}

function recordOf(spec: RecordSpec): Buffer {
  const entries = [...(spec.entries ?? [])]
  const files = entries.filter(([, { kind }]) => kind !== 'directory')
  const subdirectories = entries.filter(([, { kind }]) => kind === 'directory')
  const name = Buffer.from(pathOf(spec.name))
  const isAscii = name.every((byte) => byte < 0x80)
  const blobs = [pack(files), pack(subdirectories)].map((packed) => Buffer.from(packed, 'latin1'))
  const body = Buffer.concat([name, ...blobs])
  const size = Math.ceil((HEAD + body.length) / ALIGNMENT) * ALIGNMENT
  const record = Buffer.alloc(size)
  record.writeInt32LE(size, 0)
  record.writeInt32LE(spec.id, 4)
  record.writeInt32LE(spec.parent ?? -1, 8)
  record.writeInt32LE(spec.wd ?? 0, 12)
  record.writeInt32LE(spec.error ?? 0, 16)
  record.writeUInt32LE((spec.flags ?? 0) | (isAscii ? NAME_IS_ASCII : 0), 20)
  record.writeDoubleLE(spec.ino ?? 0, 24)
  record.writeDoubleLE(spec.mountId ?? 1, 32)
  record.writeUInt32LE(spec.device?.[0] ?? 0, 40)
  record.writeUInt32LE(spec.device?.[1] ?? 0, 44)
  record.writeUInt32LE(spec.mode ?? 0, 48)
  record.writeUInt32LE(spec.uid ?? 0, 52)
  record.writeUInt32LE(spec.gid ?? 0, 56)
  record.writeUInt32LE(name.length, 60)
  record.writeUInt32LE(files.length, 64)
  record.writeUInt32LE(blobs[0]?.length ?? 0, 68)
  record.writeUInt32LE(subdirectories.length, 72)
  record.writeUInt32LE(blobs[1]?.length ?? 0, 76)
  body.copy(record, HEAD)
  return record
}

/** The entries of a tree by path, parents first. */
export type Plan = ReadonlyMap<string, Entry>

/**
 * Returns the records of a walk through the whole tree. A directory's watch is its inode number plus `wds`.
 * With 0 no watch is added.
 */
export function walkOf(plan: Plan, wds: number, more: Partial<RecordSpec> = {}): RecordSpec[] {
  const inside = (path: string) => [...plan].filter(([other]) => parentOf(other) === path)
  const names = (path: string) =>
    inside(path).map(([other, entry]) => [baseOf(other), entry] as [string, Entry])
  const wdOf = (ino: number) => (wds === 0 ? 0 : ino + wds)
  const records: RecordSpec[] = [
    { ...more, id: 0, name: '', ino: ROOT_INO, wd: wdOf(ROOT_INO), entries: names('') },
  ]
  const ids = new Map([['', 0]])
  for (const [path, { kind, ino, stat }] of plan) {
    if (kind !== 'directory') continue
    const id = ids.size
    ids.set(path, id)
    const parent = ids.get(parentOf(path)) as number
    const mode = stat?.mode ?? 0
    records.push({ ...more, id, parent, name: baseOf(path), ino, wd: wdOf(ino), mode, entries: names(path) })
  }
  return records
}

export const ROOT_INO = 999

export const parentOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('/')))
export const baseOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)

/** Returns names and kinds in the form of {@link Replay}. */
export const kindsOf = (plan: Plan) =>
  new Map<string, Kind>([...plan].map(([path, { kind }]) => [`/t/${path}`, kind]))
