// The kernel's NFS server, without its usual programs: rpc.nfsd configures the server, and rpc.mountd answers
// its questions about clients and exports. There is one client and one export, so this file gives all answers
// in advance.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.mjs'

/** The last second that 32 bits can tell: the answers never expire. */
const EXPIRY = 2 ** 31 - 1

/** The name of the only kind of client. Any name does. */
const CLIENT = '*'

/**
 * The client may write, from any port, as root, without a check if a file is below the export. The export has
 * a number (FSID).
 */
const FLAGS = 0x2 | 0x400 | 0x2000

/** The parts of a file handle: a number of 4 bytes names the export, and 0 is the root of NFS 4. */
const [BY_NUMBER, ROOT] = [1, '\\x00000000']

/**
 * Exports `directory` to this machine, as NFS 4's root, unless it is exported already.
 *
 * @param {string} directory @param {string} control
 */
export function serve(directory, control) {
  mkdirSync(directory, { recursive: true })
  mkdirSync(control, { recursive: true })
  const threads = join(control, 'threads')
  if (!readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${control} `))
    run('mount', ['-i', '-t', 'nfsd', 'nfsd', control])
  if (Number(readFileSync(threads, 'utf8')) > 0) return
  // Version 3 would need a lock manager and rpcbind.
  writeFileSync(join(control, 'versions'), '-3 +4 +4.1 +4.2\n')
  // The kernel needs a place for its knowledge of clients to end the grace period early.
  const clients = `${control}-clients`
  mkdirSync(clients, { recursive: true })
  writeFileSync(join(control, 'nfsv4recoverydir'), `${clients}\n`)
  writeFileSync(threads, '2\n')
  // No client is left from before. Otherwise an open would wait for 90 s, in which such a client could come
  // back.
  writeFileSync(join(control, 'v4_end_grace'), 'Y\n')
  answer('auth.unix.ip', `nfsd 127.0.0.1 ${EXPIRY} ${CLIENT}`)
  answer('nfsd.export', `${CLIENT} ${directory} ${EXPIRY} ${FLAGS} 65534 65534 0`)
  answer('nfsd.fh', `${CLIENT} ${BY_NUMBER} ${ROOT} ${EXPIRY} ${directory}`)
}

/**
 * Writes one line to a cache of net/sunrpc/cache.c, in one write.
 *
 * @param {string} cache @param {string} line
 */
function answer(cache, line) {
  writeFileSync(join('/proc/net/rpc', cache, 'channel'), `${line}\n`)
}
