// node failing_stat.mjs CONTROL DIRECTORY ERRNO, with faults.c preloaded: a walk with SINCE of a directory with one entry, of which the stat fails. Prints the entry.
import { constants } from 'node:os'
import { Walker } from '../../out/watch/scan/walker.js'
import { Control } from '../faults/control.mjs'

const [, , path = '', root = '', errno = ''] = process.argv
const control = new Control(path)
const walker = new Walker()
// The first is of the directory.
control.fail('statx', constants.errno[/** @type {keyof typeof constants.errno} */ (errno)], 1, 1)
await walker.walk([{ root, rel: '', stat: true, since: Date.now() + 3_600_000 }], (listing) => {
  process.stdout.write(JSON.stringify([...listing.entries()]))
})
await walker.close()
control.close()
