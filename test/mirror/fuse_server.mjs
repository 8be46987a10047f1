// A FUSE server that shows a directory, read-only, and lets the kernel keep what it has learnt for SECONDS, as virtiofsd does
// (bindfs, of which that cannot be had, forbids it). Mounts, serves until it is killed, prints 'ready' once it can be used.
//
//   node fuse_server.mjs BACK FRONT SECONDS [OPTION OF THE MOUNT [CONTROL [REQUESTS [TICK [UNTIMED [NUMBERS]]]]]]
//
// While there is a file CONTROL it says what fails, [{ name, operation, errno }]: what is asked of an entry that was last looked up
// by this name, where the operation is 'read' or 'any'. REQUESTS gets a line for each request: ms since the epoch, opcode. TICK is of the
// clock that the times are by, in ns. UNTIMED, if not empty: directories have the times of the server's beginning for ever, as rclone's do.
// While there is a file NUMBERS it says how much is added to each inode number but the root's: when that is another, all
// numbers are, as if the kernel had forgotten each file and a server had made its number up anew (libfuse without use_ino).
// A file NUMBERS.NAME takes its place once the attributes of a NAME are asked for.
// The errno 'NONE': it is never answered, and whoever asks is beyond SIGKILL.
//
// fuse(4) and the structures of <linux/fuse.h>, protocol 7.31, of which the mirror needs this much.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { constants as os } from 'node:os'
import { basename } from 'node:path'

const [
  ,
  ,
  back = '',
  front = '',
  seconds = '1',
  option = '',
  control = '',
  requests = '',
  tick = '1',
  untimed = '',
  made = '',
] = process.argv
const VALID = BigInt(seconds)
const TICK = BigInt(tick)
const BEGAN = BigInt(Date.now()) * 1_000_000n
const { O_RDONLY, O_RDWR, O_NOFOLLOW } = fs.constants
const O_PATH = 0o10000000

/**
 * An inode that the kernel has a number for. The descriptor keeps showing the inode when the name has gone to another.
 *
 * @typedef {{ fd: number, name: string, key: string, link: string, lookups: bigint }} Node
 */

/** @type {Map<bigint, Node>} */
const nodes = new Map()
/** @type {Map<string, bigint>} */
const numbers = new Map()
let last = 0n
/** Descriptors of open files, and listings of open directories.
 * @type {Map<bigint, number | Array<{ name: string, type: number, ino: bigint }>>} */
const handles = new Map()

/**
 * @param {string} path
 * @returns {bigint}
 */
function remember(path) {
  const fd = fs.openSync(path, O_PATH | O_NOFOLLOW)
  const stat = fs.fstatSync(fd, { bigint: true })
  const key = `${stat.dev} ${stat.ino}`
  const known = numbers.get(key)
  const node = known === undefined ? undefined : nodes.get(known)
  if (known !== undefined && node !== undefined) {
    fs.closeSync(fd)
    node.lookups++
    node.name = basename(path)
    return known
  }
  const number = ++last
  numbers.set(key, number)
  const name = basename(path)
  nodes.set(number, { fd, name, key, link: stat.isSymbolicLink() ? fs.readlinkSync(path) : '', lookups: 1n })
  return number
}

/** @param {bigint} number @param {bigint} lookups */
function forget(number, lookups) {
  const node = nodes.get(number)
  if (node === undefined || number === 1n) return
  node.lookups -= lookups
  if (node.lookups > 0n) return
  fs.closeSync(node.fd)
  nodes.delete(number)
  numbers.delete(node.key)
}

/** @param {bigint} number @returns {Node} */
function nodeOf(number) {
  const node = nodes.get(number)
  if (node === undefined) throw Object.assign(new Error('no such node'), { errno: -os.errno.ESTALE })
  return node
}

/** @param {bigint} ino */
function numberOf(ino) {
  const isRoot = ino === rootIno
  return isRoot || made === '' || !fs.existsSync(made)
    ? ino
    : ino + BigInt(fs.readFileSync(made, 'utf8') || 0)
}

/** @param {string} name */
function renumberAt(name) {
  const next = `${made}.${name}`
  if (made !== '' && fs.existsSync(next)) fs.renameSync(next, made)
}

/** struct fuse_attr @param {bigint} number */
function attributes(number) {
  const stat = fs.fstatSync(nodeOf(number).fd, { bigint: true })
  const out = Buffer.alloc(88)
  const isUntimed = untimed !== '' && stat.isDirectory()
  const times = isUntimed ? [BEGAN, BEGAN, BEGAN] : [stat.atimeNs, stat.mtimeNs, stat.ctimeNs]
  const ticks = times.map((time) => time - (time % TICK))
  const long = [numberOf(stat.ino), stat.size, stat.blocks, ...ticks]
  long.forEach((value, i) => {
    out.writeBigUInt64LE(i < 3 ? value : value / 1_000_000_000n, i * 8)
  })
  const rest = [stat.mode, stat.nlink, stat.uid, stat.gid, stat.rdev, stat.blksize]
  const nanoseconds = long.slice(3).map((value) => value % 1_000_000_000n)
  for (const [i, value] of [...nanoseconds, ...rest].entries()) out.writeUInt32LE(Number(value), 48 + i * 4)
  return out
}

/** @param {...(bigint | number)} values a bigint takes 8 bytes, a number 4 */
function pack(...values) {
  return Buffer.concat(
    values.map((value) => {
      const out = Buffer.alloc(typeof value === 'bigint' ? 8 : 4)
      if (typeof value === 'bigint') out.writeBigUInt64LE(value)
      else out.writeUInt32LE(value)
      return out
    }),
  )
}

/** @param {number | Array<{ name: string, type: number, ino: bigint }>} what */
function open(what) {
  const handle = ++last
  handles.set(handle, what)
  return pack(handle, 0, 0)
}

/** @param {bigint} number */
function listing(number) {
  const path = `/proc/self/fd/${nodeOf(number).fd}`
  return fs.readdirSync(path).flatMap((name) => {
    // No server fails to list a directory because a name went meanwhile.
    const stat = fs.lstatSync(`${path}/${name}`, { bigint: true, throwIfNoEntry: false })
    return stat === undefined ? [] : [{ name, type: Number(stat.mode >> 12n), ino: numberOf(stat.ino) }]
  })
}

/** @param {bigint} handle @param {number} from @param {number} size */
function entries(handle, from, size) {
  const all = handles.get(handle)
  const out = []
  if (!Array.isArray(all)) return Buffer.alloc(0)
  for (const [i, { name, type, ino }] of all.entries()) {
    if (i < from) continue
    const bytes = Buffer.from(name)
    const head = pack(ino, BigInt(i + 1), bytes.length, type)
    const entry = Buffer.concat([head, bytes, Buffer.alloc(-bytes.length & 7)])
    if (out.reduce((sum, { length }) => sum + length, entry.length) > size) break
    out.push(entry)
  }
  return Buffer.concat(out)
}

/** @param {bigint} handle @param {number} at @param {number} size */
function content(handle, at, size) {
  const buffer = Buffer.alloc(size)
  return buffer.subarray(0, fs.readSync(Number(handles.get(handle)), buffer, 0, size, at))
}

/** @param {bigint} handle */
function release(handle) {
  const what = handles.get(handle)
  if (typeof what === 'number') fs.closeSync(what)
  handles.delete(handle)
  return Buffer.alloc(0)
}

const [FORGET, INTERRUPT, BATCH_FORGET] = [2, 36, 42]

/** By opcode. @type {Record<number, (node: bigint, body: Buffer) => Buffer>} */
const operations = {
  // LOOKUP
  1: (parent, body) => {
    const name = body.toString('utf8', 0, body.indexOf(0))
    const node = remember(`/proc/self/fd/${nodeOf(parent).fd}/${name}`)
    return Buffer.concat([pack(node, 0n, VALID, VALID, 0, 0), attributes(node)])
  },
  // GETATTR
  3: (node) => {
    renumberAt(nodeOf(node).name)
    return Buffer.concat([pack(VALID, 0, 0), attributes(node)])
  },
  // READLINK
  5: (node) => Buffer.from(nodeOf(node).link),
  // OPEN, READ, RELEASE
  14: (node) => open(fs.openSync(`/proc/self/fd/${nodeOf(node).fd}`, O_RDONLY)),
  15: (_, body) => content(body.readBigUInt64LE(0), Number(body.readBigUInt64LE(8)), body.readUInt32LE(16)),
  18: (_, body) => release(body.readBigUInt64LE(0)),
  // STATFS: nothing is known of it
  17: () => Buffer.alloc(80),
  // INIT: no capability beyond the plain protocol
  26: () => pack(7, 31, 65_536, 0, 0, 65_536, 1, 0, 0, ...Array(7).fill(0)),
  // OPENDIR, READDIR, RELEASEDIR
  27: (node) => open(listing(node)),
  28: (_, body) => entries(body.readBigUInt64LE(0), Number(body.readBigUInt64LE(8)), body.readUInt32LE(16)),
  29: (_, body) => release(body.readBigUInt64LE(0)),
}

const rootIno = fs.statSync(back, { bigint: true }).ino
const device = fs.openSync('/dev/fuse', O_RDWR)
last = 1n
numbers.set('root', last)
nodes.set(1n, { fd: fs.openSync(back, O_PATH), name: '', key: 'root', link: '', lookups: 1n })
const { status } = spawnSync(
  'mount',
  [
    '-i',
    '-t',
    'fuse.silent',
    '-o',
    `fd=3,rootmode=40000,user_id=0,group_id=0${option && `,${option}`}`,
    'silent',
    front,
  ],
  { stdio: ['ignore', 'ignore', 'inherit', device] },
)
if (status !== 0) process.exit(1)
process.stdout.write('ready\n')

const buffer = Buffer.alloc(256 * 1024)
function serve() {
  fs.read(device, buffer, 0, buffer.length, null, (error, length) => {
    // ENODEV: it has been unmounted.
    if (error !== null) process.exit(error.code === 'ENODEV' ? 0 : 1)
    answer(buffer.subarray(0, length))
    serve()
  })
}
serve()

const [LOOKUP, READ] = [1, 15]

/** The error that CONTROL wants, 0 if none, undefined: no answer. @param {number} opcode @param {bigint} number @param {Buffer} body */
function wanted(opcode, number, body) {
  if (control === '' || !fs.existsSync(control)) return 0
  const name = opcode === LOOKUP ? body.toString('utf8', 0, body.indexOf(0)) : nodes.get(number)?.name
  /** @type {Array<{ name: string, operation: 'read' | 'any', errno: keyof typeof os.errno | 'NONE' }>} */
  const rules = JSON.parse(fs.readFileSync(control, 'utf8'))
  const rule = rules.find((each) => each.name === name && (each.operation === 'any' || opcode === READ))
  if (rule?.errno === 'NONE') return undefined
  return rule === undefined ? 0 : -os.errno[rule.errno]
}

/** @param {Buffer} request */
function answer(request) {
  const [opcode, node, body] = [request.readUInt32LE(4), request.readBigUInt64LE(16), request.subarray(40)]
  if (opcode === FORGET) return forget(node, body.readBigUInt64LE(0))
  if (opcode === BATCH_FORGET) {
    for (let at = 8; at < body.length; at += 16)
      forget(body.readBigUInt64LE(at), body.readBigUInt64LE(at + 8))
    return
  }
  if (opcode === INTERRUPT) return
  if (requests !== '') fs.appendFileSync(requests, `${Date.now()} ${opcode}\n`)
  /** @type {number | undefined} */
  let error = 0
  let out = Buffer.alloc(0)
  try {
    const operation = operations[opcode]
    error = operation === undefined ? -os.errno.ENOSYS : wanted(opcode, node, body)
    if (error === undefined) return
    if (operation === undefined || error !== 0) out = Buffer.alloc(0)
    else out = Buffer.from(operation(node, body))
  } catch (cause) {
    error = cause instanceof Error && 'errno' in cause ? Number(cause.errno) : -os.errno.EIO
  }
  const head = Buffer.alloc(16)
  head.writeUInt32LE(16 + out.length, 0)
  head.writeInt32LE(error, 4)
  request.copy(head, 8, 8, 16)
  fs.writeSync(device, Buffer.concat([head, out]))
}
