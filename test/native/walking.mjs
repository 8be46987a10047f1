// Speaks the addon's format of requests and records (NativeWalker in src/addon.ts), for tests and for the programs they start.

export const RECURSIVE = 1
export const WATCH = 2
export const STAT = 4
export const LOOK = 8
export const NO_FOLLOW_ROOT = 16
export const COMPARE = 64
export const GLANCE = 256
export const SINCE = 512

export const BOUNDARY = 1
export const ASCII = 4
export const VANISHED = 8
export const OTHER_DEVICE = 16
export const UNCHANGED = 32

export const NO_PARENT = 0xffffffff
export const KINDS = ['file', 'symlink', 'other', 'directory']

/**
 * @typedef {object} Request
 * @property {number} flags
 * @property {string | Buffer} root
 * @property {string | Buffer} [rel]
 * @property {number} [since]
 * @property {Array<string | Buffer>} [names]
 *
 * @typedef {{ mode: number, uid: number, gid: number, nlink: number, size: number, mtime: number, ctime: number, ctimeMs: number, btimeMs: number }} Stat
 * @typedef {{ kind: string, ino: number, name: Buffer, ascii: boolean, stat?: Stat }} Entry
 *
 * @typedef {object} WalkRecord
 * @property {number} id
 * @property {number} parent
 * @property {number} wd
 * @property {number} error
 * @property {number} flags
 * @property {number} ino
 * @property {number} mount
 * @property {number} major
 * @property {number} minor
 * @property {number} mode
 * @property {number} uid
 * @property {number} gid
 * @property {Buffer} name
 * @property {Entry[]} files
 * @property {Entry[]} subdirs
 */

/**
 * Folds 64 bits to 53, as the addon does.
 *
 * @param {bigint} number
 */
export const fold = (number) => Number((number ^ (number >> 53n)) & ((1n << 53n) - 1n))

/** @param {Request[]} requests */
export function packRequests(requests) {
  return Buffer.concat(
    requests.flatMap(({ flags, root, rel = '', since, names = [] }) => {
      const slash = Buffer.from('/')
      const namesBytes = names.flatMap((name, i) =>
        i > 0 ? [slash, Buffer.from(name)] : [Buffer.from(name)],
      )
      const texts = [Buffer.from(root), Buffer.from(rel), Buffer.concat(namesBytes)]
      const head = Buffer.alloc(16)
      ;[flags, ...texts.map(({ length }) => length)].forEach((each, i) => {
        head.writeUInt32LE(each, 4 * i)
      })
      const moment = Buffer.alloc(since === undefined ? 0 : 8)
      if (since !== undefined) moment.writeDoubleLE(since)
      return [head, moment, ...texts]
    }),
  )
}

/** @param {Buffer} bytes @param {number} at @returns {Stat} */
function readStat(bytes, at) {
  const [mode, uid, gid, nlink] = [0, 4, 8, 12].map((offset) => bytes.readUInt32LE(at + offset))
  const [size, mtime, ctime, ctimeMs, btimeMs] = [16, 24, 32, 40, 48].map((offset) =>
    bytes.readDoubleLE(at + offset),
  )
  return /** @type {Stat} */ ({ mode, uid, gid, nlink, size, mtime, ctime, ctimeMs, btimeMs })
}

/** @param {Buffer} blob @param {number} count */
function readEntries(blob, count) {
  /** @type {Entry[]} */
  const entries = []
  let at = 0
  while (at < blob.length) {
    const [first = 0, nameBytes = 0] = blob.subarray(at, at + 2)
    const [kind, inoBytes] = [first & 3, first >> 5]
    at += 2
    let ino = 0
    for (let i = inoBytes; i-- > 0; ) ino = ino * 256 + (blob[at + i] ?? 0)
    at += inoBytes
    const stat = (first & 8) !== 0 ? readStat(blob, at) : undefined
    if (stat !== undefined) at += 56
    const name = blob.subarray(at, at + nameBytes)
    at += nameBytes
    entries.push({ kind: KINDS[kind] ?? '?', ino, name, ascii: (first & 4) !== 0, ...(stat && { stat }) })
  }
  if (entries.length !== count) throw new Error(`${entries.length} entries, not ${count}`)
  return entries
}

/** @param {Buffer} chunk @returns {WalkRecord[]} */
export function readRecords(chunk) {
  /** @type {WalkRecord[]} */
  const records = []
  if (chunk.byteOffset % 8 !== 0) throw new Error('the chunk is not aligned')
  for (let at = 0; at < chunk.length; ) {
    const size = chunk.readUInt32LE(at)
    if (size % 8 !== 0 || size < 80 || at + size > chunk.length) throw new Error(`a record of ${size} bytes`)
    const u32 = (/** @type {number} */ offset) => chunk.readUInt32LE(at + offset)
    const name = at + 80
    const files = name + u32(60)
    const subdirs = files + u32(68)
    const end = subdirs + u32(76)
    if (at + size - end < 0 || at + size - end > 7) throw new Error('the parts do not add up')
    records.push({
      id: u32(4),
      parent: u32(8),
      wd: chunk.readInt32LE(at + 12),
      error: chunk.readInt32LE(at + 16),
      flags: u32(20),
      ino: chunk.readDoubleLE(at + 24),
      mount: chunk.readDoubleLE(at + 32),
      major: u32(40),
      minor: u32(44),
      mode: u32(48),
      uid: u32(52),
      gid: u32(56),
      name: chunk.subarray(name, files),
      files: readEntries(chunk.subarray(files, subdirs), u32(64)),
      subdirs: readEntries(chunk.subarray(subdirs, end), u32(72)),
    })
    at += size
  }
  return records
}

/**
 * One whole walk.
 *
 * @param {import('../../src/addon.ts').NativeWalker} walker
 * @param {Request[]} requests
 * @param {import('../../src/addon.ts').NativeQueue | null} [queue]
 * @param {number} [mask]
 * @returns {Promise<WalkRecord[]>} once it is over
 */
export function walk(walker, requests, queue = null, mask = 0) {
  return new Promise((resolve, reject) => {
    /** @type {WalkRecord[]} */
    const records = []
    const error = walker.walk(queue, mask, packRequests(requests), (chunk, done) => {
      records.push(...readRecords(chunk))
      if (done) resolve(records)
    })
    if (error !== 0) reject(Object.assign(new Error(`walk: ${error}`), { errno: error }))
  })
}

/**
 * The path of each record from its request's directory, by its id; a parent that has not come before is an error.
 *
 * @param {WalkRecord[]} records
 */
export function pathsOf(records) {
  /** @type {Map<number, Buffer>} */
  const paths = new Map()
  for (const { id, parent, name } of records) {
    const before = parent === NO_PARENT ? Buffer.alloc(0) : paths.get(parent)
    if (before === undefined) throw new Error(`${id} comes before its parent ${parent}`)
    if (paths.has(id)) throw new Error(`${id} comes twice`)
    paths.set(id, before.length > 0 ? Buffer.concat([before, Buffer.from('/'), name]) : name)
  }
  return paths
}

/**
 * A queue of inotify events, as columns.
 *
 * @param {import('../../src/addon.ts').Addon} addon
 * @param {(wd: number, mask: number) => void} [onEvent]
 */
export function openQueue(addon, onEvent = () => {}) {
  const queue = new addon.Queue()
  const options = { batchWindow: 1, arenaBytes: 1 << 24, persistent: false }
  const error = queue.open(
    options,
    onEvent,
    (rows) => {
      for (let i = 0; i < rows.length; i += 4) onEvent(Number(rows[i]), Number(rows[i + 1]))
    },
    (errno, syscall) => {
      throw new Error(`${syscall}: ${errno}`)
    },
  )
  if (error !== 0) throw new Error(`open: ${error}`)
  queue.resume()
  return queue
}
