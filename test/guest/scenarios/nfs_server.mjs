// The kernel's NFS server, without the programs that usually speak for it: rpc.nfsd, which says what it shall serve, and rpc.mountd, which
// answers what it asks of clients and exports. There is one client and one export, so all answers are given before it asks.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.mjs'

/** The last second that the kernel's clock of answers can be told in 32 bits. */
const EXPIRY = 2 ** 31 - 1

/** Any name does for the one kind of client that there is. */
const CLIENT = '*'

/** May write, from any port, as root, without a look whether a file is below what is exported; has a number for a name (FSID). */
const FLAGS = 0x2 | 0x400 | 0x2000

/** Of a file handle: the export is named by a number of 4 bytes; 0 is where NFS 4 begins. */
const [BY_NUMBER, ROOT] = [1, '\\x00000000']

/** Exports `directory` to this machine, as NFS 4's root, unless it is. @param {string} directory @param {string} control */
export function serve(directory, control) {
  mkdirSync(directory, { recursive: true })
  mkdirSync(control, { recursive: true })
  const threads = join(control, 'threads')
  if (!readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${control} `))
    run('mount', ['-i', '-t', 'nfsd', 'nfsd', control])
  if (Number(readFileSync(threads, 'utf8')) > 0) return
  // Of version 3 a lock manager and rpcbind would be part.
  writeFileSync(join(control, 'versions'), '-3 +4 +4.1 +4.2\n')
  // Without a place for what it knows of its clients it would not end what follows before its time.
  const clients = `${control}-clients`
  mkdirSync(clients, { recursive: true })
  writeFileSync(join(control, 'nfsv4recoverydir'), `${clients}\n`)
  writeFileSync(threads, '2\n')
  // No client is there from before: else whoever opens a file has to wait for 90 s, in which such a one could have come back.
  writeFileSync(join(control, 'v4_end_grace'), 'Y\n')
  answer('auth.unix.ip', `nfsd 127.0.0.1 ${EXPIRY} ${CLIENT}`)
  answer('nfsd.export', `${CLIENT} ${directory} ${EXPIRY} ${FLAGS} 65534 65534 0`)
  answer('nfsd.fh', `${CLIENT} ${BY_NUMBER} ${ROOT} ${EXPIRY} ${directory}`)
}

/** One line of net/sunrpc/cache.c's, in one write. @param {string} cache @param {string} line */
function answer(cache, line) {
  writeFileSync(join('/proc/net/rpc', cache, 'channel'), `${line}\n`)
}
