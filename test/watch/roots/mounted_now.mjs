// Runs in a mount namespace: something is mounted below what a followed link leads to, and sync() is asked in the same turn of the event loop;
// how many changes each of 40 such steps has told is printed as JSON.
//
//   unshare -rm node mounted_now.mjs DIRECTORY
import fs from 'node:fs'
import { join } from 'node:path'
import { run } from './mounting.mjs'

const [, , base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/index.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/index.js'))
const point = join(base, 'far/point')
for (const path of [join(base, 'tree'), point]) fs.mkdirSync(path, { recursive: true })
fs.symlinkSync('../far', join(base, 'tree/link'))
const watcher = watch(join(base, 'tree'), { recursive: true, followSymlinks: true, interval: 1_000_000 })
let told = 0
watcher.on('changes', (changes) => {
  told += changes.length
})
await watcher.ready
/** @type {number[]} */
const each = []
for (let i = 0; i < 20; i++)
  for (const [command = '', ...args] of [
    ['mount', '-t', 'tmpfs', 'none', point],
    ['umount', point],
  ]) {
    told = 0
    run(command, ...args)
    await watcher.sync()
    each.push(told)
  }
await watcher.close()
process.stdout.write(JSON.stringify(each))
