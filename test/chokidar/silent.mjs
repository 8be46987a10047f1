// Runs in a mount namespace of its own. Changes entries behind a FUSE mount, without any event in the mount.
// Prints as JSON the events of inotify-bridge/chokidar and chokidar.
//
//   unshare -m node silent.mjs DIRECTORY
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import chokidar from 'chokidar'

const [, , base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/entries/chokidar.ts')} */
const bridge = await import(join(import.meta.dirname, '../../dist/chokidar.js'))
const [behind, mount] = [join(base, 'behind'), join(base, 'mount')]
mkdirSync(join(behind, 'd'), { recursive: true })
mkdirSync(mount)
writeFileSync(join(behind, 'f'), '')
writeFileSync(join(behind, 'd/g'), '')
const { status, stderr } = spawnSync('bindfs', [behind, mount], { encoding: 'utf8' })
if (status !== 0) throw new Error(stderr)

const ours = bridge.watch(mount, { ignoreInitial: true, interval: 50 })
const theirs = chokidar.watch(mount, { ignoreInitial: true })
/** @type {string[]} */
const told = []
/** @type {string[]} */
const theirsTold = []
theirs.on('all', (event, path) => theirsTold.push(`${event} ${path.slice(mount.length + 1)}`))
const isOver = new Promise((resolve) => {
  ours.on('all', (event, path) => {
    told.push(`${event} ${path.slice(mount.length + 1)}`)
    if (told.length === 4) resolve(undefined)
  })
})
await Promise.all(
  [ours, theirs].map((watcher) => new Promise((resolve) => watcher.on('ready', () => resolve(undefined)))),
)
writeFileSync(join(behind, 'f'), 'text')
mkdirSync(join(behind, 'd/new'))
writeFileSync(join(behind, 'd/new/h'), '')
rmSync(join(behind, 'd/g'))
await isOver
console.log(JSON.stringify({ told, theirs: theirsTold }))
await Promise.all([ours.close(), theirs.close()])
